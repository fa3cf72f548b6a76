"""The tables of host calls of several rows prove these calls and nothing else, for any trace.

A trace is judged by the checks of the table alone: its constraints, and its lookups of 16 bits, of bytes and of
conjunctions. Its messages to the rest of the machine count only for cells that are changed one at a time and for times.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

import numpy as np
import pytest

from graphprover import prove, verify
from graphprover.air.description import AirDescription
from graphprover.field import P
from graphprover.statement.check import check
from graphprover.vm.accelerators.integers.fp2 import ALL_FIELDS, BLS12_381, Fp2Field
from graphprover.vm.accelerators.integers.modular import MODULAR, MODULAR_384
from graphprover.vm.accelerators.integers.point import ALL_CURVES, CURVES, HALVES, LIMBS, PRIME_HALVES
from graphprover.vm.accelerators.integers.size import Size
from graphprover.vm.accelerators.keccak.absorb import KECCAK_ABSORB
from graphprover.vm.accelerators.keccak.call import KECCAK_F
from graphprover.vm.accelerators.registry import ACCELERATORS, HOST_CALLS, MOST_WORDS, calls_of
from graphprover.vm.accelerators.table import CallTable
from graphprover.vm.executor.execute import execute
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import ROWS_OF_CHIP
from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
from graphprover.vm.traces.run_statement import shards_of_run, statement_of_run
from tests.graphs.test_proof_graph import FEW
from tests.vm.calls import P_384, program, random_calls
from tests.vm.kernels.naive_calls import (
    Around,
    Row,
    absorb_rows,
    fp2_rows,
    in_the_field,
    matrix,
    modular_rows,
    point_rows,
)
from tests.vm.tables import checks, fp2_forgeries
from tests.vm.tables.call_forgeries import (
    exchanged_times,
    moved_halves,
    moved_quotients,
    named,
    parts_of_a_call,
    wrong_order,
)
from tests.vm.tables.checks import Told

SECP, P256, BN = range(3)
PRIMES = [curve.p for curve in ALL_CURVES]
BN_PRIME = PRIMES[BN]
TABLES = {
    one.chip: cast(CallTable, one.table(lanes=1)) for one in ACCELERATORS if one.rows > 1 and one.chip != "sha256"
}
# The tables whose changes of each cell are made by default; the others are of the same definitions with more limbs.
LARGER = ("fp2_bls12_381", "modular_384")
SMALLER = [pytest.param(name, marks=pytest.mark.slow) if name in LARGER else name for name in TABLES]
PARAMETERS = replace(FEW, cap_height=0)  # a key has no other commitments
RNG = random.Random(3)
AROUND = Around(
    1000, 0x10000, [8 * RNG.randrange(1 << 28) for _ in range(5)], [RNG.randrange(4000) for _ in range(5)], 77,
    [RNG.randrange(4000) for _ in range(MOST_WORDS)], [RNG.getrandbits(64) for _ in range(MOST_WORDS)],
)  # fmt: skip


@cache
def description(name: str) -> AirDescription:
    return TABLES[name].describe()


def judged(name: str, rows: np.ndarray, blocks: int = 1, most: int = 0) -> list[tuple[set[str], Told]]:
    """Return for each block of rows the checks that notice it and, if at most ``most`` do, its other messages."""
    return judge(description(name), rows, blocks, most)


def judge(air: AirDescription, rows: np.ndarray, blocks: int = 1, most: int = 0) -> list[tuple[set[str], Told]]:
    """Do the same as `judged` for a table's description."""
    violated, told = checks.judged(air, rows, blocks, most)
    names = checks.names_of(air)
    return [({names[i] for i in np.flatnonzero(by)}, bus) for by, bus in zip(violated.T, told, strict=True)]


def padded(rows: np.ndarray, height: int = 8) -> np.ndarray:
    """Return rows after an idle one and before others."""
    found = np.zeros((len(rows), height), dtype=np.uint64)
    found[:, 1 : 1 + rows.shape[1]] = rows
    return found


# Calls.


@dataclass(frozen=True)
class Sized:
    """The modular operation on numbers of some bits."""

    number: int  # of the call; the next one writes the quotient as well
    bits: int
    large: int  # a prime next to 2^bits
    small: int  # a prime with room for a multiple

    def rows(self, a: int, b: int, m: int, c: int, *, quotient: bool = False, **given: Any) -> list[Row]:
        """Return the rows of a call."""
        return modular_rows(a, b, m, c, AROUND, number=self.number + quotient, **given)

    def some(self, m: int, **given: Any) -> list[Row]:
        """Return the rows of a call with a, b and c below m, or 2^bits."""
        return self.rows(*self.numbers(m), **given)

    def numbers(self, m: int) -> tuple[int, int, int, int]:
        """Return a, b, m, c with a, b and c below m, or 2^bits."""
        rng = random.Random(1)
        a, b, c = (rng.randrange(m or 1 << self.bits) for _ in range(3))
        return a, b, m, c

    def unused(self, rows: list[Row], parts: Sequence[int], *flags: tuple[int, int]) -> list[Row]:
        """Return the rows with another check of r < m: parts of the difference, and flags by limb."""
        carries, cells = self.bits // 16 - 1, [*parts, *one_hot(*flags, count=self.bits // 32)]
        kept = carries - len(rows[0]["low"])
        low, high = rows[1]["low"][:kept], rows[1]["high"][:kept]
        lows = len(rows[0]["low"]) - kept
        last = rows[1] | {"low": low + cells[:lows], "high": high + cells[lows:]}
        return [rows[0], last]


