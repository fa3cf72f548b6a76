"""Forged rows of host calls for each limb, half and row, which one check of the table alone should notice."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphprover.field import P
from graphprover.vm.accelerators.table import CallTable, product
from graphprover.vm.tables.limbs import HALF, PER_HALF
from tests.vm.kernels.naive_calls import Around, Row, matrix

Flags = dict[int, int]  # by limb, for a check that a number is below a bound; absent ones are 0
TIMES = ("register_t", "word_t", "a7_pc", "t_pc", "old_t", "added_t", "time", "time_e")  # cells with a time before
HALVES = ("u", "v", "s", "x", "y", "r", "part")  # families of cells, of which two neighbours are a limb


def wrong_order(bound: int, limbs: int) -> Iterator[tuple[str, int, Flags, int]]:
    """Yield numbers with flags and a difference for x < bound, of which one check is wrong.

    Args:
        bound: The bound.
        limbs: The number of its limbs.

    Yields:
        A name, x, its flags and the difference less 1.
    """
    ones = (1 << 32) - 1
    for k in range(1, limbs):
        more = 1 if bound >> 32 * k & ones < ones else -1
        yield f"limb {k} is not the bound's, limb 0 flagged", bound - 5 + (more << 32 * k), {0: 1}, 4
    yield "limb 0 flagged by -1", bound + 5, {2: 1, 1: 1, 0: -1}, 4
    yield "limb 1 flagged by -1", bound - 5, {2: 1, 1: -1, 0: 1}, 4
    for k in range(2, limbs):
        yield f"limb {k} flagged by -1", bound - 5, {k: -1, 1: 1, 0: 1}, 4
    yield "two flags", bound - (5 << 32), {1: 1, 0: 1}, 4


def moved_halves(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield rows in which a sum of two cells stays and one of them leaves its range: cells of limbs, and of carries.

    The sums must be all that is read of these cells: the products of which they are factors must be 0.
    """
    for at, row in enumerate(rows):
        for name in HALVES:
            if name not in row:
                continue
            for i in range(0, len(row[name]), 2):
                for which, low, high in _moves(row[name][i], row[name][i + 1]):
                    cells = [*row[name][:i], low, high, *row[name][i + 2 :]]
                    yield f"{name}[{i + which}] of row {at}", _with(rows, at, {name: cells})
        for i, pair in enumerate(zip(row.get("low", ()), row.get("high", ()), strict=True)):
            for which, low, high in _moves(*pair):
                both = {name: [*row[name][:i], x, *row[name][i + 1 :]] for name, x in (("low", low), ("high", high))}
                yield f"{('low', 'high')[which]}[{i}] of row {at}", _with(rows, at, both)


def _moves(low: int, high: int) -> Iterator[tuple[int, int, int]]:
    """Yield two cells of the same sum low + 2^16 high, and the one that is out of range."""
    if high:
        yield 0, low + HALF, high - 1
    if low < HALF - 1:
        yield 1, low + 1, (high - PER_HALF) % P


def _with(rows: Sequence[Row], at: int, cells: dict[str, Any]) -> list[Row]:
    return [row | cells if i == at else row for i, row in enumerate(rows)]


def parts_of_a_call(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the rows of a call from one on, and up to one."""
    for i in range(1, len(rows)):
        yield f"from row {i} on", list(rows[i:])
        yield f"up to row {i}", list(rows[:i])


def exchanged_times(
    table: CallTable, rows: Callable[[Around], Sequence[Row]], around: Around
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the trace of two calls of equal operands, and traces in which they have each other's times of an access.

    The second call's times are between the calls, so they are too late for the first call.
    """
    later = 4 * around.clk + 20  # a time behind the first call
    registers, words = ([later] * len(times) for times in (around.register_times, around.word_times))
    second = replace(around, clk=around.clk + 10, register_times=registers, a7_time=later, word_times=words)
    one, other = (matrix(table, rows(of)) for of in (around, second))
    both, size, found = np.concatenate([one, other], axis=1), one.shape[1], []
    for column, name in enumerate(table.describe().main_names):
        for row in range(size):
            if name.partition("[")[0] in TIMES and one[column, row] != other[column, row]:
                changed = both.copy()
                changed[column, [row, size + row]] = other[column, row], one[column, row]
                found.append(changed)
    return both, found


def named(prefix: str, blocks: Iterable[tuple[str, list[Row]]]) -> dict[str, list[Row]]:
    return {f"{prefix}: {name}": rows for name, rows in blocks}


def moved_quotients(rows: Sequence[Row], prime: Sequence[int]) -> Iterator[tuple[str, list[Row]]]:
    """Yield rows with a half of a quotient that is 2^16 too large, the next one being 1 less, and other carries."""
    above = [low + HALF * high for low, high in zip(prime[::2], prime[1::2], strict=True)]
    for at, row in enumerate(rows):
        for k in range(len(prime)):
            change = [HALF if i == k else -1 if i == k + 1 else 0 for i in range(len(prime) + 1)]
            low, high, carry = [], [], 0
            for i in range(len(prime)):
                of_sign = change[-1] * above[i - len(above)] if i >= len(above) else 0
                carry = (carry - product(change[:-1], prime, i) - of_sign) >> 32
                if i < len(row["low"]):
                    moved = row["low"][i] + HALF * row["high"][i] + carry
                    low.append(moved % HALF)
                    high.append(moved // HALF)
            q = [x + y for x, y in zip(row["q"], change, strict=False)]
            cells = {"q": q, "sign": row["sign"] + change[-1], "low": low, "high": high}
            yield f"q[{k}] of row {at}", _with(rows, at, cells)
