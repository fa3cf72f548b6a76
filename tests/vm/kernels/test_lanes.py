"""Cells of lanes against their definition."""

from dataclasses import replace

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.vm.clock import FAR, SLOT_A, SLOT_B, SLOT_D, clock_of, time_of
from graphprover.vm.kernels import fill_lanes
from graphprover.vm.kernels.lanes import Cell, Kind, Lanes
from tests.naive_device import NaiveDevice

CYCLES, ENTRIES = 70_000, 50


def case(seed: int, count: int, start: int = 0) -> tuple[np.ndarray, list[Cell], Lanes]:
    """Every kind of cell, in a random record: a target (cells, count), the cells, and what the lanes execute.

    ``start``: where the record begins in the run.
    """
    rng = np.random.default_rng(seed)
    cycles = np.sort(rng.choice(CYCLES, count, replace=False)).astype(np.uint32)
    held = [np.zeros(1, dtype=np.uint64) for _ in range(2)]
    if start:
        held = [np.array([0, 5, time_of(clock_of(start)) - 1], np.uint64), np.array([0, 2**63, 2**64 - 1], np.uint64)]
    lanes = Lanes(
        cycles,
        rng.integers(0, ENTRIES, count, dtype=np.uint32),
        [rng.integers(0, 2**64, CYCLES, dtype=np.uint64) for _ in range(3)],
        clock_of(start),
        held,
    )
    values = rng.integers(0, 2**64, CYCLES, dtype=np.uint64)
    program = rng.integers(0, 2**63, ENTRIES, dtype=np.uint64)
    # Accesses to registers before each cycle, some at none; times around the border of what is far.
    cycle = (rng.random(CYCLES) * np.arange(CYCLES)).astype(np.uint64)
    accesses = time_of(clock_of(start + cycle), rng.choice(np.array([SLOT_A, SLOT_B, SLOT_D], np.uint64), CYCLES))
    earlier = rng.random(CYCLES) < 0.2
    accesses[earlier] = rng.choice(held[0], earlier.sum())
    now = time_of(clock_of(start + np.arange(CYCLES, dtype=np.uint64)))
    times = np.maximum(now, FAR + 4) - rng.integers(FAR - 4, FAR + 4, CYCLES, dtype=np.uint64)
    sources = {Kind.ENTRY: program, Kind.LOW: values, Kind.HIGH: values, Kind.RECENT: times}
    sources |= {Kind.OLD_LOW: accesses, Kind.OLD_HIGH: accesses}
    target = np.zeros((len(Kind) + 1, count), dtype=np.uint64)
    cells = [Cell(target[kind], kind, sources.get(kind)) for kind in Kind]
    return target, [*cells, Cell(target[-1], Kind.RECENT, sources[Kind.RECENT], 3)], lanes


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
        bumped = (target[Kind.RECENT] + np.uint64(1)) % np.uint64(4) == 0
        assert bumped.any() and not bumped.all() and (target[Kind.OLD_LOW] == 0).any()


def test_cells_of_other_lanes() -> None:
    _, cells, lanes = case(1, 64)
    for wrong in (
        replace(cells[0], target=np.zeros(63, np.uint64)),
        replace(cells[0], target=np.zeros(128, np.uint64)[::2]),
    ):
        with pytest.raises(ValueError, match="a cell"):
            fill_lanes(CpuDevice(1), [wrong], lanes)
