"""Linear forms of expressions."""

from collections.abc import Iterable

from graphprover.air.expression import Expr


def linear(terms: Iterable[tuple[int, Expr]], constant: int = 0) -> Expr:
    """The sum of coefficient times expression, plus a constant; coefficients may be negative.

    Raises ValueError for no terms at all: a constant needs no form.
    """
    total: Expr | None = None
    for coefficient, expr in terms:
        term = expr * coefficient
        total = term if total is None else total + term
    if total is None:
        raise ValueError("a linear form needs at least one term")
    return total + constant
