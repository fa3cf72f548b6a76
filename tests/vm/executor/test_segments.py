"""Segments of a window in threads; test_window.py compares their record with the one of a whole run."""

import subprocess
import sys
from typing import Any

import pytest

from graphprover.vm.executor import execute as executor
from graphprover.vm.executor import segments, window
from graphprover.vm.executor.execute import execute
from graphprover.vm.executor.faults import GuestFault
from graphprover.vm.executor.interpreter import PAGE_WORDS
from graphprover.vm.executor.record import INTERVAL
from graphprover.vm.executor.snapshot import restore, snapshot_of
from graphprover.vm.executor.window import record_window, rehearse
from graphprover.vm.program.elf import Image, load_elf
from tests.vm.executor.test_window import GUESTS, RUNS

DATA = RUNS["fib_iterative"]


@pytest.fixture
def image(monkeypatch: pytest.MonkeyPatch) -> Image:
    """Return a guest whose windows have a snapshot every four intervals, and three threads."""
    monkeypatch.setattr(executor, "SLICE", 4 * INTERVAL)
    monkeypatch.setattr(executor, "MOST_SLICES", 1)
    monkeypatch.setattr(window, "worth_sending", lambda size, cycles: True)
    monkeypatch.setattr(window, "recorders", lambda: 3)
    return load_elf((GUESTS / "fib_iterative.elf").read_bytes())


def test_each_segment_begins_with_its_snapshot(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    rehearsal, begins, add = rehearse(image, DATA), list[int](), segments.Segments.add

    def seen(self: segments.Segments, snapshot: Any, begin: int, end: int, more: int = 0) -> None:
        assert snapshot.cycle == INTERVAL * begin
        begins.append(begin)
        add(self, snapshot, begin, end, more)

    monkeypatch.setattr(segments.Segments, "add", seen)
    cycles = range(8 * INTERVAL, 30 * INTERVAL + 5)
    executor.ran.clear()
    record_window(image, DATA, cycles, rehearsal.execution.cycles, rehearsal.snapshots_of(cycles))
    assert begins == [8, 12, 16, 20, 24, 28]
    assert +executor.ran == {"recorded": 23 * INTERVAL}


def test_an_error_of_a_thread_ends_the_window(image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    restore, count = segments.restore, iter(range(9))

    def broken(*arguments: Any) -> None:
        if next(count) == 2:
            raise OSError("no memory for a thread")
        restore(*arguments)

    monkeypatch.setattr(segments, "restore", broken)
    rehearsal = rehearse(image, DATA)
    cycles = range(8 * INTERVAL, 30 * INTERVAL)
    with pytest.raises(OSError, match="no memory for a thread"):
        record_window(image, DATA, cycles, rehearsal.execution.cycles, rehearsal.snapshots_of(cycles))


def test_the_limit_of_cycles(image: Image) -> None:
    rehearsal = rehearse(image, DATA)
    cycles = range(8 * INTERVAL, 30 * INTERVAL)
    with pytest.raises(GuestFault, match="cycle limit") as fault:
        record_window(
            image,
            DATA,
            cycles,
            rehearsal.execution.cycles,
            rehearsal.snapshots_of(cycles),
            max_cycles=20 * INTERVAL + 1,
        )
    with pytest.raises(GuestFault, match="cycle limit") as expected:
        execute(image, DATA, max_cycles=20 * INTERVAL + 1)
    assert str(fault.value) == str(expected.value)


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (8, 4), (16, 6)])
def test_recorders(cores: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "available_threads", lambda: cores)
    assert segments.recorders() == threads


def test_a_run_forgets_what_it_did_behind_a_snapshot() -> None:
    """The pages that a run has allocated after a snapshot are empty when it goes on from there."""
    image, data = load_elf((GUESTS / "quicksort.elf").read_bytes()), RUNS["quicksort"]
    whole = executor.Running(image, data, 1 << 30, 1 << 30)
    whole.run(until=2 * INTERVAL)
    early = snapshot_of(whole)
    whole.run()
    assert whole.pages > len(early.owners)
    expected = whole.execution(None)
    restore(whole, early)
    assert whole.pages == len(early.owners) and not whole.store.pool[PAGE_WORDS * (whole.pages + 1) :].any()
    whole.run()
    again = whole.execution(None)
    assert (again.output, again.cycles) == (expected.output, expected.cycles)


FEW_ADDRESSES = """
import resource, sys
from pathlib import Path
from graphprover.device.host_memory import addresses_left
from graphprover.vm.executor import execute, window
from graphprover.vm.program.elf import load_elf
execute.SLICE, execute.MOST_SLICES = 4096, 1
execute.prepare(record=True)
window.worth_sending, window.recorders = lambda size, cycles: True, lambda: 3
image, data = load_elf(Path(sys.argv[1]).read_bytes()), bytes([0, 32, 0, 0, 0, 0, 0, 0])
rehearsal = window.rehearse(image, data, max_memory=1 << 24)
limit = 10**12
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
mapped = limit - addresses_left()
resource.setrlimit(resource.RLIMIT_AS, (mapped + (2 << 30),) * 2)
cycles = range(8 * 1024, 30 * 1024)
print(window.record_window(image, data, cycles, rehearsal.execution.cycles, rehearsal.snapshots_of(cycles)).nbytes > 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell what is mapped")
def test_threads_share_a_limit_of_addresses() -> None:
    command = [sys.executable, "-c", FEW_ADDRESSES, str(GUESTS / "fib_iterative.elf")]
    run = subprocess.run(command, cwd=GUESTS.parents[1], capture_output=True, text=True, check=False)
    assert run.stdout == "True\n", run.stderr
