"""The traces that kernels fill, against traces in Python integers."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.recursion.kernels import count_xors, fill_blake3
from graphprover.recursion.kernels.compressions import Compressions
from graphprover.recursion.tables.blake3 import WIDTH, CallUse
from graphprover.recursion.tables.fixed import ROWS as PAIRS
from graphprover.recursion.tables.fixed import XORS
from graphprover.statement.check import check
from tests.recursion.machines import height
from tests.recursion.naive import IDLE, Call, blake3_trace, compressions, message_calls, xor_counts
from tests.recursion.stating import claims_of, statement


def random_calls(count: int) -> list[Call]:
    """Return calls of any words and uses; some words are 0 and 2^32 - 1."""
    rng = np.random.default_rng(count)
    words = rng.integers(0, 2**32, (count, 28), dtype=np.uint64)
    kinds = rng.integers(0, 8, words.shape)
    words = np.where(kinds == 0, 0, np.where(kinds == 1, 2**32 - 1, words))
    uses = rng.integers(0, 8, count)
    return [
        Call(row[:8], row[8:24], row[24:], CallUse(use)) for row, use in zip(words.tolist(), uses.tolist(), strict=True)
    ]


# Calls and rows: none, full tables, one idle call, many of them, a height that is no power of two.
CASES = (
    (0, 16),
    (0, 64),
    (1, 16),
    (1, 32),
    (3, 64),
    (7, 112),
    (8, 128),
    (13, 1024),
    (64, 1024),
    (65, 2048),
    (301, 8192),
)


@cache
def expected(count: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the trace of `blake3` and its counts of xors."""
    main = blake3_trace(random_calls(count), rows)
    return main, xor_counts(main)


def filled(device: Any, calls: Sequence[Call], rows: int) -> tuple[Any, Any]:
    """Return the traces on a device: the first replaces other words, the second adds to counts of 5."""
    there = Compressions(*map(device.load, vars(compressions(calls)).values()))
    main = device.arrays.empty((WIDTH, rows), dtype=np.uint64)
    main[:] = 7
    counts = device.arrays.zeros((XORS, PAIRS), dtype=np.uint64)
    counts[:] = 5
    fill_blake3(device, there, main)
    count_xors(device, there, rows, counts)
    return main, counts


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("threads", [1, 3])
def test_traces(case: tuple[int, int], threads: int) -> None:
    main, counts = filled(CpuDevice(threads), random_calls(case[0]), case[1])
    right, right_counts = expected(*case)
    np.testing.assert_array_equal(main, right)
    np.testing.assert_array_equal(counts - np.uint64(5), right_counts)


def test_more_calls_than_a_piece() -> None:
    calls, rows = random_calls(100) * 41, 1 << 17  # 4,100 calls and 4,092 idle ones
    main, counts = filled(CpuDevice(2), calls, rows)
    period = blake3_trace(calls[:100], 1600)
    number = 3
    for i in range(41):
        part = main[:, 1600 * i : 1600 * (i + 1)].copy()
        part[number] -= np.uint64(100 * i)
        np.testing.assert_array_equal(part, period)
    idle = blake3_trace([], 16)
    for first in (65_600, 90_000, rows - 16):
        part = main[:, first : first + 16].copy()
        assert (part[number] == first // 16).all()
        part[number] = 0
        np.testing.assert_array_equal(part, idle)
    np.testing.assert_array_equal(counts - np.uint64(5), 41 * xor_counts(period) + 4092 * xor_counts(idle))


def test_check_finds_nothing_in_filled_traces() -> None:
    calls = [call for size in range(1, 301, 23) for call in message_calls(bytes(range(size % 256)) * 2)]
    rows = height(len(calls), 16)
    main, counts = filled(CpuDevice(1), calls, rows)
    made = statement(claims_of(calls), main=main)
    assert made.tables[1].main is not None
    np.testing.assert_array_equal(made.tables[1].main[:XORS], counts - np.uint64(5))
    assert check(made) == []


def test_what_does_not_fit_is_refused() -> None:
    device, calls = CpuDevice(1), random_calls(5)
    good = compressions(calls)
    main, counts = np.zeros((WIDTH, 80), dtype=np.uint64), np.zeros((XORS, PAIRS), dtype=np.uint64)
    fill_blake3(device, good, main)
    count_xors(device, good, 80, counts)
    for wrong in (main[1:], main[:, ::2], main.astype(np.int64), main[:, :64], np.zeros((WIDTH, 88), np.uint64)):
        with pytest.raises(ValueError, match=r"a trace|do not fit"):
            fill_blake3(device, good, wrong)
    for counted in (counts[1:], counts[:, 1:], counts.astype(np.int64)):
        with pytest.raises(ValueError, match="counts"):
            count_xors(device, good, 80, counted)
    for rows in (64, 72, 0, -16, 2**33):
        with pytest.raises(ValueError, match=r"a trace|do not fit"):
            count_xors(device, good, rows, counts)
    arrays = vars(good)
    for name, array in arrays.items():
        for wrong in (array[1:], array.astype(np.uint64), array[::-1]):
            with pytest.raises(ValueError, match="calls are"):
                fill_blake3(device, Compressions(**arrays | {name: wrong}), main)


def test_idle_calls_are_compressions_of_zeros() -> None:
    main, _ = filled(CpuDevice(1), [], 16)
    np.testing.assert_array_equal(main, blake3_trace([IDLE], 16))
