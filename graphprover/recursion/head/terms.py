"""Signed values of gates, so that no gate is spent on a negation.

A term is the number x of a value, or ~x for the negated value; ~ negates a term.
"""

from graphprover.field import P
from graphprover.recursion.head.gates import LITERAL, Gates


def literal(gates: Gates, element: int) -> int:
    """Return the term of a base element, whose value is at most (p - 1) / 2."""
    element %= P
    return ~gates.literal(P - element) if element > P // 2 else gates.literal(element)


def product(gates: Gates, x: int, y: int) -> int:
    """Return x y."""
    if x >= 0:
        return gates.product(x, y) if y >= 0 else ~gates.product(x, ~y)
    return ~gates.product(~x, y) if y >= 0 else gates.product(~x, ~y)


def total(gates: Gates, x: int, y: int) -> int:
    """Return x + y."""
    if x >= 0:
        return gates.sum(x, y) if y >= 0 else gates.difference(x, ~y)
    return gates.difference(y, ~x) if y >= 0 else ~gates.sum(~x, ~y)


def difference(gates: Gates, x: int, y: int) -> int:
    """Return x - y."""
    return total(gates, x, ~y)


def require_zero(gates: Gates, x: int) -> None:
    """Require x to be zero."""
    gates.require_zero(x if x >= 0 else ~x)


def is_literal(gates: Gates, x: int) -> bool:
    """Return whether the value of x is a base element that is known."""
    return gates.kinds[x if x >= 0 else ~x] == LITERAL
