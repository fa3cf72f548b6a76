"""Cells of lanes against their definition."""

from dataclasses import replace

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.vm.clock import FAR, clock_of, time_of
from graphprover.vm.kernels import fill_lanes
from graphprover.vm.kernels.lanes import Cell, Kind, Lanes
from tests.naive_device import NaiveDevice

CYCLES, ENTRIES = 70_000, 50


def case(seed: int, count: int, start: int = 0) -> tuple[np.ndarray, list[Cell], Lanes]:
    """Every kind of cell, of random sources: a target (cells, count), the cells, and what the lanes execute.

    ``start``: the first cycle in the run.
    """
    rng = np.random.default_rng(seed)
    cycles = rng.permutation(CYCLES)[:count].astype(np.uint32)
    words = rng.integers(0, 2**64, CYCLES, dtype=np.uint64)
    program = rng.integers(0, 2**63, ENTRIES, dtype=np.uint64)
    # Times around the border of what is far.
    now = time_of(clock_of(start + cycles.astype(np.uint64)))
    times = np.maximum(now, FAR + 4) - rng.integers(FAR - 4, FAR + 4, count, dtype=np.uint64)
    clocks = (times // 4 * (rng.random(count) < 0.9)).astype(np.uint32)
    there = rng.permutation(count).astype(np.uint32)
    elsewhere = np.empty_like(clocks)
    elsewhere[there] = clocks
    of_program = rng.integers(0, ENTRIES, count, dtype=np.uint32)
    given = [
        (Kind.ONE,), (Kind.CLOCK, cycles), (Kind.COPY, program, of_program), (Kind.COPY, words[:count].copy()),
        (Kind.LOW, words[:count].copy()), (Kind.LOW, words, there), (Kind.HIGH, words[:count].copy()),
        (Kind.HIGH, words, there), (Kind.RECENT, times), (Kind.RECENT, times, None, 3),
        (Kind.RECENT_CLOCK, elsewhere, there, 2), (Kind.RECENT_CLOCK, clocks, None, 2),
    ]  # fmt: skip
    assert {kind for kind, *_ in given} == set(Kind)
    target = np.zeros((len(given), count), dtype=np.uint64)
    return target, [Cell(row, *what) for row, what in zip(target, given, strict=True)], Lanes(cycles, clock_of(start))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("count", [1, 64, 9_000])
@pytest.mark.parametrize("start", [0, 1_000_000])
def test_cells(start: int, count: int, threads: int) -> None:
    expected, cells, lanes = case(count, count, start)
    fill_lanes(NaiveDevice(), cells, lanes)
    target, cells, lanes = case(count, count, start)
    fill_lanes(CpuDevice(threads), cells, lanes)
    np.testing.assert_array_equal(target, expected)
    if count > 1000:
        for row in (8, 9, 10, 11):
            bumped = target[row] == time_of(clock_of(start + lanes.cycles.astype(np.uint64))) + cells[row].slot - 1
            assert bumped.any() and not bumped.all()


def test_cells_of_other_lanes() -> None:
    _, cells, lanes = case(1, 64)
    for wrong in (
        replace(cells[0], target=np.zeros(63, np.uint64)),
        replace(cells[0], target=np.zeros(128, np.uint64)[::2]),
        replace(cells[3], source=np.zeros(64, np.uint32)),
        replace(cells[3], at=np.zeros(63, np.uint32)),
        replace(cells[3], at=np.zeros(64, np.int64)),
    ):
        with pytest.raises(ValueError, match=r"a cell|a source of|places"):
            fill_lanes(CpuDevice(1), [wrong], lanes)
