"""The kernels fill the rows of segments as plain Python does."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.field import P
from graphprover.recursion.kernels import count_cells, count_halves, fill_segments
from graphprover.recursion.kernels.segments import SegmentKind
from graphprover.recursion.openings import OpenedRows
from graphprover.recursion.tables.columns import WIDTH
from graphprover.recursion.tables.segments import part_of
from graphprover.recursion.traces.machine import calls_of
from graphprover.recursion.witness.hashes import RowGroup, segments_of_rows
from tests.recursion.machines import TABLE, no_nodes
from tests.recursion.naive_segments import Segment, machine_trace, segments_of
from tests.recursion.test_calls import on_device

# Rows and their words: parts of a block, whole blocks, whole chunks and parts of one, trees of any shape.
SIZES = ((3, 1), (2, 7), (4, 8), (2, 9), (2, 127), (2, 128), (1, 129), (2, 300), (1, 128 * 4), (1, 128 * 6 + 5))
SPLIT_FROM = {2: 0, 6: 1, 7: 0, 8: 5, 9: 3}  # by the place of a size: its first chunk that is split
CELLS = 5_000
FIRST = 3  # row of segments


def groups() -> list[RowGroup]:
    """Return rows of all sizes, of all kinds."""
    rng = np.random.default_rng(1)
    found = []
    for i, (rows, width) in enumerate(SIZES):
        words = rng.integers(0, P, (rows, width), dtype=np.uint64)
        bases = rng.integers(0, CELLS - 2 * (width + 8), rows).astype(np.uint32)
        indices = rng.integers(0, 2**60, rows, dtype=np.uint64)
        powers = np.zeros((2, width), dtype=np.int64) if i % 3 else None
        asked = rng.integers(0, 9, rows).astype(np.uint32)
        opened = OpenedRows(i, 3 + i, indices, words, powers, SPLIT_FROM.get(i))
        found.append(RowGroup(opened, bases, asked))
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
        kinds = [SegmentKind.READ if opened.powers is None else SegmentKind.WEIGHTED]
        if group.opened.split_from is not None:
            kinds = [*kinds * group.opened.split_from, SegmentKind.SPLIT]
        given = zip(opened.places.tolist(), opened.words.tolist(), group.bases, group.asked, strict=True)
        for place, words, base, asked in given:
            first = found[-1].first + len(found[-1].calls) if found else 0
            found += segments_of(tuple(place), kinds, int(base), words, first, int(asked))
    return found


def filled(device: Any, rows: int) -> tuple[Any, Any, Any]:
    """Return the trace of `groups`, and counts that are added to counts of 5."""
    given = on_device(segments_of_rows(groups()), device)
    (_, there, digests), arrays = calls_of(device, given, on_device(no_nodes(), device)), device.arrays
    main = arrays.zeros((WIDTH, rows), dtype=np.uint64)
    halves, in_memory = arrays.zeros(2**16, dtype=np.uint64), arrays.zeros(CELLS, dtype=np.uint64)
    halves[:], in_memory[:] = 5, 5
    fill_segments(device, there, digests, device.load(cells()), main, FIRST)
    count_halves(device, there, halves)
    count_cells(device, there, in_memory)
    return main, halves, in_memory


def expected(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    main = machine_trace(naive(), cells(), FIRST, rows)
    t = part_of(TABLE.view(main))
    halves, in_memory = np.full(2**16, 5, dtype=np.uint64), np.full(CELLS, 5, dtype=np.uint64)
    on = t.quarter.sum(axis=0) == 1
    for half in t.half:
        np.add.at(halves, half[on].astype(np.int64), 1)
    for at, asks in enumerate([t.weighted + t.read, t.weighted + t.split] * 2):
        np.add.at(in_memory, t.at[at][(asks == 1) & on].astype(np.int64), 1)
    return main, halves, in_memory


ROWS = sum(4 * len(segment.calls) + 1 for segment in naive())


@pytest.mark.parametrize("rows", [2048, FIRST + ROWS])
@pytest.mark.parametrize("threads", [1, 3])
def test_traces(rows: int, threads: int) -> None:
    for found, wanted in zip(filled(CpuDevice(threads), rows), expected(rows), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_pieces_of_a_trace_begin_anywhere() -> None:
    """A piece that begins inside of a segment adds up the words before it."""

    class Pieces(CpuDevice):
        def split_rows(self, function: Callable[[int, int], None], rows: int) -> None:
            for first in range(0, rows, 7):
                function(first, min(first + 7, rows))

    for found, wanted in zip(filled(Pieces(1), 2048), expected(2048), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_arrays_of_another_kind_are_refused() -> None:
    device = CpuDevice(1)
    _, good, digests = calls_of(device, segments_of_rows(groups()), no_nodes())
    main, halves = np.empty((WIDTH, 2048), dtype=np.uint64), np.zeros(2**16, dtype=np.uint64)
    for name, array in vars(good).items():
        for wrong in (array[..., None], array.astype(np.int64), np.repeat(array, 2, axis=0)[::2]):
            with pytest.raises(ValueError, match=f"{name} of .* segments are"):
                fill_segments(device, replace(good, **{name: wrong}), digests, cells(), main, FIRST)
    with pytest.raises(ValueError, match=f"{ROWS} rows of segments after {FIRST} do not fit {FIRST + ROWS - 1} rows"):
        fill_segments(device, good, digests, cells(), main[:, : FIRST + ROWS - 1].copy(), FIRST)
    for wrong in (main[1:], main.astype(np.int64), main.T.copy().T):
        with pytest.raises(ValueError, match="a trace is"):
            fill_segments(device, good, digests, cells(), wrong, FIRST)
    with pytest.raises(ValueError, match=r"digests of .* segments are"):
        fill_segments(device, good, digests[1:], cells(), main, FIRST)
    with pytest.raises(ValueError, match="cells are"):
        fill_segments(device, good, digests, cells()[:2], main, FIRST)
    with pytest.raises(ValueError, match="numbers of 16 bits"):
        count_halves(device, good, halves[1:])
    with pytest.raises(ValueError, match="counts are"):
        count_cells(device, good, halves.astype(np.int64))
    with pytest.raises(ValueError, match="has words"):
        group = groups()[0]
        segments_of_rows([replace(group, opened=replace(group.opened, words=np.empty((3, 0), dtype=np.uint64)))])
