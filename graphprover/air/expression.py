"""Expressions over the cells of two neighbouring rows, built by Python's operators into one hash-consed DAG.

A node is a triple ``(op, a, b)`` whose children stand before it:

    CONST         a = value in [0, P)
    MAIN          a = column, b = row offset (0 this row, 1 the next one)
    PREPROCESSED  a = column, b = row offset
    PUBLIC        a = index of the public value
    FIRST LAST TRANSITION          the selectors
    ADD SUB MUL   a, b = nodes
    NEG           a = node

Unused operands are 0. Simplification is exactly that of Plonky3's ``p3-air/src/symbolic/mod.rs`` (``sym_add``,
``sym_sub``, ``sym_neg``, ``sym_mul``) and no more: degrees decide how many quotient chunks there are and how lookups
share columns, so both sides must see the same ones.
"""

import operator
from typing import NoReturn, SupportsIndex, TypeAlias

from graphprover.field import P

CONST, MAIN, PREPROCESSED, PUBLIC, FIRST, LAST, TRANSITION, ADD, SUB, MUL, NEG = range(11)

Node = tuple[int, int, int]
Operand: TypeAlias = "Expr | SupportsIndex"

_MAX_EXPONENT = 64  # beyond any degree that a table could be proved with


def children(node: Node) -> tuple[int, ...]:
    """The nodes that a node reads."""
    op, a, b = node
    if op in (ADD, SUB, MUL):
        return (a, b)
    return (a,) if op == NEG else ()


class Dag:
    """The nodes of one table; equal nodes are one node."""

    __slots__ = ("_index", "nodes", "owner")

    def __init__(self, owner: str) -> None:
        self.owner = owner  # the table, for messages
        self.nodes: list[Node] = []
        self._index: dict[Node, int] = {}

    def node(self, op: int, a: int = 0, b: int = 0) -> "Expr":
        """The expression (op, a, b), as it is."""
        key = (op, a, b)
        index = self._index.setdefault(key, len(self.nodes))
        if index == len(self.nodes):
            self.nodes.append(key)
        return Expr(self, index)

    def constant(self, value: int) -> "Expr":
        """The integer ``value`` mod p."""
        return self.node(CONST, value % P)

    def index_of(self, value: object) -> int:
        """The node of an expression of this DAG or of an integer; raises what ``lift`` does."""
        if type(value) is int:
            key = (CONST, value % P, 0)
            if key in self._index:
                return self._index[key]
        return self.lift(value).index

    def lift(self, value: object) -> "Expr":
        """An expression of this DAG, or an integer as a constant of it.

        Raises TypeError for anything else (a bool too: it is most often the result of a comparison) and ValueError for
        an expression of another table.
        """
        if isinstance(value, Expr):
            if value.dag is not self:
                raise ValueError(
                    f"an expression of table {value.dag.owner!r} is used in table {self.owner!r}: "
                    "tables share values only over a bus"
                )
            return value
        if type(value) is int:  # as nearly always: the check of a protocol takes its time
            return self.constant(value)
        if isinstance(value, bool) or not isinstance(value, SupportsIndex):
            raise TypeError(f"expected an expression or an integer, not {value!r}")
        return self.constant(operator.index(value))


class Expr:
    """One node of a DAG. ``+ - *`` and ``**`` build new ones; integers are taken mod p."""

    __slots__ = ("dag", "index")
    __array_ufunc__ = None  # so that a NumPy integer on the left leaves the operation to us
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, dag: Dag, index: int) -> None:
        self.dag = dag
        self.index = index

    @property
    def value(self) -> int | None:
        """The value of a constant, None for anything else."""
        op, a, _ = self.dag.nodes[self.index]
        return a if op == CONST else None

    def __add__(self, other: Operand) -> "Expr":
        y = self.dag.lift(other)
        a, b = self.value, y.value
        if a is not None and b is not None:
            return self.dag.constant(a + b)
        if a == 0:
            return y
        if b == 0:
            return self
        return self.dag.node(ADD, self.index, y.index)

    def __sub__(self, other: Operand) -> "Expr":
        y = self.dag.lift(other)
        a, b = self.value, y.value
        if a is not None and b is not None:
            return self.dag.constant(a - b)
        if a == 0:
            return -y
        if b == 0:
            return self
        return self.dag.node(SUB, self.index, y.index)

    def __mul__(self, other: Operand) -> "Expr":
        y = self.dag.lift(other)
        a, b = self.value, y.value
        if a is not None and b is not None:
            return self.dag.constant(a * b)
        if a == 0 or b == 0:
            return self.dag.constant(0)
        if a == 1:
            return y
        if b == 1:
            return self
        return self.dag.node(MUL, self.index, y.index)

    def __neg__(self) -> "Expr":
        if self.value is not None:
            return self.dag.constant(-self.value)
        return self.dag.node(NEG, self.index)

    def __pow__(self, exponent: int) -> "Expr":
        if not 0 <= exponent <= _MAX_EXPONENT:
            raise ValueError(f"the exponent of an expression lies in 0..{_MAX_EXPONENT}, not {exponent}")
        result = self.dag.constant(1)
        for _ in range(exponent):
            result = result * self
        return result

    def __pos__(self) -> "Expr":
        return self

    def __radd__(self, other: SupportsIndex) -> "Expr":
        return self.dag.lift(other) + self

    def __rsub__(self, other: SupportsIndex) -> "Expr":
        return self.dag.lift(other) - self

    def __rmul__(self, other: SupportsIndex) -> "Expr":
        return self.dag.lift(other) * self

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "an expression has no truth value: it stands for a different field element on every row; "
            "choose between two values by arithmetic, as in flag * a + (1 - flag) * b"
        )

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("expressions are not compared: constrain a - b, which is zero where a equals b")

    def __ne__(self, other: object) -> NoReturn:
        raise TypeError("expressions are not compared: a and b differ where (a - b) * inverse - 1 is zero")
