"""Linear forms of expressions."""

from collections.abc import Iterable

from graphprover.air.expression import Expr


def linear(terms: Iterable[tuple[int, Expr]], constant: int = 0) -> Expr:
    """Return the sum of coefficient * expression over ``terms``, plus ``constant``.

    Args:
        terms: (coefficient, expression) pairs; coefficients may be negative.
        constant: integer to add.

    Raises:
        ValueError: there are no terms.
    """
    total: Expr | None = None
    for coefficient, expr in terms:
        term = expr * coefficient
        total = term if total is None else total + term
    if total is None:
        raise ValueError("a linear form needs at least one term")
    return total + constant
