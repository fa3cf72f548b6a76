"""Windows of a run, recorded after a plain run or from a snapshot, against the record of the whole run."""

from pathlib import Path

import numpy as np
import pytest

from graphprover.vm.executor import execute as executor
from graphprover.vm.executor import window
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.executor.faults import GuestFault
from graphprover.vm.executor.record import INTERVAL
from graphprover.vm.executor.segments import LastAccesses
from graphprover.vm.executor.window import Before, Rehearsal, pass_window, record_window, rehearse
from graphprover.vm.program.elf import Image, load_elf
from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
from graphprover.vm.traces.run import _arrays

GUESTS = Path(__file__).parents[3] / "examples/guests"
RUNS = {
    "fib_iterative": bytes([200, 40, *6 * [0]]),
    "quicksort": np.random.default_rng(1).integers(0, 1 << 62, 500, dtype=np.uint64).tobytes(),
    "keccak": bytes(range(256)) * 400,
    "json": b'{"a": [1, 2, {"b": "c"}], "d": 4.5}' * 20,
}


@pytest.fixture(params=RUNS)
def run(request: pytest.FixtureRequest) -> tuple[Image, bytes, Execution]:
    image = load_elf((GUESTS / f"{request.param}.elf").read_bytes())
    data = RUNS[request.param]
    return image, data, execute(image, data, record=True)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take snapshots every 1,000 cycles, however long they take to send."""
    monkeypatch.setattr(executor, "SLICE", 1000)
    monkeypatch.setattr(executor, "MOST_SLICES", 1)
    monkeypatch.setattr(window, "worth_sending", lambda size, cycles: True)


def check_windows(image: Image, data: bytes, whole: Execution, rehearsal: Rehearsal, windows: int) -> None:
    """Check that windows from the snapshots of a rehearsal have the records of the whole run, and its final state."""
    expected = whole.record
    assert expected is not None
    last = LastAccesses.none(rehearsal.words)
    for cycles in cycle_ranges_of(whole.cycles, windows):
        recorded = record_window(image, data, cycles, whole.cycles, rehearsal.snapshots_of(cycles))
        before = pass_window(last, recorded.accesses)
        for _ in range(2):  # the times may be filled in again
            record = recorded.record(whole.cycles, before, None)
        pairs = zip(_arrays(record, cycles), _arrays(expected, cycles), strict=True)
        assert all(np.array_equal(own, of_whole) for own, of_whole in pairs)
    final = rehearsal.final_state(last)
    for part in ("registers", "memory"):
        own, of_whole = getattr(final, part), getattr(expected, part)
        assert all(np.array_equal(getattr(own, name), getattr(of_whole, name)) for name in own.__annotations__)


@pytest.mark.parametrize("windows", [1, 2, 5])
def test_windows_from_the_start(run: tuple[Image, bytes, Execution], windows: int) -> None:
    image, data, whole = run
    rehearsal = rehearse(image, data)
    assert (rehearsal.execution.output, rehearsal.execution.cycles) == (whole.output, whole.cycles)
    check_windows(image, data, whole, rehearsal, windows)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("windows", [2, 5])
@pytest.mark.parametrize("threads", [1, 3])
def test_windows_from_snapshots(
    run: tuple[Image, bytes, Execution], windows: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "recorders", lambda: threads)
    image, data, whole = run
    rehearsal = rehearse(image, data)
    assert 0 < len(rehearsal.snapshots) <= window.MOST_SNAPSHOTS
    check_windows(image, data, whole, rehearsal, windows)


@pytest.mark.usefixtures("often")
def test_snapshots_are_spread_over_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    image = load_elf((GUESTS / "fib_iterative.elf").read_bytes())
    data = bytes([0, 100, *6 * [0]])
    cycles = execute(image, data).cycles
    rehearsal = rehearse(image, data)
    assert 12 <= len(rehearsal.snapshots) <= window.MOST_SNAPSHOTS
    for start in range(0, cycles, 999):
        (found, *_) = (*rehearsal.snapshots_of(range(start, start + 1)), None)
        assert start - (found.cycle if found else 0) < cycles / 8 + INTERVAL
    monkeypatch.setattr(window, "MOST_SNAPSHOT_BYTES", 3 * rehearsal.snapshots[0].nbytes)
    assert len(rehearse(image, data).snapshots) <= 3


def test_each_cycle_is_recorded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain run is one run, and from snapshots windows repeat little of it."""
    monkeypatch.setattr(executor, "MOST_SLICES", 1)
    image = load_elf((GUESTS / "fib_iterative.elf").read_bytes())
    rehearsal = rehearse(image, bytes([0, 0, 32, *5 * [0]]))
    cycles, windows = rehearsal.execution.cycles, 4
    executor.ran.clear()
    for some in cycle_ranges_of(cycles, windows):
        record_window(image, bytes([0, 0, 32, *5 * [0]]), some, cycles, rehearsal.snapshots_of(some))
    assert cycles <= executor.ran["recorded"] <= cycles + windows * INTERVAL
    assert executor.ran["plain"] <= windows * (cycles // (window.MOST_SNAPSHOTS // 2) + executor.SLICE)


def test_a_snapshot_is_sent_if_it_has_fewer_bytes_than_cycles() -> None:
    assert window.worth_sending(999, 1000) and not window.worth_sending(1000, 1000)


def test_a_snapshot_that_exceeds_the_memory_limit() -> None:
    image = load_elf((GUESTS / "fib_iterative.elf").read_bytes())
    data = bytes([0, 0, 32, *5 * [0]])
    rehearsal = rehearse(image, data)
    start, stop = rehearsal.execution.cycles // 2, rehearsal.execution.cycles
    with pytest.raises(GuestFault, match=r"memory limit \(8,192 bytes\)"):
        record_window(
            image, data, range(start, stop), stop, rehearsal.snapshots_of(range(start, stop)), max_memory=1 << 13
        )


def test_a_window_of_another_run() -> None:
    image = load_elf((GUESTS / "fib_iterative.elf").read_bytes())
    with pytest.raises(ValueError, match="a run of 104 cycles has no window from cycle 2,048 on"):
        record_window(image, bytes([2] + 7 * [0]), range(2048, 4096), 8192)
    recorded = record_window(image, bytes([0, 32, *6 * [0]]), range(2048), 4096)
    other = Before(recorded.accesses.times, recorded.accesses.registers)
    with pytest.raises(ValueError, match=r"times before a window that asks for \d"):
        recorded.record(4096, other, None)
