"""The traces of Keccak-f from the states before calls, against the table's own."""

from typing import Any

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.vm.kernels import count_evens, fill_keccak_f, permuted
from graphprover.vm.tables import keccak_f
from graphprover.vm.tables.keccak_f import EVENS, ROUNDS, WIDTH, WORDS


def states(calls: int) -> np.ndarray:
    """Return states before calls, the first of which is all zeros."""
    found = np.random.default_rng(calls).integers(0, 2**64, (WORDS, calls), dtype=np.uint64)
    found[:, :1] = 0
    return found


def traces(device: Any, calls: int, first: int, last: int, rows: int) -> tuple[Any, Any]:
    """Return the traces of the permutation for some of the calls, and the counts of even numbers, on the device."""
    some, clocks = device.load(states(calls)), device.load(1000 + 7 * np.arange(calls, dtype=np.uint64))
    main = device.arrays.empty((WIDTH, rows), dtype=np.uint64)
    counts = device.arrays.zeros(EVENS, dtype=np.uint64)
    fill_keccak_f(device, some, clocks, first, last, main)
    count_evens(device, some, first, last, rows, counts)
    return main, counts


# Calls in all, the first and the last of a table, its rows.
CASES = ((1, 0, 1, 64), (5, 2, 4, 64), (100, 1, 86, 2048), (90, 0, 0, 64), (200, 20, 190, 4096))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("threads", [1, 3])
def test_traces(case: tuple[int, int, int, int], threads: int) -> None:
    calls, first, last, rows = case
    main, counts = traces(CpuDevice(threads), *case)
    expected = keccak_f.trace(1000 + 7 * np.arange(first, last), states(calls)[:, first:last], rows)
    np.testing.assert_array_equal(main, expected)
    np.testing.assert_array_equal(counts, keccak_f.even_trace([expected])[-1])


@pytest.mark.parametrize("calls", [0, 1, 8, 21, 3000])
def test_permutations(calls: int) -> None:
    np.testing.assert_array_equal(permuted(CpuDevice(2), states(calls)), keccak_f.rounds(states(calls))[-1])


def test_what_does_not_fit_is_refused() -> None:
    device, some = CpuDevice(1), states(4)
    clocks, main, counts = (np.zeros(shape, dtype=np.uint64) for shape in (4, (WIDTH, 64), EVENS))
    for first, last, problem in ((0, 3, "do not fit"), (3, 5, "calls"), (2, 1, "calls")):
        with pytest.raises(ValueError, match=problem):
            fill_keccak_f(device, some, clocks, first, last, main)
        with pytest.raises(ValueError, match=problem):
            count_evens(device, some, first, last, 64, counts)
    for wrong in (
        (some[:24], clocks, main),
        (some[:, ::2], clocks[:2], main),
        (some, clocks[1:], main),
        (some, clocks, main[1:]),
        (some, clocks, main[:, ::2]),
    ):
        with pytest.raises(ValueError, match=r"states are|clocks|a trace of permutations is"):
            fill_keccak_f(device, *wrong[:2], 0, 1, wrong[2])
    with pytest.raises(ValueError, match="counts"):
        count_evens(device, some, 0, 1, 2 * ROUNDS, counts[1:])
    with pytest.raises(ValueError, match="states are"):
        permuted(device, some.astype(np.int64))
