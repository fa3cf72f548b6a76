"""The table `row` proves the words of opened rows and their sums, and nothing else."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import blake3
import numpy as np
import pytest

from graphprover.air.debugger import FailingConstraint
from graphprover.air.evaluate import evaluate
from graphprover.device import CpuDevice
from graphprover.field import P
from graphprover.recursion.kernels import count_cells, count_halves, fill_row
from graphprover.recursion.kernels.segments import Kind, Segments
from graphprover.recursion.openings import OpenedRows
from graphprover.recursion.tables.buses import HALVES, MEMORY
from graphprover.recursion.tables.row import WIDTH
from graphprover.recursion.witness.hashed_rows import Hashed, Rows, hashed
from graphprover.statement.cells import cells_per_row
from graphprover.statement.check import check
from tests.recursion.naive_rows import ROW, Segment, row_trace, segments_of
from tests.recursion.opened import edited, main_of, statement

# Rows and their words: parts of a block, whole blocks, whole chunks and parts of one, trees of any shape.
SIZES = ((3, 1), (2, 7), (4, 8), (2, 9), (2, 127), (2, 128), (1, 129), (2, 300), (1, 128 * 4), (1, 128 * 6 + 5))
SPLIT_FROM = {2: 0, 6: 1, 7: 0, 8: 5, 9: 3}  # by the place of a size: its first chunk that is split
CELLS = 5_000


def test_costs() -> None:
    """Pin the counts, as docs/recursion.md has them."""
    row = ROW.describe()
    assert (row.main_width, len(row.lookups), row.log_quotient_chunks, cells_per_row(row)) == (72, 8, 2, 111)
    assert sum(len(lookup.tuples) for lookup in row.lookups) == 16 + 8 + 6
    text = (Path(__file__).parents[2] / "docs/recursion.md").read_text()
    assert "| `row` | four opened words | 72 | 0 | 8 | 4 | 111 a row |" in text


# Traces.


def groups() -> list[Rows]:
    """Return rows of all sizes, of all kinds."""
    rng = np.random.default_rng(1)
    found = []
    for i, (rows, width) in enumerate(SIZES):
        words = rng.integers(0, P, (rows, width), dtype=np.uint64)
        bases = rng.integers(0, CELLS - 2 * (width + 8), rows).astype(np.uint32)
        indices = rng.integers(0, 2**60, rows, dtype=np.uint64)
        powers = np.zeros((2, width), dtype=np.int64) if i % 3 else None
        asked = rng.integers(0, 9, rows).astype(np.uint32)
        found.append(Rows(OpenedRows(i, 3 + i, indices, words, powers), bases, asked, SPLIT_FROM.get(i)))
    return found


@cache
def cells() -> np.ndarray:
    return np.random.default_rng(2).integers(0, P, (3, CELLS), dtype=np.uint64)


@cache
def naive() -> list[Segment]:
    """Return the segments of `groups`."""
    found: list[Segment] = []
    for group in groups():
        opened = group.opened
        kinds = [Kind.READ if opened.powers is None else Kind.WEIGHTED]
        if group.split_from is not None:
            kinds = [*kinds * group.split_from, Kind.SPLIT]
        given = zip(opened.places.tolist(), opened.words.tolist(), group.bases, group.asked, strict=True)
        for place, words, base, asked in given:
            first = found[-1].first + len(found[-1].calls) if found else 0
            found += segments_of(tuple(place), kinds, int(base), words, first, int(asked))
    return found


def on_device(segments: Segments, device: Any) -> Segments:
    return Segments(**{name: device.load(array) for name, array in vars(segments).items()})


def filled(device: Any, found: Hashed, rows: int) -> tuple[Any, Any, Any]:
    """Return the trace, which replaces other words, and counts that are added to counts of 5."""
    there, arrays = on_device(found.segments, device), device.arrays
    main = arrays.empty((WIDTH, rows), dtype=np.uint64)
    main[:] = 7
    halves, in_memory = arrays.zeros(2**16, dtype=np.uint64), arrays.zeros(CELLS, dtype=np.uint64)
    halves[:], in_memory[:] = 5, 5
    fill_row(device, there, device.load(cells()), main)
    count_halves(device, there, halves)
    count_cells(device, there, in_memory)
    return main, halves, in_memory


def expected(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    main = row_trace(naive(), cells(), rows)
    t, halves, in_memory = ROW.view(main), np.full(2**16, 5, dtype=np.uint64), np.full(CELLS, 5, dtype=np.uint64)
    on = t.weighted + t.read + t.split + t.parent == 1
    for word in range(4):
        for half in t.half[word]:
            np.add.at(halves, half[on].astype(np.int64), 1)
        for point, asks in enumerate((t.weighted + t.read, t.weighted + t.split)):
            addresses = (t.address + np.uint64(2 * word + point))[asks == 1]
            np.add.at(in_memory, addresses.astype(np.int64), 1)
    return main, halves, in_memory


BLOCKS = sum(len(segment.calls) for segment in naive())


@pytest.mark.parametrize("rows", [1024, 2 * BLOCKS])
@pytest.mark.parametrize("threads", [1, 3])
def test_traces(rows: int, threads: int) -> None:
    for found, wanted in zip(filled(CpuDevice(threads), hashed(groups()), rows), expected(rows), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_pieces_of_a_trace_begin_anywhere() -> None:
    """A piece that begins inside of a segment adds up the words before it."""

    class Pieces(CpuDevice):
        def split_rows(self, function: Callable[[int, int], None], rows: int) -> None:
            for first in range(0, rows, 7):
                function(first, min(first + 7, rows))

    for found, wanted in zip(filled(Pieces(1), hashed(groups()), 1024), expected(1024), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_hashes() -> None:
    """The package gives the same digests, and plain Python the same calls."""
    found, calls = hashed(groups()), [call for segment in naive() for call in segment.calls]
    whole = found.segments.digests[found.segments.numbers[:, 0] & int(Kind.WHOLE) != 0]
    rows = [row for group in groups() for row in group.opened.words]
    for digest, row in zip(whole, rows, strict=True):
        assert digest.tobytes() == blake3.blake3(row.tobytes()).digest()
    np.testing.assert_array_equal(found.values, [call.value for call in calls])
    np.testing.assert_array_equal(found.parameters, [call.parameters for call in calls])
    np.testing.assert_array_equal(found.halves, [call.block for call in calls])
    np.testing.assert_array_equal(found.uses, [int(call.use) for call in calls])


def test_arrays_of_another_kind_are_refused() -> None:
    device, good = CpuDevice(1), hashed(groups()).segments
    main, halves = np.empty((WIDTH, 1024), dtype=np.uint64), np.zeros(2**16, dtype=np.uint64)
    for name, array in vars(good).items():
        for wrong in (array[..., None], array.astype(np.int64), np.repeat(array, 2, axis=0)[::2]):
            with pytest.raises(ValueError, match=f"{name} of .* segments are"):
                fill_row(device, replace(good, **{name: wrong}), cells(), main)
    with pytest.raises(ValueError, match=f"{BLOCKS} blocks of 2 rows do not fit 64 rows"):
        fill_row(device, good, cells(), main[:, :64].copy())
    for wrong in (main[1:], main.astype(np.int64), main.T.copy().T):
        with pytest.raises(ValueError, match="a trace is"):
            fill_row(device, good, cells(), wrong)
    with pytest.raises(ValueError, match="cells are"):
        fill_row(device, good, cells()[:2], main)
    with pytest.raises(ValueError, match="numbers of 16 bits"):
        count_halves(device, good, halves[1:])
    with pytest.raises(ValueError, match="counts are"):
        count_cells(device, good, halves.astype(np.int64))
    with pytest.raises(ValueError, match="has words"):
        group = groups()[0]
        hashed([replace(group, opened=replace(group.opened, words=np.empty((3, 0), dtype=np.uint64)))])


# Soundness.


def test_openings_are_proved() -> None:
    assert check(statement()) == []


def labels(main: np.ndarray) -> set[str]:
    """Return the labels of the constraints that a trace does not satisfy."""
    return {finding.label for finding in check(edited("row", main)) if isinstance(finding, FailingConstraint)}


def rows_of(t: SimpleNamespace, **flags: int) -> np.ndarray:
    """Return the rows whose columns have these values."""
    found = np.ones(len(t.begin), dtype=bool)
    for name, value in flags.items():
        found &= getattr(t, name) == value
    return np.flatnonzero(found)


# For each constraint, by its label, an edit that it refuses: the rows by the values of columns, one of these, and the
# column with the value that it has there.
REFUSED: dict[str, tuple[dict[str, int], int, Any, Any]] = {
    "a flag": ({"whole": 1}, 0, "whole", 2),
    "a segment has one kind": ({"read": 1}, 0, "weighted", 1),
    "a segment ends in one way": ({"whole": 1}, 0, "inner", 1),
    "rows that are off have no part of a segment": ({"weighted": 0, "read": 0, "split": 0, "parent": 0}, 0, "upper", 1),
    "the table begins with a segment": ({"begin": 1}, 0, "begin", 0),
    "a segment goes on until it ends, and another one begins": ({"begin": 1}, 5, "begin", 0),
    "the table ends with a segment": ({}, -1, "weighted", 1),
    "a segment begins with a lower half": ({"begin": 1}, 4, "upper", 1),
    "a segment ends with an upper half": ({"whole": 1}, 2, "upper", 0),
    "lower and upper halves alternate": ({"upper": 1}, 2, "upper", 0),
    "the rows of a segment have one kind and place": ({"upper": 1}, 2, "index", 17),
    "calls of a segment have consecutive numbers": ({"upper": 1}, 2, "number", 17),
    "the first word is at the base": ({"begin": 1}, 2, "address", 17),
    "addresses follow each other": ({"upper": 1}, 2, "address", 17),
    "both halves have the length of their block": ({"upper": 1}, 2, "absent", 3),
    "up to 7 words of a block are absent": ({"whole": 1}, 0, "absent", P - 1),
    "only a segment's last block can be short": ({"upper": 1, "whole": 0, "inner": 0}, 2, "absent", 3),
    "a parent has one block": ({"parent": 1, "inner": 1}, 0, "inner", 0),
    "a parent is not short": ({"parent": 1}, 0, "absent", 1),
    "a parent has the counter 0": ({"parent": 1}, 0, "counter", 1),
    "a parent begins with its left child": ({"parent": 1, "upper": 0}, 0, "weight", np.arange(24).reshape(2, 4, 3)),
    "the right child follows the left one": ({"parent": 1, "upper": 1}, 0, "weight", 7),
    "both rows have the parent's first chunk": ({"parent": 1, "upper": 1}, 0, "weight", 7),
    "a row begins with chunk 0": ({"whole": 1, "weighted": 1}, 0, "counter", 1),
    "only the last row of a chunk is looked up": ({"parent": 1, "upper": 1}, 0, "asked", 1),
    "a sum begins": ({"weighted": 1, "begin": 1}, 1, "sum", 5),
    "a sum goes on": ({"weighted": 1, "upper": 1}, 1, "sum", 5),
    "only weighted words have sums": ({"read": 1}, 1, "sum", 5),
    "a word that is read": ({"read": 1}, 1, "half", 5),
    "a word is in the base field": ({"read": 1}, 1, "weight", 5),
    "a word that is split": ({"split": 1}, 1, "half", 5),
}


def test_every_constraint_refuses_a_trace() -> None:
    assert set(ROW.describe().constraint_labels) == set(REFUSED)
    for label, (flags, number, column, value) in REFUSED.items():
        main = main_of("row")
        t = ROW.view(main)
        at = rows_of(t, **flags)[number]
        getattr(t, column)[..., at] = value
        assert label in labels(main), label
    assert labels(main_of("row")) == set()


def test_each_of_many_constraints_refuses_a_trace() -> None:
    """Of constraints with one label: by column, word, point and coordinate."""
    rng, failing = np.random.default_rng(4), set()
    description, honest = ROW.describe(), main_of("row")
    for _ in range(60):
        main = np.where(rng.random(honest.shape) < 0.05, honest + np.uint64(1), honest)
        values = evaluated(main)[: len(description.constraints)]
        failing |= {i for i, zero in enumerate(values) if zero.any()}
    assert failing == set(range(len(description.constraints)))


def evaluated(main: np.ndarray) -> list[np.ndarray]:
    """Return the values of all constraints, multiplicities and fields of messages of a trace."""
    description = ROW.describe()
    roots = list(description.constraints)
    for interaction in description.globals:
        roots += [interaction.tuples[0].multiplicity, *interaction.tuples[0].fields]
    ((_, values),) = evaluate(description, main, None, (), roots)
    return values


def noticed(main: np.ndarray, honest: list[np.ndarray], memory: np.ndarray) -> np.ndarray:
    """Return for each row whether a constraint fails, a lookup finds nothing, or a message is not the honest one.

    Counts of lookups are of no help, so it is as if the prover had adapted them.
    """
    description, values = ROW.describe(), evaluated(main)
    at = len(description.constraints)
    bad = np.any([zero != 0 for zero in values[:at]], axis=0)
    for interaction in description.globals:
        end = at + 1 + len(interaction.tuples[0].fields)
        (count, *fields), (honest_count, *honest_fields) = values[at:end], honest[at:end]
        if interaction.bus == HALVES.name:
            wrong = fields[0] >= 2**16
        elif interaction.bus == MEMORY.name:
            address = np.minimum(fields[0], np.uint64(memory.shape[1] - 1)).astype(np.int64)
            wrong = (fields[0] != address) | np.any(memory[:, address] != np.stack(fields[1:]), axis=0)
        else:
            wrong = np.any([a != b for a, b in zip(fields, honest_fields, strict=True)], axis=0)
        bad |= (count != honest_count) | (count != 0) & wrong
        at = end
    return bad


def unread(t: SimpleNamespace, name: str, row: int, change: int) -> bool:
    """Return whether nothing reads a cell of the honest trace."""
    family, off = name.split("[")[0], not (t.weighted[row] or t.read[row] or t.split[row] or t.parent[row])
    if off:
        flags = ("weighted", "read", "split", "parent", "upper", "begin", "inner", "whole", "short", "asked")
        return family not in flags and (family != "absent" or change == 1)
    if family == "digest":
        return not (t.whole[row] or t.inner[row])
    if family == "weight":
        if t.parent[row]:
            return not name.startswith("weight[0][0]")
        return bool((t.read[row] and name.startswith("weight[1]")) or (t.split[row] and name.startswith("weight[0]")))
    return False


@pytest.mark.parametrize("change", [1, P - 1, 2**32])
def test_every_cell_counts(change: int) -> None:
    """Change one cell at a time, in rows of every kind."""
    names, period = ROW.describe().main_names, main_of("row")
    t, memory = ROW.view(period), np.asarray(cells_of_memory())
    honest = evaluated(period)
    assert not noticed(period, honest, memory).any()
    rows = len(t.begin)
    for column, name in enumerate(names):
        for first in range(3):  # rows that are 3 apart: a row notices one change at most, its own or its successor's
            main = period.copy()
            main[column, first::3] = (main[column, first::3].astype(object) + change) % P
            bad = noticed(main, honest, memory)
            for row in range(first, rows, 3):
                found = bad[row] or bad[row - 1]
                assert found != unread(t, name, row, change), (name, row)


def cells_of_memory() -> np.ndarray:
    (table,) = (table for table in statement().tables if table.air.name == "cells")
    preprocessed = table.preprocessed
    assert preprocessed is not None
    return preprocessed[2:]
