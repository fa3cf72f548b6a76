"""The traces of Keccak-f's tables from the states before calls, against traces on arrays of words."""

from typing import Any

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.vm.accelerators.keccak import classes as keccak_classes
from graphprover.vm.accelerators.keccak import limbs as keccak_limbs
from graphprover.vm.accelerators.keccak import permutation as keccak_f
from graphprover.vm.accelerators.keccak import planes as keccak_planes
from graphprover.vm.accelerators.keccak import rounds as keccak_rounds
from graphprover.vm.accelerators.keccak import wide_traces
from graphprover.vm.accelerators.keccak.digits import NUMBERS, Lookup
from graphprover.vm.accelerators.keccak.kernels import count_keccak_digits, fill_permutations, permuted
from graphprover.vm.accelerators.keccak.permutation import WORDS
from graphprover.vm.accelerators.keccak.wide_traces import counted
from tests.vm.accelerators import narrow_traces

WIDE = (
    ("keccak_rounds", keccak_rounds, wide_traces.rounds_trace),
    ("keccak_planes", keccak_planes, wide_traces.planes_trace),
)
NARROW = (
    ("keccak_classes", keccak_classes, narrow_traces.classes_trace),
    ("keccak_limbs", keccak_limbs, narrow_traces.limbs_trace),
)
FILLS = {False: WIDE, True: NARROW}


def states(calls: int) -> np.ndarray:
    """Return states before calls, the first of which is all zeros."""
    found = np.random.default_rng(calls).integers(0, 2**64, (WORDS, calls), dtype=np.uint64)
    found[:, :1] = 0
    return found


def traces(device: Any, narrow: bool, calls: int, first: int, last: int, rows: int) -> list[Any]:
    """Return the traces of some of the calls, and the counts of all lookups, on the device."""
    some, clocks = device.load(states(calls)), device.load(1000 + 7 * np.arange(calls, dtype=np.uint64))
    found = [device.arrays.empty((table.WIDTH, rows), dtype=np.uint64) for _, table, _ in FILLS[narrow]]
    for main, (name, *_) in zip(found, FILLS[narrow], strict=True):
        main[:] = 7  # what was there before does not matter
        fill_permutations(device, name, some, clocks, first, last, main)
    counts = device.arrays.zeros((len(Lookup), NUMBERS), dtype=np.uint64)
    count_keccak_digits(device, some, counts, narrow)
    return [*found, counts]


# Whether the tables are narrow, calls in all, the first and the last of a table, its rows.
CASES = (
    (False, 1, 0, 1, 64), (False, 5, 2, 4, 64), (False, 100, 1, 81, 2048), (False, 90, 0, 0, 64),
    (False, 200, 20, 183, 4096), (False, 40, 3, 40, 1024),
    (True, 1, 0, 1, 512), (True, 5, 2, 4, 1024), (True, 30, 1, 21, 8192), (True, 90, 0, 0, 64),
    (True, 12, 3, 12, 4096),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("threads", [1, 3])
def test_traces(case: tuple[bool, int, int, int, int], threads: int) -> None:
    narrow, calls, first, last, rows = case
    *mains, counts = traces(CpuDevice(threads), *case)
    words_of: Any = narrow_traces.steps_of if narrow else wide_traces.blocks_of
    words = words_of(states(calls)[:, first:last])
    for main, (_, _, trace) in zip(mains, FILLS[narrow], strict=True):
        np.testing.assert_array_equal(main, trace(1000 + 7 * np.arange(first, last), words, rows))
    asked: Any = narrow_traces.lookups if narrow else wide_traces.lookups
    expected = counted(asked(words_of(states(calls))))[-len(Lookup) :]
    np.testing.assert_array_equal(counts, expected[:, :NUMBERS])


@pytest.mark.parametrize(("narrow", "of_call"), [(False, 24 * (5 + 80 + 400)), (True, 25 * (16 + 80 + 400))])
def test_counts_are_added(narrow: bool, of_call: int) -> None:
    device, some = CpuDevice(2), states(30)
    once, twice = (np.zeros((len(Lookup), NUMBERS), dtype=np.uint64) for _ in range(2))
    count_keccak_digits(device, some, once, narrow)
    for _ in range(2):
        count_keccak_digits(device, some, twice, narrow)
    np.testing.assert_array_equal(twice, 2 * once)
    assert once.sum() == 30 * (of_call + 2 * 400)


@pytest.mark.parametrize("calls", [0, 1, 8, 21, 3000])
def test_permutations(calls: int) -> None:
    np.testing.assert_array_equal(permuted(CpuDevice(2), states(calls)), keccak_f.rounds(states(calls))[-1])


@pytest.mark.parametrize("which", range(len(WIDE + NARROW)))
def test_what_does_not_fit_is_refused(which: int) -> None:
    device, some = CpuDevice(1), states(9)
    name, table, _ = (WIDE + NARROW)[which]
    rows = 1 << (6 * table.ROWS).bit_length() - 1
    clocks, main = np.zeros(9, dtype=np.uint64), np.zeros((table.WIDTH, rows), dtype=np.uint64)
    for first, last, problem in ((0, 7, "do not fit"), (3, 10, "calls"), (2, 1, "calls")):
        with pytest.raises(ValueError, match=problem):
            fill_permutations(device, name, some, clocks, first, last, main)
    for wrong in (
        (some[:24], clocks, main),
        (some[:, ::2], clocks[:5], main),
        (some, clocks[1:], main),
        (some, clocks, main[1:]),
        (some, clocks, main[:, ::2]),
    ):
        with pytest.raises(ValueError, match=r"states are|clocks|a trace is"):
            fill_permutations(device, name, *wrong[:2], 0, 1, wrong[2])


def test_what_does_not_count_is_refused() -> None:
    device, some, counts = CpuDevice(1), states(4), np.zeros((len(Lookup), NUMBERS), dtype=np.uint64)
    for wrong in (counts[1:], counts[:, 1:], counts.astype(np.int64)):
        with pytest.raises(ValueError, match="counts"):
            count_keccak_digits(device, some, wrong, False)
    with pytest.raises(ValueError, match="states are"):
        count_keccak_digits(device, some[:, ::2], counts, True)
    with pytest.raises(ValueError, match="states are"):
        permuted(device, some.astype(np.int64))
