"""The builder of gates: products, sums and differences of cells, of which some must be zero.

A value is an int, its number in order of creation. A gate uses earlier values only, so this order is topological.
"""

from copy import copy

from graphprover.air.expression import ADD, MUL, SUB
from graphprover.field import P

# Kinds of values that are no gates; gates have the operations of expressions.
AT, LITERAL, INVERSE = -3, -2, -1


class Gates:
    """The values of a circuit, each once, and the ones that must be zero.

    Attributes:
        kinds: AT, LITERAL, INVERSE, MUL, ADD or SUB, for each value.
        first: the address of a cell, the index of a literal, or the first operand.
        second: the second operand; 0 for values of other kinds.
        literals: all literals; the first one is 0.
        checks: the values that must be zero.
    """

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.first: list[int] = []
        self.second: list[int] = []
        self.literals: list[int] = []
        self.checks: list[int] = []
        self._known: dict[tuple[int, int, int], int] = {}
        self._literal_of: dict[int, int] = {}  # number of a base element's value
        self._element_of: dict[int, int] = {}  # the inverse of it
        self.zero, self.one = self.literal(0), self.literal(1)

    def at(self, address: int) -> int:
        """Return the value of the cell at an address."""
        return self._value(AT, address, 0)

    def literal(self, element: int) -> int:
        """Return the value of a base element, an int of any size."""
        element %= P
        if element not in self._literal_of:
            value = self._value(LITERAL, len(self.literals), 0)
            self.literals.append(element)
            self._literal_of[element], self._element_of[value] = value, element
        return self._literal_of[element]

    def inverse(self, x: int) -> int:
        """Return 1/x: a cell that the prover fills, and a check that its product with x is 1. So x must not be 0."""
        value = self._value(INVERSE, x, 0)
        self.require_zero(self.difference(self.product(value, x), self.one))
        return value

    def product(self, x: int, y: int) -> int:
        """Return x y."""
        a, b = self._element_of.get(x), self._element_of.get(y)
        if a is not None and b is not None:
            return self.literal(a * b)
        if a == 0 or b == 0:
            return self.zero
        if a == 1:
            return y
        if b == 1:
            return x
        return self._value(MUL, x, y) if x < y else self._value(MUL, y, x)

    def sum(self, x: int, y: int) -> int:
        """Return x + y."""
        a, b = self._element_of.get(x), self._element_of.get(y)
        if a is not None and b is not None:
            return self.literal(a + b)
        if a == 0:
            return y
        if b == 0:
            return x
        return self._value(ADD, x, y) if x < y else self._value(ADD, y, x)

    def difference(self, x: int, y: int) -> int:
        """Return x - y."""
        a, b = self._element_of.get(x), self._element_of.get(y)
        if a is not None and b is not None:
            return self.literal(a - b)
        if x == y:
            return self.zero
        return x if b == 0 else self._value(SUB, x, y)

    def require_zero(self, x: int) -> None:
        """Add x to the values that must be zero, unless it always is."""
        if x != self.zero:
            self.checks.append(x)

    def moved(self, start: int, by: int) -> "Gates":
        """Return the gates with the addresses of all cells from one on greater by a number, to which none is added."""
        found = copy(self)
        found.first = [
            first + by if kind == AT and first >= start else first
            for kind, first in zip(self.kinds, self.first, strict=True)
        ]
        return found

    def _value(self, kind: int, first: int, second: int) -> int:
        key = kind, first, second
        value = self._known.setdefault(key, len(self.kinds))
        if value == len(self.kinds):
            self.kinds.append(kind)
            self.first.append(first)
            self.second.append(second)
        return value