SIZED = {
    "modular": Sized(MODULAR, 256, PRIMES[SECP], BN_PRIME),
    "modular_384": Sized(MODULAR_384, 384, P_384, BLS12_381.p),
}


def on_curve(curve: int, seed: int) -> tuple[int, int]:
    """Return a point of a curve."""
    p, a, b = ALL_CURVES[curve][1:]
    rng = random.Random(seed)
    while True:
        x = rng.randrange(p)
        square = (x**3 + a * x + b) % p
        y = pow(square, (p + 1) // 4, p)
        if y * y % p == square:
            return x, y


def summed(curve: int, **given: Any) -> list[Row]:
    return point_rows(curve, on_curve(curve, 1), on_curve(curve, 2), AROUND, **given)


def doubled(curve: int, **given: Any) -> list[Row]:
    return point_rows(curve, on_curve(curve, 1), None, AROUND, **given)


HONEST = {
    **{
        name: [
            of.some(of.large), of.some(of.small, quotient=True), of.some(0), of.some(12345), of.some(0, quotient=True),
            of.rows(0, 0, 1, 0), of.rows(1, (1 << of.bits) - 1, 0, 0),
        ]
        for name, of in SIZED.items()
    },
    **{field.name: fp2_forgeries.honest(field, AROUND) for field in ALL_FIELDS},
    "point": [*(summed(curve) for curve in range(3)), *(doubled(curve) for curve in range(3))],
    "keccak_absorb": [
        absorb_rows(AROUND), absorb_rows(AROUND, block=[0] * 17), absorb_rows(AROUND, state=[0] * 25),
        absorb_rows(AROUND, block=[2**64 - 1] * 17, state=[2**64 - 1] * 25),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_honest_calls_are_accepted(name: str) -> None:
    calls = [row for rows in HONEST[name] for row in rows]
    ((reasons, _),) = judged(name, padded(matrix(TABLES[name], calls), 32))
    assert not reasons


def test_programs_are_accepted() -> None:
    for seed in range(2):
        memory, calls, _ = random_calls(random.Random(seed), 40)
        execution = execute(program(memory, calls), record=True)
        assert not check(statement_of_run(Machine(execution.image), execution))


def test_a_program_is_proved() -> None:
    """Prove it as a whole and in shards: calls of every chip, and with and without a quotient."""
    memory, calls, _ = random_calls(random.Random(194), 10)
    numbers = {call.number for call in calls}
    made = {call.number for call in HOST_CALLS if call.chip not in ("keccak_call", "point")}
    assert made <= numbers and numbers & {call.number for call in calls_of("point")}
    execution = execute(program(memory, calls), record=True)
    machine = Machine(execution.image)
    stated = statement_of_run(machine, execution)
    verify(prove(stated, executor="sync", parameters=FEW), stated, security=0)
    proof = prove(
        shards_of_run(machine, execution, cycle_ranges_of(execution.cycles, 2), "calls"), parameters=PARAMETERS
    )
    assert machine.verify(proof, security=0, exit_code=0).shards == 2


# Cells changed alone.

# Cells that nothing reads, by table and row; the reason holds for all honest calls unless it says more.
UNREAD_MODULAR = {
    (1, "full"): "the modulus is 0 by the first row",
    (1, "register_t"): "the second row reads two registers",
    (1, "word_t"): "q is not accessed",
    (1, "old_s"): "q is not accessed",
}
UNREAD: dict[str, dict[tuple[int, str], str]] = {
    "modular": UNREAD_MODULAR,
    "modular_384": UNREAD_MODULAR | {(1, "high"): "four cells are more than carries and the check of r < m need"},
    **{field.name: {} for field in ALL_FIELDS},
    "point": {
        (0, "a7_pc"): "a7 and the instruction are of the other rows",
        (0, "pointer"): "a double has no second point",
        (0, "register_t"): "a double has no second point",
        (0, "word_t"): "a double has no second point",
        (0, "z"): "a double has no second point",
        (2, "pointer"): "the result is written from row 1",
        (2, "register_t"): "the result is written from row 1",
        (2, "word_t"): "the result is written from row 1",
        (2, "w"): "there is nothing to invert",
    },
    "keccak_absorb": {
        (3, "register"): "rows 0 to 2 read registers",
        (4, "register"): "rows 0 to 2 read registers",
        (4, "t_pc"): "rows 0 to 2 read registers, and row 3 has the instruction",
        (3, "added_t"): "the block has two words here",
        (4, "added_t"): "the block has no words here",
    },
}
# Cells of messages, by name and row: the table alone leaves them open, others notice a change.
TOLD_MODULAR = {
    "third": [1], "pointer": [0, 1], "register_t": [0], "a7_pc": [0, 1], "word_t": [0], "old_v": [1],
}  # fmt: skip
TOLD_FP2 = {cell: [0, 1] for cell in ("pointer", "register_t", "a7_pc", "word_t", "old", "x", "y")}
TOLD: dict[str, dict[str, list[int]]] = {
    **dict.fromkeys(SIZED, TOLD_MODULAR),
    **{field.name: TOLD_FP2 for field in ALL_FIELDS},
    "point": {"pointer": [1], "register_t": [1], "a7_pc": [1, 2], "word_t": [1]},
    "keccak_absorb": {
        "t_pc": [0, 1, 2, 3], "old": [0, 1, 2, 3, 4], "added": [0, 1, 2, 3], "new": [0, 1, 2, 3, 4],
        "old_t": [0, 1, 2, 3, 4], "added_t": [0, 1, 2],
    },
}  # fmt: skip
CHANGES = (1, P - 1, 0x123456789ABCDEF)


@cache
def changed_cells(name: str) -> list[tuple[tuple[int, str], bool, set[str]]]:
    """Return row and name of each cell changed alone, whether the machine is told other things, and what notices it."""
    found = []
    names = [cell.partition("[")[0] for cell in description(name).main_names]
    for rows in HONEST[name][:5]:
        block = padded(matrix(TABLES[name], rows))
        _, honest = judged(name, block)[0]
        places = [(column, row) for column in range(len(block)) for row in range(ROWS_OF_CHIP[name])]
        many = np.tile(block, len(places) * len(CHANGES))
        for i, (column, row) in enumerate(places):
            for j, change in enumerate(CHANGES):
                at = block.shape[1] * (i * len(CHANGES) + j) + 1 + row
                many[column, at] = (int(many[column, at]) + change) % P
        for i, (reasons, bus) in enumerate(judged(name, many, len(places) * len(CHANGES))):
            column, row = places[i // len(CHANGES)]
            found.append(((row, names[column]), bus != honest, reasons))
    return found


def left_open(name: str) -> set[tuple[int, str]]:
    """Return row and name of the cells of which the table alone does not notice every change."""
    return {place for place, _, reasons in changed_cells(name) if not reasons}


@pytest.mark.parametrize("name", SMALLER)
def test_every_cell_counts(name: str) -> None:
    """Notice every changed cell that something reads; the table alone notices all but the cells of its messages."""
    free = {place for place, told, reasons in changed_cells(name) if not told and not reasons}
    assert free == set(UNREAD[name])
    told = {(row, cell) for cell, rows in TOLD[name].items() for row in rows}
    assert left_open(name) == free | told


# Forgeries: everything else fits them as well as possible.


def edited(rows: list[Row], *edits: dict[str, Any]) -> list[Row]:
    """Return the rows with other cells: by row, or of all rows."""
    return [row | edit for row, edit in zip(rows, edits * (len(rows) if len(edits) == 1 else 1), strict=True)]


def flagged(rows: list[Row], row: int, name: str, flags: Sequence[int], difference: int) -> list[Row]:
    """Return the rows of a point with other flags and another difference for a comparison with p."""
    part = rows[row]["part"]
    low, high = difference & 0xFFFF, difference >> 16
    both = [low, high, *part[2:]] if name == "flag" else [*part[:2], low, high]
    return [old | {name: list(flags), "part": both} if i == row else old for i, old in enumerate(rows)]


def one_hot(*places: tuple[int, int], count: int = LIMBS) -> list[int]:
    return [dict(places).get(i, 0) for i in range(count)]


TWO_FLAGS = one_hot((1, 1), (0, 1))  # of which limb 1 is smaller, and limb 0 equal


def modular_forgeries(of: Sized) -> dict[str, Callable[[], list[Row]]]:
    """Return forgeries of the modular operation."""
    m, bound = of.small, 1 << of.bits
    three = (3, 5, m, m + 7)  # a b + c = m + 22
    highest = of.bits // 32 - 1
    return {
        "r + m": lambda: of.rows(*three, q=0, r=22 + m),
        "r + m, another limb flagged": lambda: of.unused(
            of.rows(*three, q=0, r=22 + m), (0xFFFF, 0xFFFF), (highest, 1)
        ),
        "r + m, no limb flagged": lambda: of.unused(of.rows(*three, q=0, r=22 + m), (P - 1, 0)),
        "r = m": lambda: of.rows(1, m, m, 0, q=0, r=m),
        "r > m, a lower limb flagged": lambda: of.unused(
            of.rows(1 << 32, 1, 5 | 1 << 31, 0, q=0, r=1 << 32), (4, 0x8000), (0, 1)
        ),
        "r > m, no limb flagged, a difference of -1": lambda: of.unused(
            of.rows(1 << 32, 1, 5, 0, q=0, r=1 << 32), (P - 1, 0)
        ),
        "r >= m, two flags": lambda: of.unused(of.rows(m + 5, 1, m, 0, q=0, r=m + 5), (4, 0), (1, 2), (0, -1)),
        "r >= m, one limb flagged twice": lambda: of.unused(of.rows(7, 1, 9, 0, q=0, r=7), (3, 0), (0, 2)),
        "a second flag, of an equal limb": lambda: of.unused(of.rows(7 << 32, 1, 9 << 32, 0), (1, 0), (1, 1), (0, 1)),
        "q + 1": lambda: of.rows(3, 5, 8, 7, q=3, r=(22 - 24) % bound),
        "q - 1": lambda: of.rows(3, 5, 8, 7, q=1, r=22 - 8),
        "q + 1, carries in the field": lambda: of.rows(3, 5, 8, 7, q=3, r=0, carries=in_the_field),
        "r + 1": lambda: of.rows(*of.numbers(m), r=1 + remainder(*of.numbers(m))),
        "r + 1, carries in the field": lambda: of.some(of.large, r=77, carries=in_the_field),
        "2^bits for m > 0": lambda: [
            of.rows(bound - 1, bound - 1, 0, 0)[0],
            of.rows(bound - 1, bound - 1, 0, 0)[1] | {"u": [0] * (of.bits // 16 - 1) + [9]},
        ],
        "2^bits for m > 0, q = 0": lambda: of.rows(5, 6, 17, 0, q=0, r=30, full=True),
        "0 for m = 0": lambda: of.some(0, full=False),
        "0 for m = 0, no limb flagged": lambda: of.unused(of.rows(5, 6, 0, 0, q=9, r=30, full=False), (P - 1, 0)),
        "half full": lambda: edited(of.some(of.large), {"full": 2}, {}),
        "half full in the second row": lambda: edited(of.some(of.large), {}, {"full": 2}),
        "q wanted twice": lambda: edited(of.some(of.large), {}, {"third": 2}),
        "q elsewhere": lambda: edited(of.some(of.large), {}, {"pointer": [8, 16, 56]}),
        "c not read": lambda: edited(of.some(of.large), {"third": 0}, {}),
        "b written": lambda: edited(of.some(of.large), {"old_v": [9] * (highest + 1)}, {}),
        "c written": lambda: edited(of.some(of.large), {"old_s": [9] * (highest + 1)}, {}),
        "two cycles": lambda: edited(of.some(of.large), {}, {"clk": 1001}),
        "the first row alone": lambda: of.some(of.large)[:1],
        "the second row alone": lambda: of.some(of.large)[1:],
        "two first rows": lambda: [of.some(5)[0], *of.some(5)],
        "two second rows": lambda: [*of.some(5), of.some(5)[1]],
        "swapped rows": lambda: of.some(5)[::-1],
        "on 2": lambda: edited(of.some(5), {"on": 2}),
        "on -1": lambda: edited(of.some(5), {"on": -1}),
        "on 2 in the second row": lambda: edited(of.some(5), {}, {"on": 2}),
        "first 2": lambda: edited(of.some(5), {"first": 2}, {}),
        "first 2, on 2": lambda: edited(of.some(5), {"first": 2, "on": 2}, {"on": 2}),
        "an idle row wants q": lambda: [*of.some(5), {"third": 1}],
        **{f"limb {i} is 1 more": lambda i=i: of.some(of.large, more=i) for i in range(of.bits // 16)},  # type: ignore[misc]
    }


def remainder(a: int, b: int, m: int, c: int) -> int:
    return (a * b + c) % m


SAME = on_curve(SECP, 1)
P_BN = on_curve(BN, 1)


def moved(x: int, slope: int) -> tuple[int, int]:
    """Return x3 and y3 of the line of this slope through a point SAME and another with x."""
    p = PRIMES[SECP]
    x3 = (slope * slope - SAME[0] - x) % p
    return x3, (slope * (SAME[0] - x3) - SAME[1]) % p


def result_of(curve: int) -> tuple[int, int, int]:
    """Return slope, x3 and y3 of `summed`."""
    (x1, y1), (x2, y2), p = on_curve(curve, 1), on_curve(curve, 2), PRIMES[curve]
    slope = (y2 - y1) * pow(x2 - x1, -1, p) % p
    x3 = (slope * slope - x1 - x2) % p
    return slope, x3, (slope * (x1 - x3) - y1) % p


def with_x3(x3: int, y3: int) -> list[Row]:
    """Return the sum of two points of y^2 = x^3 + a x + b, for some b, with this result mod bn254's prime."""
    p, x1, slope = BN_PRIME, 3, 11
    y1 = (slope * (x1 - x3) - y3) % p
    x2 = (slope * slope - x1 - x3) % p
    y2 = (y1 + slope * (x2 - x1)) % p
    return point_rows(BN, (x1, y1), (x2, y2), AROUND, result=(x3, y3))


def another_y1(limb: int) -> list[Row]:
    """Return a double with the slope of another y1, which differs in a limb."""
    (x1, y1), p = SAME, PRIMES[SECP]
    y1 += 1 << 32 * limb
    first = point_rows(SECP, (x1, y1), None, AROUND)[0]
    slope = 3 * x1 * x1 * pow(2 * y1, -1, p) % p
    rows = point_rows(SECP, SAME, None, AROUND, slope=slope)
    return [first | {"w": rows[0]["w"]}, *rows[1:]]


def another_x2(limb: int) -> list[Row]:
    """Return a sum whose result is of another x2, which differs in a limb."""
    x2, y2 = on_curve(SECP, 2)
    rows = point_rows(SECP, SAME, (x2 + (1 << 32 * limb), y2), AROUND, slope=result_of(SECP)[0])
    return [summed(SECP)[0], *rows[1:]]


POINT_FORGERIES: dict[str, Callable[[], list[Row]]] = {
    "another slope": lambda: summed(SECP, slope=result_of(SECP)[0] + 1),
    "another slope of a double": lambda: doubled(SECP, slope=99),
    "another slope, carries in the field": lambda: summed(SECP, slope=99, carries=in_the_field),
    "another slope, the same result": lambda: summed(BN, slope=result_of(BN)[0] + 1, result=result_of(BN)[1:]),
    "x3 + p": lambda: summed(BN, result=(result_of(BN)[1] + BN_PRIME, result_of(BN)[2])),
    "y3 + p": lambda: summed(BN, result=(result_of(BN)[1], result_of(BN)[2] + BN_PRIME)),
    "-y3": lambda: summed(SECP, result=(result_of(SECP)[1], PRIMES[SECP] - result_of(SECP)[2])),
    "x3 = p": lambda: with_x3(BN_PRIME, 7),
    "y3 = p": lambda: with_x3(7, BN_PRIME),
    "x3 of p + 5, two flags": lambda: flagged(with_x3(BN_PRIME + 5, 7), 2, "flag", one_hot((1, 2), (0, -1)), 4),
    "y3 of p + 5, two flags": lambda: flagged(with_x3(7, BN_PRIME + 5), 2, "z", one_hot((1, 2), (0, -1)), 4),
    "y3 of p + 5, a flag of -1": lambda: flagged(with_x3(7, BN_PRIME + 5), 2, "z", one_hot((0, -1)), 4),
    "y3 of p + 2^32, a lower limb flagged": lambda: flagged(
        with_x3(7, BN_PRIME + (1 << 32) - 5), 2, "z", one_hot((0, 1)), 4
    ),
    "another curve": lambda: edited(summed(SECP), {"curve": [0, 0, 1]}),
    "two curves": lambda: edited(summed(SECP), {"curve": [1, 0, 1]}),
    "two curves and not one": lambda: edited(summed(SECP), {"curve": [1, 1, -1]}),
    "no curve": lambda: edited(summed(SECP), {"curve": [0, 0, 0]}),
    "the rows' curves differ": lambda: edited(summed(SECP), {}, {}, {"curve": [0, 1, 0]}),
    "equal points": lambda: point_rows(SECP, SAME, SAME, AROUND, slope=99, result=moved(SAME[0], 99)),
    "double of y1 = 0": lambda: point_rows(SECP, (0, 0), None, AROUND, slope=99),
    "x2 = x1 + p": lambda: point_rows(BN, P_BN, (P_BN[0] + BN_PRIME, P_BN[1]), AROUND, slope=99),
    "x1 = x2 + p": lambda: point_rows(BN, (P_BN[0] + BN_PRIME, P_BN[1]), P_BN, AROUND, slope=99),
    "x1 >= p": lambda: point_rows(BN, (P_BN[0] + BN_PRIME, P_BN[1]), on_curve(BN, 2), AROUND),
    "x2 >= p": lambda: point_rows(BN, on_curve(BN, 2), (P_BN[0] + BN_PRIME, P_BN[1]), AROUND),
    "a double of y1 >= p": lambda: point_rows(BN, (P_BN[0], P_BN[1] + BN_PRIME), None, AROUND),
    "a sum claimed to be a double": lambda: edited(summed(SECP), {"double": 1}),
    "a double claimed to be a sum": lambda: edited(doubled(SECP), {"double": 0}),
    "a half double": lambda: edited(summed(SECP), {"double": 2}),
    "x2 of the result": lambda: edited(summed(SECP), {}, {"w": [9] * LIMBS}, {}),
    "y1 of the slope": lambda: edited(doubled(SECP), {"x": [9] * HALVES}, {}, {}),
    "not read": lambda: edited(summed(SECP), {"accessed": 0}, {}, {}),
    "not written": lambda: edited(summed(SECP), {}, {"accessed": 0}, {}),
    "two cycles": lambda: edited(summed(SECP), {}, {}, {"clk": 1001}),
    "a row is missing": lambda: [summed(SECP)[0], summed(SECP)[2]],
    "cut short": lambda: summed(SECP)[:2],
    "the first row alone": lambda: summed(SECP)[:1],
    "the middle row alone": lambda: summed(SECP)[1:2],
    "the last row alone": lambda: summed(SECP)[2:],
    "rows shifted": lambda: [*summed(SECP)[1:], summed(SECP)[0]],
    "two first rows": lambda: [summed(SECP)[0], *summed(SECP)],
    "two last rows": lambda: [*summed(SECP), summed(SECP)[2]],
    "on 2": lambda: edited(summed(SECP), {"on": 2}),
    "on -1": lambda: edited(summed(SECP), {"on": -1}),
    "an idle row is of a call": lambda: [*summed(SECP), {"on": 1}],
    "an idle row is a last one": lambda: [*summed(SECP), {"row": [0, 0, 1]}],
    "an idle row of a curve": lambda: [*summed(SECP), {"curve": [0, 1, 0]}],
    "an idle row reads": lambda: [*summed(SECP), {"accessed": 1}],
    **{
        f"an idle row of curves {curves}": lambda curves=curves: [*summed(SECP), {"curve": curves}]  # type: ignore[misc]
        for curves in ([1, -1, 0], [-1, 1, 0], [1, 0, -1])
    },
    "a row of none of the three": lambda: [*summed(SECP), summed(SECP)[2] | {"row": [0, 0, 0]}],
    "a second flag, of an equal limb": lambda: flagged(with_x3(BN_PRIME - (5 << 32), 7), 2, "flag", TWO_FLAGS, 4),
    **{f"another y1 for the slope, in limb {i}": lambda i=i: another_y1(i) for i in range(LIMBS)},  # type: ignore[misc]
    **{f"another x2 for the result, in limb {i}": lambda i=i: another_x2(i) for i in range(LIMBS)},  # type: ignore[misc]
    "an idle row doubles in halves": lambda: [*summed(SECP), {"double": 2}],
    **{
        f"limb {i} for {('the slope', 'x3', 'y3')[k]} is 1 more": lambda i=i, k=k: summed(SECP, more=(k, i))  # type: ignore[misc]
        for i in range(HALVES)
        for k in range(3)
    },
}


def with_bytes(row: int, **words: list[int]) -> list[Row]:
    """Return the rows of a call in which a row's first words have other bytes."""
    rows = absorb_rows(AROUND)
    return edited(
        rows, *({name: [own, *rows[i][name][1:]] for name, own in words.items()} if i == row else {} for i in range(5))
    )


def in_row(row: int, **cells: Any) -> list[Row]:
    return edited(absorb_rows(AROUND), *(cells if i == row else {} for i in range(5)))


def overlapping(*firsts: int) -> list[Row]:
    """Return rows of calls with empty blocks, whose addresses are the number; ``firsts``: calls that begin in a row."""
    (row, *_), rows = absorb_rows(AROUND, block=[]), []
    for at in range(len(firsts) + 4):
        flags = [firsts[at - k] if 0 <= at - k < len(firsts) else 0 for k in range(5)]
        within = [sum(flags[: k + 1]) for k in range(5)]
        same = dict.fromkeys(("state", "block", "register"), KECCAK_ABSORB)
        rows.append(row | same | {"within": within[:4], "on": within[4]})
    return rows


FULL, EMPTY = [255] * 8, [0] * 8
ABSORB_FORGERIES: dict[str, Callable[[], list[Row]]] = {
    "a word behind the block": lambda: absorb_rows(AROUND, block=[*AROUND.old[:17], 1]),
    "a word behind the block, of its upper half": lambda: absorb_rows(AROUND, block=[*AROUND.old[:17], 1 << 32]),
    "words of another row": lambda: absorb_rows(AROUND, block=AROUND.old[:25]),
    "a block for the last row alone": lambda: absorb_rows(AROUND, block=[*AROUND.old[:17], *[0] * 7, 1 << 63]),
    "a byte above 255": lambda: with_bytes(0, old=[256, *EMPTY[1:]], added=EMPTY, both=EMPTY),
    "a byte below 0": lambda: with_bytes(0, old=[0, P - 1, *EMPTY[2:]], added=EMPTY, both=EMPTY),
    "a byte of the block above 255": lambda: with_bytes(2, old=EMPTY, added=[0, 256, *EMPTY[2:]], both=EMPTY),
    "a sum in place of a xor": lambda: with_bytes(0, old=[3, *EMPTY[1:]], added=[1, *EMPTY[1:]], both=EMPTY),
    "bits of one word": lambda: with_bytes(1, old=EMPTY, added=FULL, both=FULL),
    "bits of the state": lambda: with_bytes(4, old=FULL, added=EMPTY, both=FULL),
    **{f"another cycle in row {i}": lambda i=i: in_row(i, clk=1001) for i in range(5)},  # type: ignore[misc]
    **{f"another state in row {i}": lambda i=i: in_row(i, state=8) for i in range(5)},  # type: ignore[misc]
    **{f"another block in row {i}": lambda i=i: in_row(i, block=8) for i in range(5)},  # type: ignore[misc]
    **{f"row {i} alone": lambda i=i: absorb_rows(AROUND)[i : i + 1] for i in range(5)},  # type: ignore[misc]
    **{f"no row {i}": lambda i=i: [r for k, r in enumerate(absorb_rows(AROUND)) if k != i] for i in range(5)},  # type: ignore[misc]
    **{
        f"row {i} for {i + 1}": lambda i=i: in_row(i + 1, within=absorb_rows(AROUND)[i]["within"])  # type: ignore[misc]
        for i in range(4)
    },
    "swapped rows": lambda: absorb_rows(AROUND)[::-1],
    "two calls of the same rows": lambda: overlapping(1, 1),
    "a call taken back": lambda: overlapping(1, -1, 0, 0, 0, 1),
    "another call": lambda: in_row(0, register=KECCAK_F),
    "a1 is not the block": lambda: in_row(1, register=8),
    "a0 is not the state": lambda: in_row(2, register=8),
    "on 2": lambda: edited(absorb_rows(AROUND), {"on": 2}),
    "on -1": lambda: edited(absorb_rows(AROUND), {"on": -1}),
    "all twice": lambda: edited(
        absorb_rows(AROUND), *({"on": 2, "within": [2 * flag for flag in row["within"]]} for row in absorb_rows(AROUND))
    ),
    "an idle row is of a call": lambda: [*absorb_rows(AROUND), {"on": 1}],
    "an idle row reads a register": lambda: [*absorb_rows(AROUND), {"within": [0, 0, 1, 0]}],
    "an idle row reads the block": lambda: [*absorb_rows(AROUND), {"within": [0, 0, 0, 1]}],
    "an idle row is a first one": lambda: [*absorb_rows(AROUND), {"within": [1, 1, 1, 1]}],
}


# Forgeries for each limb, half and row: other numbers than the ones checked, and cells that leave their range alone.


def full(seed: int, bound: int) -> int:
    """Return a number below a bound of which no half is 0."""
    rng = random.Random(seed)
    while True:
        x = rng.randrange(bound)
        if all(x >> shift & 0xFFFF for shift in range(0, bound.bit_length() - 8, 16)):
            return x


def placed_modular(of: Sized) -> dict[str, list[Row]]:
    m, limbs = full(1, 1 << of.bits), of.bits // 32
    no_product = of.rows(full(2, 1 << of.bits), 0, m, full(3, m))
    found = named("a 0 + c", moved_halves(no_product))
    for name, x, flags, difference in wrong_order(m, limbs):
        rows = of.rows(x, 1, m, 0, q=0, r=x)
        found[f"r: {name}"] = of.unused(rows, (difference, 0), *flags.items())
    return found | named("a call", parts_of_a_call(of.some(of.large)))


def placed_fp2(field: Fp2Field) -> dict[str, list[Row]]:
    a, b, c = ((full(seed, field.p), full(seed + 1, field.p)) for seed in (1, 3, 5))
    limbs = 2 * field.words
    found = named("a 0 + c", moved_halves(fp2_rows(field, a, (0, 0), c, AROUND)))
    some = fp2_rows(field, a, b, c, AROUND)
    found |= named("a b + c", moved_quotients(some, Size(field.words).halves_of(field.p)))
    for name, x, flags, difference in wrong_order(field.p, limbs):
        first, second = fp2_rows(field, (0, 0), b, (x, 0), AROUND, r=(x, 0), q=(0, 0))
        cells = {"flag": one_hot(*flags.items(), count=limbs), "part": [difference, 0]}
        found[f"r: {name}"] = [first | cells, second]
    return found | named("a call", parts_of_a_call(some))


def placed_point() -> dict[str, list[Row]]:
    x1, x2, y = (full(seed, BN_PRIME) for seed in range(1, 4))
    found = named("a slope of 0", moved_halves(point_rows(BN, (x1, y), (x2, y), AROUND)))
    found |= named("a sum", moved_quotients(summed(BN), PRIME_HALVES[BN]))
    for name, x, flags, difference in wrong_order(BN_PRIME, LIMBS):
        of_x2, of_y3 = point_rows(BN, (x1, y), (x, 5), AROUND), with_x3(7, x)
        cells = one_hot(*flags.items())
        found[f"x: {name}"] = flagged(of_x2, 0, "flag", cells, difference)
        found[f"y3: {name}"] = flagged(of_y3, 2, "z", cells, difference)
        of_y2, of_y1 = (point_rows(BN, (x1, y1), (x2, y2), AROUND) for y1, y2 in ((y, x), (x, y)))
        for title, rows, at, flags_of_y in (
            ("y2", of_y2, 0, [*cells, *of_y2[0]["y"][LIMBS:]]),
            ("y1", of_y1, 1, [*of_y1[0]["y"][:LIMBS], *cells]),
        ):
            rows[0] = rows[0] | {"y": flags_of_y}
            rows[at] = rows[at] | {"part": [*rows[at]["part"][:2], difference, 0]}
            found[f"{title}: {name}"] = rows
    return found | named("a call", parts_of_a_call(summed(SECP)))


@cache
def placed(name: str) -> dict[str, list[Row]]:
    """Return forgeries of a table for each limb, half and row."""
    if name in SIZED:
        return placed_modular(SIZED[name])
    if name == "point":
        return placed_point()
    fields = [field for field in ALL_FIELDS if field.name == name]
    return placed_fp2(*fields) if fields else named("a call", parts_of_a_call(absorb_rows(AROUND)))


FORGERIES = {
    "point": POINT_FORGERIES,
    "keccak_absorb": ABSORB_FORGERIES,
    **{name: modular_forgeries(of) for name, of in SIZED.items()},
    **{field.name: fp2_forgeries.forgeries(field, AROUND) for field in ALL_FIELDS},
}


@cache
def noticing(name: str) -> dict[str, set[str]]:
    """Return the checks that notice each forgery."""
    forgeries = {forgery: forge() for forgery, forge in FORGERIES[name].items()} | placed(name)
    blocks = [padded(matrix(TABLES[name], rows), 16) for rows in forgeries.values()]
    found = judged(name, np.concatenate(blocks, axis=1), len(blocks))
    return {forgery: reasons for forgery, (reasons, _) in zip(forgeries, found, strict=True)}


@pytest.mark.parametrize("name", TABLES)
def test_forgeries_are_noticed(name: str) -> None:
    missed = [forgery for forgery, reasons in noticing(name).items() if not reasons]
    assert not missed


@pytest.mark.parametrize("name", TABLES)
def test_calls_cut_short_by_the_tables_end(name: str) -> None:
    """Refuse rows that begin at the end of a table; with all of them, they may go on at its beginning."""
    rows = matrix(TABLES[name], HONEST[name][0])
    for shift in range(1, ROWS_OF_CHIP[name]):
        table = np.zeros((len(rows), 8), dtype=np.uint64)
        table[:, : rows.shape[1]] = rows
        around = np.roll(table, -shift, axis=1)
        assert not judged(name, around)[0][0]
        around[:, : rows.shape[1] - shift] = 0
        assert judged(name, around)[0][0]


# Checks without which everything above would still be noticed.
FLAGS = "flags have 16 or 8 bits, and their sum is 0 or 1"
LOWEST = "one limb is flagged, so the lowest is flagged or none above it is left to be equal"
OVERLAP = "a row that is of two calls would have cells with a carry near 2^23 as well as a flag"


def lowest_limbs(name: str, limbs: int) -> dict[str, str]:
    """Return the checks that the lowest limbs are equal: the last one of each check that a number is below another."""
    label = "limbs above the flagged one are equal"
    count = description(name).constraint_labels.count(label)
    return {f"{label} #{i}" if count > 1 else label: LOWEST for i in range(limbs - 1, count, limbs)}


def redundant_modular(name: str, of: Sized) -> dict[str, str]:
    flags = {f"a flag of a limb #{i}": FLAGS for i in range(of.bits // 32)}
    overlap = dict.fromkeys(("a row is of a call or not", "a row is the first or not"), OVERLAP)
    return flags | overlap | lowest_limbs(name, of.bits // 32)


REDUNDANT: dict[str, dict[str, str]] = {
    **{name: redundant_modular(name, of) for name, of in SIZED.items()},
    **{field.name: lowest_limbs(field.name, 2 * field.words) for field in ALL_FIELDS},
    "point": {
        "a row is of a call or not": "the row is one of three, and has one curve",
        **{f"a row is of a kind or not #{i}": "the rows before and behind have the same flag" for i in range(3)},
        **{
            f"the rows of a call are of one cycle, kind and curve #{2 + i}": "a row's flags of curves add up to 1"
            for i in range(CURVES)
        },
        **lowest_limbs("point", LIMBS),
        **{f"a flag of a limb #{i}": FLAGS for i in range(2 * LIMBS, 4 * LIMBS)},  # of y2 and y1, among the halves
    },
    "keccak_absorb": {},
}


CALLS: dict[str, Callable[[Around], list[Row]]] = {
    **{
        name: lambda around, of=of: modular_rows(3, 5, of.small, 7, around, number=of.number + 1)  # type: ignore[misc]
        for name, of in SIZED.items()
    },
    **{
        field.name: lambda around, field=field: fp2_rows(field, *fp2_forgeries.elements(field), around)  # type: ignore[misc]
        for field in ALL_FIELDS
    },
    "point": lambda around: point_rows(SECP, on_curve(SECP, 1), on_curve(SECP, 2), around),
    "keccak_absorb": absorb_rows,
}


@cache
def with_exchanged_times(name: str) -> list[set[str]]:
    """Return the checks that notice two calls with each other's times, if their messages are the honest ones."""
    both, exchanged = exchanged_times(TABLES[name], CALLS[name], AROUND)
    ((reasons, honest),) = judged(name, padded(both, 16))
    assert not reasons
    many = np.concatenate([padded(rows, 16) for rows in exchanged], axis=1)
    return [reasons for reasons, told in judged(name, many, len(exchanged), 1) if told == honest]


@pytest.mark.parametrize("name", TABLES)
def test_times_of_two_calls_are_not_exchanged(name: str) -> None:
    """Refuse reads of later values, with the messages of honest calls: only the check of the time notices."""
    found = with_exchanged_times(name)
    assert all(found)
    air = description(name)
    assert {next(iter(reasons)) for reasons in found} >= {checks.names_of(air)[check] for check in checks.recency(air)}


def needed(name: str) -> set[str]:
    """Return the checks that are the only one to notice a forgery that the tests above require to be noticed."""
    changed = [reasons for place, _, reasons in changed_cells(name) if place not in left_open(name)]
    noticed = [*changed, *noticing(name).values(), *with_exchanged_times(name)]
    return {next(iter(reasons)) for reasons in noticed if len(reasons) == 1}


@pytest.mark.parametrize("name", SMALLER)
def test_every_check_counts(name: str) -> None:
    """For each constraint and each range have a forgery that it alone notices; other tests require this."""
    assert set(checks.names_of(description(name))) - needed(name) == set(REDUNDANT[name])
