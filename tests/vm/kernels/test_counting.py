"""Counts of looked-up numbers against their definition."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.field import P, inv
from graphprover.vm.kernels import count_keys
from graphprover.vm.kernels.keys import Keys
from tests.naive_device import NaiveDevice

HALF = 1 << 16


def case(seed: int, rows: int) -> tuple[np.ndarray, Keys]:
    """Return a trace and keys: differences, halves of words, constants, flags and keys that are no numbers."""
    rng = np.random.default_rng(seed)
    low = rng.integers(0, HALF, rows, dtype=np.uint64)
    high = rng.integers(0, HALF, rows, dtype=np.uint64)
    flag = rng.integers(0, 2, rows, dtype=np.uint64)
    main = np.stack([low, low + HALF * high, flag, rng.integers(0, P, rows, dtype=np.uint64)])
    terms = [(0, 1), (1, inv(HALF)), (0, P - inv(HALF)), (0, 1), (1, P - 1), (3, 5)]
    keys = [(1, 0, 4, 0, HALF), (3, 0, 2, HALF, HALF), (5, 3, 2, 0, HALF), (5, 7, 2, 5, 64), (6, P - 1, 4, 9, HALF)]
    keys += [(6, 9, 4, 0, HALF), (6, 9 + (1 << 11), 2, 0, HALF)]  # constants: every row asks for the same
    return main, Keys(np.array(keys, dtype=np.uint64), np.array(terms, dtype=np.uint64))


def counted(device: Any, main: np.ndarray, keys: Keys) -> np.ndarray:
    """Return the counts of a device that start from 1."""
    counts = np.ones(2 * HALF, dtype=np.uint64)
    count_keys(device, [(main, keys)], counts)
    return counts


@pytest.mark.parametrize("rows", [1, 8, 13, 64, 1030, 2048])
@pytest.mark.parametrize("threads", [1, 3])
def test_counts(rows: int, threads: int) -> None:
    main, keys = case(rows, rows)
    counts = counted(CpuDevice(threads), main, keys)
    np.testing.assert_array_equal(counts, counted(NaiveDevice(), main, keys))
    assert rows < 64 or 2 * rows < counts.sum() - 2 * HALF < 6 * rows


def shared(seed: int, rows: int) -> tuple[np.ndarray, Keys]:
    """Return the rows of `case` among the rows and columns of a larger table, in another order of its columns."""
    main, keys = case(seed, rows)
    table, columns = np.random.default_rng(seed).integers(0, P, (9, rows + 8), dtype=np.uint64), (7, 2, 4, 0)
    table[columns, 3 : 3 + rows] = main
    return table[:, 3 : 3 + rows], keys.within(columns, len(table))


@pytest.mark.parametrize("rows", [1, 13, 1030])
def test_rows_of_a_shared_table_count_alike(rows: int) -> None:
    expected = counted(NaiveDevice(), *case(rows, rows))
    np.testing.assert_array_equal(counted(CpuDevice(2), *shared(rows, rows)), expected)


def test_counts_of_several_traces_add_up() -> None:
    cases = [case(seed, rows) for seed, rows in ((1, 64), (2, 8), (3, 2048))]
    counts = np.ones(2 * HALF, dtype=np.uint64)
    count_keys(CpuDevice(2), cases, counts)
    alone = [counted(CpuDevice(1), *one) - np.uint64(1) for one in cases]
    np.testing.assert_array_equal(counts, np.uint64(1) + sum(alone))


def test_pieces_that_run_side_by_side_add_up() -> None:
    """Let two parts wait for each other, so that neither can have the other's counts."""
    main, keys = case(3, 4096)
    device = CpuDevice(2)
    split = device.split_rows
    meeting = threading.Barrier(2)

    def split_rows(function: Callable[[int, int], None], rows: int) -> None:
        def piece(first: int, last: int) -> None:
            meeting.wait(timeout=600)
            function(first, last)

        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(piece, first, first + rows // 2) for first in (0, rows // 2)]:
                done.result()

    device.split_rows = split_rows  # type: ignore[method-assign]
    np.testing.assert_array_equal(counted(device, main, keys), counted(CpuDevice(1), main, keys))
    device.split_rows = split  # type: ignore[method-assign]
    np.testing.assert_array_equal(counted(device, main, keys), counted(CpuDevice(1), main, keys))


def test_keys_that_make_no_sense() -> None:
    main, keys = case(4, 64)
    counts = np.zeros(2 * HALF, dtype=np.uint64)
    for place, value in (((0, 0), 7), ((4, 0), 7), ((1, 2), 5), ((1, 3), HALF + 1), ((1, 3), 2**64 - 1)):
        wrong = Keys(keys.keys.copy(), keys.terms)
        wrong.keys[place] = value
        with pytest.raises(ValueError, match="a key"):
            count_keys(CpuDevice(1), [(main, wrong)], counts)
    with pytest.raises(ValueError, match="a key"):
        count_keys(CpuDevice(1), [(main[:3], keys)], counts)
    assert not counts.any()
