"""Expressions over the cells of two neighbouring rows, built by Python's operators into one hash-consed DAG.

A node is a triple ``(op, a, b)``; children precede their parents:

    CONST         a = value in [0, P)
    MAIN          a = column, b = row offset (0: this row, 1: the next row)
    PREPROCESSED  a = column, b = row offset
    PUBLIC        a = index of the public value
    FIRST LAST TRANSITION          the selectors
    ADD SUB MUL   a, b = nodes
    NEG           a = node

Unused operands are 0. Simplification equals Plonky3's (``sym_add``, ``sym_sub``, ``sym_neg`` and ``sym_mul`` in
``p3-air/src/symbolic/mod.rs``): degrees determine the number of quotient chunks and the packing of lookups into
columns, so both sides must compute equal degrees.
"""

import operator
from contextlib import suppress
from typing import NoReturn, SupportsIndex, TypeAlias

from graphprover.field import P

CONST, MAIN, PREPROCESSED, PUBLIC, FIRST, LAST, TRANSITION, ADD, SUB, MUL, NEG = range(11)

Node = tuple[int, int, int]
Operand: TypeAlias = "Expr | SupportsIndex"

_MAX_EXPONENT = 64  # beyond any degree that a table could be proved with


def children(node: Node) -> tuple[int, ...]:
    """Return the operands of a node that are nodes."""
    op, a, b = node
    if op in (ADD, SUB, MUL):
        return (a, b)
    return (a,) if op == NEG else ()


class Dag:
    """The nodes of one table, without duplicates."""

    __slots__ = ("_index", "nodes", "owner")

    def __init__(self, owner: str) -> None:
        self.owner = owner  # name of the table, for error messages
        self.nodes: list[Node] = []
        self._index: dict[Node, int] = {}

    def node(self, op: int, a: int = 0, b: int = 0) -> "Expr":
        """Return the expression (op, a, b) without simplification."""
        key = (op, a, b)
        index = self._index.setdefault(key, len(self.nodes))
        if index == len(self.nodes):
            self.nodes.append(key)
        return Expr(self, index)

    def constant(self, value: int) -> "Expr":
        """Return the integer ``value`` mod p as an expression."""
        return self.node(CONST, value % P)

    def index_of(self, value: object) -> int:
        """Return the node index of an expression of this DAG or of an integer; errors as in `lift`."""
        if type(value) is int:
            key = (CONST, value % P, 0)
            if key in self._index:
                return self._index[key]
        return self.lift(value).index

    def lift(self, value: object) -> "Expr":
        """Return an expression of this DAG unchanged, and an integer as a constant.

        Raises:
            TypeError: ``value`` is neither (a bool is refused: it is usually the result of a comparison).
            ValueError: ``value`` is an expression of another table.
        """
        if isinstance(value, Expr):
            if value.dag is not self:
                raise ValueError(
                    f"an expression of table {value.dag.owner!r} is used in table {self.owner!r}: "
                    "tables share values only over a bus"
                )
            return value
        if type(value) is int:  # the common case; the check of a runtime protocol below is slow
            return self.constant(value)
        if isinstance(value, SupportsIndex) and not isinstance(value, bool):
            with suppress(TypeError):  # of an array of several numbers
                return self.constant(operator.index(value))
        several = ": operate on its elements one by one" if hasattr(value, "__len__") else ""
        raise TypeError(f"expected an expression or an integer, not {value!r}{several}")


class Expr:
    """One node of a DAG. The operators ``+ - * **`` build new expressions; integers are reduced mod p."""

    __slots__ = ("dag", "index")
    __array_ufunc__ = None  # so that a NumPy integer on the left defers to the methods below
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, dag: Dag, index: int) -> None:
        self.dag = dag
        self.index = index

    @property
    def value(self) -> int | None:
        """Value of a constant; None for any other expression."""
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
        raise TypeError("expressions are not compared: constrain a - b, which is zero if a equals b")

    def __ne__(self, other: object) -> NoReturn:
        raise TypeError("expressions are not compared: a and b differ if (a - b) * inverse - 1 is zero")
