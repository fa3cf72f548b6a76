"""The identities of integers: of random integers, all that is made of one agrees with the integer that it states."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from graphprover.vm.accelerators.integers import fp2, modular, point
from graphprover.vm.accelerators.integers.identities import (
    Held,
    IntegerLayout,
    Polynomial,
    limbs,
    named,
    source,
    value,
)
from graphprover.vm.accelerators.integers.size import NUMBER, WIDE, Size

CASES = [
    *[pytest.param(identity, fp2.LAYOUT, 0, {}, size) for identity in fp2.IDENTITIES for size in (NUMBER, WIDE)],
    *[
        pytest.param(identity, point.LAYOUT, row, {"twice": flag, "a": a}, NUMBER)
        for identity, row in zip(point.IDENTITIES, (0, 1, 1), strict=True)
        for flag in (0, 1)
        for a in (0, -3)
    ],
    *[
        pytest.param(modular.IDENTITY, modular.LAYOUT, 0, {"full": full}, size)
        for full in (0, 1)
        for size in (NUMBER, WIDE)
    ],
]


def integers(layout: IntegerLayout, size: Size, small: Mapping[str, int]) -> dict[str, int]:
    rng = random.Random(len(small))
    return {name: small.get(name, rng.getrandbits(64 * size.words)) for name in layout.names}


def cells(layout: IntegerLayout, size: Size, known: Mapping[str, int], row: int) -> "Row":
    """Return the cells of two rows that hold integers, as constraints see them."""
    rows: list[dict[str, Any]] = [{}, {}]
    for places, parts in ((layout.halves, size.halves_of), (layout.limbs, size.limbs_of)):
        for name, (place, cell) in places.items():
            if 0 <= place - row < 2:
                rows[place - row][cell] = parts(known[name])
    return Row(rows)


class Row:
    """A row's cells by name, and those of the next one."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self._cells = rows[0]
        if len(rows) > 1:
            self.next = Row(rows[1:])

    def __getitem__(self, name: str) -> Any:
        return self._cells[name]


def total(limb: Callable[[int], int], size: Size) -> int:
    return sum(limb(i) << 32 * i for i in range(size.halves))


@pytest.mark.parametrize(("identity", "layout", "row", "small", "size"), CASES)
def test_constraints_state_the_integer(
    identity: Polynomial, layout: IntegerLayout, row: int, small: dict[str, int], size: Size
) -> None:
    known = integers(layout, size, small)
    held = Held(layout, cells(layout, size, known, row), row, small)
    limb = limbs(identity, held, size.limbs)
    assert total(limb, size) == value(identity, known | small, size.limbs)


@pytest.mark.parametrize(("identity", "layout", "row", "small", "size"), CASES)
def test_sums_of_the_kernels_are_the_integer(
    identity: Polynomial, layout: IntegerLayout, row: int, small: dict[str, int], size: Size
) -> None:
    known = integers(layout, size, small)
    flags = [name for name, flag in small.items() if flag == 1]
    terms, numbers = layout.terms(identity, flags, size.limbs), [known[name] for name in layout.names]
    factors = [numbers[one] - (numbers[other] if other >= 0 else 0) for one, other in terms.factors.tolist()]
    found = sum(weight * factors[one] * factors[other] for weight, one, other in terms.products.tolist())
    found += sum(weight * numbers[i] << 32 * lifted for weight, i, lifted in terms.others.tolist())
    assert found == value(identity, known | small, size.limbs)


def test_source() -> None:
    x, y, z = named("xyz")
    assert source(x * (y - z) - 2 * (x * x)) == "(product<N>(of_x, of_y_z, i) - 2 * product<N>(of_x, of_x, i))"
    assert source(x + y) == "((i < N ? (i64)x[i] : 0) + (i < N ? (i64)y[i] : 0))"


def test_results_satisfy_the_identities() -> None:
    """The formulas of points and elements, by Python's integers."""
    rng = random.Random(1)
    for curve in point.ALL_CURVES:
        p = curve.p
        x1, y1, x2, y2 = (rng.randrange(p) for _ in range(4))
        for twice in (0, 1):
            above, below = (3 * x1 * x1 + curve.a, 2 * y1) if twice else (y2 - y1, x2 - x1)
            slope, other = above * pow(below, -1, p) % p, x1 if twice else x2
            x3 = (slope * slope - x1 - other) % p
            y3 = (slope * (x1 - x3) - y1) % p
            known = dict(zip(point.LAYOUT.names, (y1 if twice else x2, x1, y1, other, y2, slope, x3, y3), strict=False))
            known |= {"a": curve.a, "twice": twice}
            assert all(value(identity, known, NUMBER.limbs) % p == 0 for identity in point.IDENTITIES)
    for field in fp2.ALL_FIELDS:
        numbers = [rng.getrandbits(64 * field.words) for _ in range(6)]
        a0, a1, b0, b1, c0, c1 = numbers
        results = (a0 * b0 - a1 * b1 + c0) % field.p, (a0 * b1 + a1 * b0 + c1) % field.p
        known = dict(zip(fp2.LAYOUT.names, (*numbers, *results), strict=True))
        assert all(value(identity, known, 2 * field.words) % field.p == 0 for identity in fp2.IDENTITIES)
    a, b, m, c = (rng.getrandbits(256) for _ in range(4))
    q, r = divmod(a * b + c, m)
    known = dict(zip(modular.LAYOUT.names, (a, b, m, c, r, q), strict=True)) | {"full": 0}
    assert value(modular.IDENTITY, known, NUMBER.limbs) == 0
    q, r = divmod(a * b + c, 1 << 256)
    assert value(modular.IDENTITY, known | {"m": 0, "q": q, "r": r, "full": 1}, NUMBER.limbs) == 0
