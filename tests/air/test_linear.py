"""Linear forms, and every form of multiplicity, by their values on a trace."""

from collections.abc import Callable

import numpy as np
import pytest

from graphprover.air import Air, Bus, Expr, TableBuilder
from graphprover.air.debugger import UnbalancedBus
from graphprover.air.evaluate import evaluate
from graphprover.air.linear import linear
from graphprover.field import P
from graphprover.statement.check import check
from graphprover.statement.statement import Statement, Table

BUS = Bus("bus")


def message_of(
    cells: list[int],
    fields: Callable[[tuple[Expr, ...]], list[Expr]],
    count: Callable[..., Expr | int],
    weight: int = 9,
) -> tuple[list[int], int]:
    """Return the elements and the count that one row of ``cells`` sends."""

    class Sender(Air):
        columns = (f"limb[{len(cells)}]",)

        def define(self, t: TableBuilder) -> None:
            t.send(BUS, fields(t.limb), count(*t.limb), weight=weight)

    d = Sender().describe()
    (message,) = d.globals[0].tuples
    main = np.array([[c % P] for c in cells], dtype=np.uint64)
    ((_, values),) = evaluate(d, main, None, [], [*message.fields, message.multiplicity])
    *elements, times = (int(value[0]) for value in values)
    return elements, times


def test_linear_forms_have_signed_coefficients() -> None:
    form = lambda limb: [linear([(-3, limb[0]), (2**40, limb[1])], constant=-7)]  # noqa: E731
    assert message_of([5, 1], form, lambda *_: 1)[0] == [(-15 + 2**40 - 7) % P]
    assert message_of([0, 0], form, lambda *_: 1)[0] == [P - 7]
    with pytest.raises(ValueError, match="at least one term"):
        linear([])


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (lambda a, b, c: 1, 1),  # One
        (lambda a, b, c: a, 2),  # Column
        (lambda a, b, c: a + b, 5),  # Sum
        (lambda a, b, c: 1 - a, -1),  # Negated
        (lambda a, b, c: a - b, -1),  # Diff
        (lambda a, b, c: a + b + c, 12),  # Sum3
        (lambda a, b, c: linear([(2, a), (-5, b), (1, c)], 4), 0),  # Linear
    ],
    ids=["One", "Column", "Sum", "Negated", "Diff", "Sum3", "Linear"],
)
def test_multiplicities(form: Callable[..., Expr | int], expected: int) -> None:
    count = message_of([2, 3, 7], lambda limb: [limb[0]], form, weight=12)[1]
    assert count == expected % P

    class Both(Air):
        """A table that sends by the form and receives by the count in its last column."""

        columns = ("a", "b", "c", "back")

        def define(self, t: TableBuilder) -> None:
            t.send(BUS, [t.a], form(t.a, t.b, t.c), weight=12)
            t.receive(BUS, [t.a], t.back, weight=13)

    def findings(back: int) -> list:
        trace = np.array([[2], [3], [7], [back % P]], dtype=np.uint64)
        return check(Statement([Table(Both(), [], trace)]))

    assert findings(expected) == []
    assert [type(finding) for finding in findings(expected + 1)] == [UnbalancedBus]
