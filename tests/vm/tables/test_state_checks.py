"""Each constraint and each lookup of the tables of memory, of public words and of the first cycle is needed.

See test_keccak_checks.py. The traces are made here: few rows of a short region.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from graphprover.air import Air
from graphprover.field import P
from graphprover.vm.program.io import MAX_INPUT_BYTES
from graphprover.vm.tables.bump import Bump
from graphprover.vm.tables.fixed import Numbers
from graphprover.vm.tables.limbs import HALF, PER_HALF
from graphprover.vm.tables.public_words import OutputMemory, PublicWords, StatedInput
from graphprover.vm.tables.state import Boundary, InputMemory, Region, ZeroMemory
from tests.vm.tables.checks import judged, names_of

HEIGHT = 32
START, WORDS = 1 << 20, 1 << 24  # of a region: its first address and its words, more than a gap of 16 bits
TABLES: dict[str, Air] = {
    "boundary": Boundary(4096, 3),
    "zero_memory": ZeroMemory(START, START + 8 * WORDS),
    "input_memory": InputMemory(START, START + 8 * WORDS),
    "stated_input": StatedInput(30),
    "output_memory": OutputMemory(30),
    "bump": Bump(),
    "numbers": Numbers(),
}


@cache
def honest(name: str) -> np.ndarray:
    """Return a trace that all checks accept."""
    air = TABLES[name]
    rows, c = air.zeros(HALF if name == "numbers" else HEIGHT)
    if isinstance(air, Boundary):
        c.first[0] = 1
    elif isinstance(air, PublicWords):
        for i in range(air.rows):
            c.row[i, i] = 1
    elif isinstance(air, Region):
        gap = WORDS // HEIGHT
        first = int(isinstance(air, InputMemory))  # its first row has the first word
        c.on[1:-1], c.gap[1, 1:-1] = 1, gap // HALF
        at = START - 8 + 8 * first
        for i in range(HEIGHT):
            if i == HEIGHT - 1:
                left = (START + 8 * WORDS - 8 - at) // 8
                c.gap[0, i], c.gap[1, i] = left % HALF, left // HALF
                at += 8 * left
            elif i:
                at += 8 * (1 + gap)
            c.at[i] = at
        if first:
            left = MAX_INPUT_BYTES - HALF - 5
            c.initial[0, 0], c.initial[1, 0], c.gap[0, 0], c.gap[1, 0] = 5, 1, left % HALF, left // HALF
    elif isinstance(air, Bump):
        c.on[:], c.step_low[:], c.step_high[:] = 1, 3, 4
    return rows


def forgeries(name: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield forged traces."""
    air = TABLES[name]
    if isinstance(air, Boundary):
        for row, value in ((0, 0), (5, 1)):
            rows = honest(name).copy()
            rows[0, row] = value
            yield f"first {value} in row {row}", rows
    elif isinstance(air, PublicWords):
        for i in range(air.rows):
            for row in (0, 3):
                rows = honest(name).copy()
                c = air.view(rows)
                for k in range(air.rows - i):  # once more, or never, from row i on
                    c.row[i + k, row + k] = 1 - c.row[i + k, row + k]
                yield f"row {i} in row {row}", rows
    elif isinstance(air, Region):
        yield from region_forgeries(name)
    elif isinstance(air, Bump):
        for cell, value in (("on", 2), ("on", P - 1), ("step_low", HALF), ("step_high", P - 1)):
            rows = honest(name).copy()
            getattr(air.view(rows), cell)[0, 2] = value
            yield f"{cell} of {value}", rows


def region_forgeries(name: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield traces of a region with another order of addresses, or with halves out of range."""
    air, edits = TABLES[name], []
    for family in ("gap", "initial") if name == "input_memory" else ("gap",):
        for i in range(0, len(getattr(air.view(honest(name)), family)), 2):
            edits += [(f"{family}[{i}]", family, i, HALF, -1), (f"{family}[{i + 1}]", family, i, 1, -PER_HALF)]
    for title, family, i, low, high in edits:
        rows = honest(name).copy()
        cells, at = getattr(air.view(rows), family), 2
        if family == "initial":
            cells[i : i + 2, at] = 1
        for k, change in ((i, low), (i + 1, high)):
            cells[k, at] = (int(cells[k, at]) + change) % P
        yield title, rows
    last = HEIGHT - 1
    for row, cell, change in ((4, "at", P - 8), (last, "gap", 1), (3, "on", 1)):
        rows = honest(name).copy()
        c = air.view(rows)
        if cell == "on":  # a word twice, at an address one word further on
            c.on[row] = 2
            c.at[row:last] += np.uint64(8)
            c.gap[0, last] -= np.uint64(1)
        elif cell == "gap":  # the last row is not at the end
            c.gap[0, row] += np.uint64(1)
            c.at[row] += np.uint64(8)
        else:
            c.at[row] = (int(c.at[row]) + change) % P
        yield f"{cell} of row {row}", rows
    rows = honest(name).copy()
    c = air.view(rows)
    c.at[:last] -= np.uint64(8)
    c.gap[0, last] += np.uint64(1)
    yield "a word before the region", rows
    if name == "zero_memory":
        rows = honest(name).copy()
        air.view(rows).on[0] = 1
        yield "a word in the first row", rows
        return
    for i in range(2, 4):
        rows = honest(name).copy()
        air.view(rows).initial[i, 0] = 1
        yield f"a length with half {i}", rows
    rows = honest(name).copy()
    air.view(rows).initial[0, 0] += np.uint64(1)
    yield "another length", rows


@cache
def result(name: str) -> tuple[list[str], set[str]]:
    """Return the checks of a table, and those that are the only one to notice a forgery; all notice some."""
    air = TABLES[name].describe()
    table, public = TABLES[name], [0] * air.num_public_values
    preprocessed = table.preprocessed_trace() if air.preprocessed_width else None
    names, needed = names_of(air), set()
    assert not judged(air, honest(name), preprocessed=preprocessed, public_values=public)[0].any()
    for forgery, rows in forgeries(name):
        (by,) = judged(air, rows, preprocessed=preprocessed, public_values=public)[0].T
        assert by.any(), forgery
        if by.sum() == 1:
            needed.add(names[int(by.argmax())])
    return names, needed


# Checks without which everything would still be noticed.
REDUNDANT = {
    "boundary": {"t.boolean(t.first)": "it is 1 in the first row and 0 in all others"},
    **{
        name: {"the first row or not": "it is 1 in the first row and 0 in all others"}
        for name in ("stated_input", "output_memory")
    },
    "numbers": {
        "a bit, by which two messages share a fraction column": "its column is preprocessed",
    },
}


@pytest.mark.parametrize("name", TABLES)
def test_every_check_counts(name: str) -> None:
    """For each constraint and each lookup have a forgery that it alone notices."""
    names, needed = result(name)
    assert set(names) - needed == set(REDUNDANT.get(name, ()))
