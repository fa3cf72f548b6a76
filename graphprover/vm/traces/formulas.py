"""Formulas: the computation of a chip's cells, recorded by running ``Step.witness`` on symbols."""

from collections.abc import Callable
from typing import Any, NamedTuple

from graphprover.vm.kernels.lanes import Op
from graphprover.vm.tables.limbs import WORD_MASK

# Operations that a number on the right makes the identity on the left operand.
_NEUTRAL = {
    **dict.fromkeys((Op.ADD, Op.SUB, Op.OR, Op.XOR, Op.LEFT, Op.RIGHT, Op.FIELD_SUB), 0),
    **dict.fromkeys((Op.MUL, Op.DIV), 1),
    Op.AND: WORD_MASK,
}
_COMMUTATIVE = (Op.ADD, Op.MUL, Op.AND, Op.OR, Op.XOR, Op.EQUAL)


class Formula(NamedTuple):
    """One formula: an operation on formulas before it, given by the indices of their nodes."""

    op: Op
    operands: tuple[int, ...] = ()
    immediate: int = 0  # of CONSTANT and of loads


class Formulas:
    """Nodes without duplicates."""

    def __init__(self) -> None:
        self.nodes: list[Formula] = []
        self._numbers: dict[Formula, int] = {}

    def symbol(self, op: Op, *operands: Any, immediate: int = 0) -> "Symbol":
        """Return the value of an operation on symbols and integers."""
        return self._symbol(Formula(op, tuple(self.of(x).number for x in operands), immediate))

    def of(self, x: Any) -> "Symbol":
        """Return a symbol, or the symbol of an integer mod 2^64."""
        return x if isinstance(x, Symbol) else self._symbol(Formula(Op.CONSTANT, immediate=int(x) & WORD_MASK))

    def _symbol(self, node: Formula) -> "Symbol":
        if node not in self._numbers:
            self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return Symbol(self, self._numbers[node])

    def constant(self, number: int) -> int | None:
        """Return the integer that a node is, if it is one."""
        node = self.nodes[number]
        return node.immediate if node.op == Op.CONSTANT else None

    def combine(self, op: Op, left: Any, right: Any) -> "Symbol":
        """Return the value of an operation on two symbols or integers; integers go right if that changes nothing."""
        left, right = self.of(left), self.of(right)
        if op in _COMMUTATIVE and self.constant(left.number) is not None:
            left, right = right, left
        number = self.constant(right.number)
        if number == _NEUTRAL.get(op, -1):
            return left
        if op == Op.DIV and number is not None and number.bit_count() == 1:
            return self.symbol(Op.RIGHT, left, number.bit_length() - 1)
        return self.symbol(op, left, right)


def _operator(op: Op, *, swapped: bool = False) -> Callable[["Symbol", Any], "Symbol"]:
    def combined(x: "Symbol", y: Any) -> "Symbol":
        return x.formulas.combine(op, y, x) if swapped else x.formulas.combine(op, x, y)

    return combined


class Symbol:
    """A word of a lane. Operators on it mean the same as on arrays of uint64; a comparison is 1 or 0."""

    __slots__ = ("formulas", "number")
    __array_ufunc__ = None  # makes NumPy's scalars leave operators to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, formulas: Formulas, number: int) -> None:
        self.formulas, self.number = formulas, number

    __add__, __radd__ = _operator(Op.ADD), _operator(Op.ADD)
    __sub__, __rsub__ = _operator(Op.SUB), _operator(Op.SUB, swapped=True)
    __mul__, __rmul__ = _operator(Op.MUL), _operator(Op.MUL)
    __floordiv__, __rfloordiv__ = _operator(Op.DIV), _operator(Op.DIV, swapped=True)
    __and__, __rand__ = _operator(Op.AND), _operator(Op.AND)
    __or__, __ror__ = _operator(Op.OR), _operator(Op.OR)
    __xor__, __rxor__ = _operator(Op.XOR), _operator(Op.XOR)
    __lshift__, __rlshift__ = _operator(Op.LEFT), _operator(Op.LEFT, swapped=True)
    __rshift__, __rrshift__ = _operator(Op.RIGHT), _operator(Op.RIGHT, swapped=True)
    __eq__ = _operator(Op.EQUAL)  # type: ignore[assignment]
    __lt__, __gt__ = _operator(Op.LESS), _operator(Op.LESS, swapped=True)

    def __ne__(self, y: Any) -> "Symbol":  # type: ignore[override]
        return ~(self == y)  # type: ignore[return-value]

    def __neg__(self) -> "Symbol":
        return 0 - self

    def __invert__(self) -> "Symbol":
        """Return 1 if a comparison is 0; raise TypeError for other symbols."""
        if not self._is_flag(self.number):
            raise TypeError("only a comparison has a complement")
        return self ^ 1

    def _is_flag(self, number: int) -> bool:
        op, operands, immediate = self.formulas.nodes[number]
        if op in (Op.AND, Op.OR, Op.XOR):
            return all(map(self._is_flag, operands))
        return op in (Op.EQUAL, Op.LESS) or (op == Op.CONSTANT and immediate == 1)

    def __bool__(self) -> bool:
        raise TypeError("a formula has no value")
