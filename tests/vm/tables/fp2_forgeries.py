"""Rows of a b + c in Fp2 that the table accepts, and forgeries, which it must notice."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

from graphprover.field import P
from graphprover.vm.accelerators.integers.fp2 import Fp2Field
from tests.vm.calls import Pair, multiply_add
from tests.vm.kernels.naive_calls import Around, Row, below, fp2_rows, in_the_field


def elements(field: Fp2Field) -> tuple[Pair, Pair, Pair]:
    """Return three elements."""
    rng = random.Random(field.number)
    a, b, c = ((rng.randrange(field.p), rng.randrange(field.p)) for _ in range(3))
    return a, b, c


def honest(field: Fp2Field, around: Around) -> list[list[Row]]:
    """Return the rows of calls: any elements, the largest ones, zeros, and numbers that are not below p."""
    zero, one, largest = (0, 0), (1, 0), (field.p - 1, field.p - 1)
    above = (1 << 64 * field.words) - 1
    some = elements(field)
    calls = [
        some, (largest, largest, largest), ((0, field.p - 1), (0, field.p - 1), zero), (zero, zero, zero),
        (one, some[1], zero), (some[0], some[1], (field.p, field.p + 5)),
        ((above, above), (above, above), (above, above)), ((0, above), (0, above), zero),
    ]  # fmt: skip
    return [fp2_rows(field, *call, around) for call in calls]


def forgeries(field: Fp2Field, around: Around) -> dict[str, Callable[[], list[Row]]]:
    """Return functions that make forged rows, by name."""
    a, b, c = elements(field)
    p, count = field.p, 2 * field.words
    rows = partial(fp2_rows, field, a, b, c, around)
    result = multiply_add(field, a, b, c)
    values = a[0] * b[0] - a[1] * b[1] + c[0], a[0] * b[1] + a[1] * b[0] + c[1]
    quotients = values[0] // p, values[1] // p

    def other(pair: Pair, part: int, change: int) -> Pair:
        """Return a pair with another number."""
        return (pair[0] + change, pair[1]) if part == 0 else (pair[0], pair[1] + change)

    def edited(row: int, **cells: Any) -> list[Row]:
        """Return the rows with other cells in one of them, or in both with -1."""
        return [of | cells if row in (i, -1) else of for i, of in enumerate(rows())]

    def is_p(part: int, excess: int) -> list[Row]:
        """Return rows whose result is p and something more, with a quotient that is 1 too small."""
        found = other((0, 0), part, p + excess)
        return fp2_rows(field, (0, 0), b, other((0, 0), part, excess), around, r=found, q=other((0, 0), part, -1))

    def flagged(found: list[Row], row: int, difference: int, *flags: tuple[int, int]) -> list[Row]:
        """Return rows with another check of r < p: flags by limb."""
        cells = {"flag": [dict(flags).get(i, 0) for i in range(count)], "part": [difference & 0xFFFF, difference >> 16]}
        return [of | cells if i == row else of for i, of in enumerate(found)]

    made: dict[str, Callable[[], list[Row]]] = {
        "on 2": lambda: edited(-1, on=2),
        "on -1": lambda: edited(-1, on=-1),
        "on 2 in the second row": lambda: edited(1, on=2),
        "on 0 in the second row": lambda: edited(1, on=0),
        "first 2": lambda: edited(0, first=2),
        "first 2, on 2": lambda: [of | {"on": 2, "first": 2 * of["first"]} for of in rows()],
        "two cycles": lambda: edited(1, clk=1001),
        "the first row alone": lambda: rows()[:1],
        "the second row alone": lambda: rows()[1:],
        "two first rows": lambda: [rows()[0], *rows()],
        "two second rows": lambda: [*rows(), rows()[1]],
        "swapped rows": lambda: rows()[::-1],
        "an idle row is of a call": lambda: [*rows(), {"on": 1}],
        "an idle row is a first one": lambda: [*rows(), {"first": 1}],
        "c1 elsewhere": lambda: edited(1, pointer=[8, 16, around.pointers[0] + 8 * field.words]),
        "r1 elsewhere": lambda: edited(1, pointer=[8, around.pointers[3] + 8 * field.words, 16]),
        "the product with + a1 b1": lambda: rows(r=((a[0] * b[0] + a[1] * b[1] + c[0]) % p, result[1])),
        "c is not added": lambda: rows(r=multiply_add(field, a, b, (0, 0))),
        "swapped parts of the result": lambda: rows(r=result[::-1]),
        "another b1": lambda: [rows()[0], fp2_rows(field, a, other(b, 1, 1), c, around)[1]],
    }
    for i, part in enumerate(("r0", "r1")):
        new: dict[str, Callable[[], list[Row]]] = {
            f"{part} + 1": lambda i=i: rows(r=other(result, i, 1), q=quotients),  # type: ignore[misc]
            f"{part} + 1, carries in the field": lambda i=i: rows(  # type: ignore[misc]
                r=other(result, i, 1), q=quotients, carries=in_the_field
            ),
            f"{part} + p": lambda i=i: rows(r=other(result, i, p), q=other(quotients, i, -1)),  # type: ignore[misc]
            f"{part} - p": lambda i=i: rows(r=other(result, i, -p), q=other(quotients, i, 1)),  # type: ignore[misc]
            f"{part}, q + 1": lambda i=i: rows(q=other(quotients, i, 1)),  # type: ignore[misc]
            f"{part}, q - 1": lambda i=i: rows(q=other(quotients, i, -1)),  # type: ignore[misc]
            f"{part}, q + 1, carries in the field": lambda i=i: rows(  # type: ignore[misc]
                q=other(quotients, i, 1), carries=in_the_field
            ),
            f"{part}, another sign": lambda i=i: edited(i, sign=rows()[i]["sign"] + 1),  # type: ignore[misc]
            f"{part} is p": lambda i=i: is_p(i, 0),  # type: ignore[misc]
            f"{part} is p, no limb flagged": lambda i=i: flagged(is_p(i, 0), i, P - 1),  # type: ignore[misc]
            f"{part} is p + 1, no limb flagged": lambda i=i: flagged(is_p(i, 1), i, P - 1),  # type: ignore[misc]
            f"{part} is p + 1, limb 0 flagged by -1": lambda i=i: flagged(is_p(i, 1), i, 0, (0, -1)),  # type: ignore[misc]
            f"{part} is p + 5, two flags": lambda i=i: flagged(is_p(i, 5), i, 4, (1, 2), (0, -1)),  # type: ignore[misc]
            f"{part} is p + 2^32 - 5, a lower limb flagged": lambda i=i: flagged(  # type: ignore[misc]
                is_p(i, (1 << 32) - 5), i, 4, (0, 1)
            ),
            f"{part}, a second flag": lambda i=i: second_flag(i),  # type: ignore[misc]
            f"{part}, carries out of range": lambda i=i: moved_carry(i),  # type: ignore[misc]
        }
        made |= new
        made |= {f"limb {k} for {part} is 1 more": lambda i=i, k=k: rows(more=(i, k)) for k in range(2 * count)}  # type: ignore[misc]

    def joined(c: int, *edits: dict[str, Any]) -> list[Row]:
        """Return rows of products of zeros, of which each follows the one before; ``c``: the parts of the addend."""
        whole = fp2_rows(field, (0, 0), (0, 0), (c, c), around)
        found = []
        for k, edit in enumerate(edits):
            pointers = [8, *(pointer + 8 * field.words * k for pointer in whole[0]["pointer"][1:])]
            found.append(whole[k % 2] | {"pointer": pointers} | edit)
        return found

    def two_calls() -> list[Row]:
        """Return rows of which the middle one is of two calls, with a flag for each."""
        flags = [int(i < 2) for i in range(count)]
        return joined(p - 5, {}, {"first": 1, "on": 2, "flag": flags, "part": [3, 0], "a7_pc": 7}, {"first": 0})

    made["a row of two calls"] = two_calls
    made["a call taken back"] = lambda: joined(0, {}, {"first": -1, "on": 0, "a7_pc": 7}, {"on": 0}, {})

    def second_flag(i: int) -> list[Row]:
        """Return rows with a result that differs from p in limb 1, and a flag of the equal limb 0 as well."""
        found = fp2_rows(field, (0, 0), b, other((0, 0), i, p - (5 << 32)), around)
        assert below(p - (5 << 32), p, count)[1] == (4, 0)
        return flagged(found, i, 4, (1, 1), (0, 1))

    def moved_carry(i: int) -> list[Row]:
        """Return rows with a carry whose cells are not its halves, but have the same sum."""
        low, high = list(rows()[i]["low"]), list(rows()[i]["high"])
        low[3], high[3] = low[3] + (1 << 16), high[3] - 1
        return edited(i, low=low, high=high)

    return made
