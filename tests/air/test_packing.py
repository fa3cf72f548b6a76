"""Packings of limbs, linear forms, and every form of multiplicity, by the values they take on a trace."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.air import Air, Bus, Expr, TableBuilder
from graphprover.air.debugger import UnbalancedBus
from graphprover.air.evaluate import evaluate
from graphprover.air.packing import (
    DIRECT,
    DWORD_BL,
    DWORD_HHW,
    DWORD_HL,
    DWORD_WHH,
    DWORD_WL,
    PACKINGS,
    QUAD_HL,
    QUAD_WL,
    WORD_2L,
    WORD_4L,
    Packing,
    linear,
)
from graphprover.checker import check
from graphprover.field import P
from graphprover.statement import Statement, Table

BUS = Bus("bus")


def message_of(
    cells: list[int],
    fields: Callable[[tuple[Expr, ...]], list[Expr]],
    count: Callable[..., Expr | int],
    weight: int = 9,
) -> tuple[list[int], int]:
    """The elements and the count that one row of ``cells`` sends."""

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


@pytest.mark.parametrize(
    ("packing", "limbs", "elements"),
    [
        (DIRECT, 1, 1),
        (WORD_2L, 2, 1),
        (WORD_4L, 4, 1),
        (DWORD_WL, 2, 2),
        (DWORD_HHW, 3, 2),
        (DWORD_WHH, 3, 2),
        (DWORD_HL, 4, 2),
        (DWORD_BL, 8, 2),
        (QUAD_HL, 8, 4),
        (QUAD_WL, 4, 4),
    ],
)
def test_shapes(packing: Packing, limbs: int, elements: int) -> None:
    assert (len(packing.limbs), len(packing.elements)) == (limbs, elements)
    assert {sum(bits) for bits in packing.elements} == {32}
    assert packing in PACKINGS


@pytest.mark.parametrize("packing", PACKINGS, ids=lambda packing: packing.name)
@given(data=st.data())
def test_a_packing_is_the_value_in_words(packing: Packing, data: st.DataObject) -> None:
    bits = packing.limbs
    number = data.draw(st.integers(0, 2 ** sum(bits) - 1))
    limbs, rest = [], number
    for size in bits:
        limbs.append(rest % 2**size)
        rest >>= size
    elements, _ = message_of(limbs, lambda limb: packing(limb), lambda *_: 1)
    assert elements == [number >> 32 * i & 0xFFFFFFFF for i in range(len(packing.elements))]


def test_limbs_in_order() -> None:
    assert message_of([1, 2, 3, 4], DWORD_HL, lambda *_: 1)[0] == [0x20001, 0x40003]
    assert message_of([1, 2, 3], DWORD_HHW, lambda *_: 1)[0] == [0x20001, 3]
    assert message_of([1, 2, 3], DWORD_WHH, lambda *_: 1)[0] == [1, 0x30002]
    assert message_of([1, 2, 3, 4, 5, 6, 7, 8], DWORD_BL, lambda *_: 1)[0] == [0x4030201, 0x8070605]
    with pytest.raises(ValueError, match="DWordHL packs 4 limbs, not 3"):
        message_of([1, 2, 3], DWORD_HL, lambda *_: 1)


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
        """Sends by the form, and takes back as often as its last column says."""

        columns = ("a", "b", "c", "back")

        def define(self, t: TableBuilder) -> None:
            t.send(BUS, [t.a], form(t.a, t.b, t.c), weight=12)
            t.receive(BUS, [t.a], t.back, weight=13)

    def findings(back: int) -> list:
        trace = np.array([[2], [3], [7], [back % P]], dtype=np.uint64)
        return check(Statement([Table(Both(), [], trace)]))

    assert findings(expected) == []
    assert [type(finding) for finding in findings(expected + 1)] == [UnbalancedBus]
