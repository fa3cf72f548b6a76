"""Counts of looked-up numbers against their definition."""

from typing import Any

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.field import P, inv
from graphprover.kernels.cpu import counting
from tests.naive_device import NaiveDevice

HALF = 1 << 16


def case(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A trace, keys and terms: differences, halves of words, constants, flags and keys that are no numbers."""
    rng = np.random.default_rng(seed)
    low = rng.integers(0, HALF, rows, dtype=np.uint64)
    high = rng.integers(0, HALF, rows, dtype=np.uint64)
    flag = rng.integers(0, 2, rows, dtype=np.uint64)
    main = np.stack([low, low + HALF * high, flag, rng.integers(0, P, rows, dtype=np.uint64)])
    terms = [(0, 1), (1, inv(HALF)), (0, P - inv(HALF)), (0, 1), (1, P - 1), (3, 5)]
    keys = [(1, 0, 4, 0, HALF), (3, 0, 2, HALF, HALF), (5, 3, 2, 0, HALF), (5, 7, 2, 5, 64), (6, P - 1, 4, 9, HALF)]
    return main, np.array(keys, dtype=np.uint64), np.array(terms, dtype=np.uint64)


def counted(device: Any, main: np.ndarray, keys: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """What a device adds to counts of 1."""
    counts = np.ones(2 * HALF, dtype=np.uint64)
    device.count_keys(main, keys, terms, counts)
    return counts


@pytest.mark.parametrize("rows", [8, 64, 2048])
@pytest.mark.parametrize("threads", [1, 3])
def test_counts(rows: int, threads: int) -> None:
    main, keys, terms = case(rows, rows)
    counts = counted(CpuDevice(threads), main, keys, terms)
    np.testing.assert_array_equal(counts, counted(NaiveDevice(), main, keys, terms))
    assert rows < counts.sum() - 2 * HALF < 4 * rows


def test_pieces_of_a_trace_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphprover.device import cpu

    main, keys, terms = case(3, 4096)
    whole = counted(CpuDevice(1), main, keys, terms)
    monkeypatch.setattr(cpu, "COUNTED", 1 << 10)
    np.testing.assert_array_equal(counted(CpuDevice(2), main, keys, terms), whole)


def test_keys_that_make_no_sense() -> None:
    main, keys, terms = case(4, 64)
    counts = np.zeros(2 * HALF, dtype=np.uint64)
    for place, value in (((0, 0), 7), ((4, 0), 7), ((1, 2), 5), ((1, 3), HALF + 1)):
        wrong = keys.copy()
        wrong[place] = value
        with pytest.raises(ValueError, match="a key"):
            counting.count_keys(main, wrong, terms, counts, 0, 64)
    with pytest.raises(ValueError, match="rows"):
        counting.count_keys(main, keys, terms, counts, 0, 72)
    assert not counts.any()
