"""A guest's run that workers share: each records some windows of it, and proves their shards.

The client runs the guest once, without a record. A worker gets a `RunWindow`, and records it. The client fills in when
values were last accessed before each window: a `TimedWindow`, whose tables the worker lays out. A `RunShard` has the
shapes of all tables, on which each shard depends. Each of the three can be made from the beginning by any worker.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from graphprover.device import Device
from graphprover.protocol.level import Level
from graphprover.statement.shards import ShardedStatement
from graphprover.vm.executor.segments import LastAccesses
from graphprover.vm.executor.snapshot import Snapshot
from graphprover.vm.executor.window import (
    Accesses,
    Before,
    FinalState,
    Rehearsal,
    Window,
    pass_window,
)
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.run_statement import Numbered, Stated, check_stated, stated_of, tables_of_range


class JobOfGuest(Protocol):
    """A job of a guest (`graphprover.jobs.job.Job`)."""

    @property
    def machine(self) -> Machine:
        """The machine with the guest's program."""

    @property
    def program_label(self) -> str:
        """The label of the guest's proofs."""

    def layout_rate(self) -> int | None:
        """Return the rate for which the run is laid out in tables."""

    def level_of(self, statement: ShardedStatement) -> Level:
        """Return the level of the proof of a statement about the run, which has the shapes of all tables."""

    def record_window(self, cycles: range, total: int, snapshots: Sequence[Snapshot], device: Device | None) -> Window:
        """Record a window of the run."""


Shape = tuple[int, tuple[int, int]]  # a table's number, and the columns and rows of its trace


@dataclass(frozen=True, eq=False)
class RunWindow:
    """A window of a job's run."""

    job: JobOfGuest
    cycles: range
    total: int  # cycles of the run
    snapshots: tuple[Snapshot, ...]  # to go on from, see `graphprover.vm.executor.window.record_window`

    def record(self, device: Device | None) -> Window:
        """Run the guest up to the window, and record it; ``device``: of the proof, whose kernels may be compiled."""
        return self.job.record_window(self.cycles, self.total, self.snapshots, device)


@dataclass(frozen=True, eq=False)
class TimedWindow:
    """A window, and the values that depend on the rest of the run."""

    window: RunWindow
    shards: int
    stated: Stated
    before: Before
    state: FinalState | None  # of the first window

    def tables(self, device: Device, recorded: Window | None = None) -> list[Numbered]:
        """Return the tables of the window with their trace tasks.

        Args:
            device: Replays the window.
            recorded: The window, if this process has recorded it.
        """
        of = self.window
        record = (recorded or of.record(device)).record(of.total, self.before, self.state)
        return tables_of_range(
            of.job.machine, record, of.cycles, self.stated, shards=self.shards, device=device, rate=of.job.layout_rate()
        )


@dataclass(frozen=True, eq=False)
class RunShard:
    """The shard of a window, and the shapes of all tables of the statement."""

    job: JobOfGuest
    index: int
    stated: Stated
    shapes: Sequence[Sequence[Shape]]  # of each shard, without heads and the boundary
    own: TimedWindow | None  # None in a message to the process that has laid out its tables

    @property
    def without_window(self) -> "RunShard":
        """The same for the process that has laid out the window's tables."""
        return replace(self, own=None)


def shapes_of(tables: Sequence[Numbered]) -> tuple[Shape, ...]:
    """Return the shapes of a window's tables."""
    return tuple((int(number), trace_task.shape) for number, trace_task in tables)


class SharedRun:
    """A job's run on the client, which workers record in windows, one a shard."""

    def __init__(
        self, job: JobOfGuest, rehearsal: Rehearsal, cycle_ranges: Sequence[range], *, commit_input: bool
    ) -> None:
        """Begin after the run without a record.

        Args:
            job: The job.
            rehearsal: The run.
            cycle_ranges: The windows.
            commit_input: Whether the proof states the input.

        Raises:
            Unprovable: For an output or a stated input that is too long.
        """
        check_stated(rehearsal.execution, commit_input=commit_input)
        self._rehearsal: Rehearsal | None = rehearsal
        self._last, self._before = LastAccesses.none(rehearsal.words), list[Before]()
        self._waiting: dict[int, Accesses] = {}  # by index, until the earlier windows have come
        self._commit_input = commit_input
        self.execution = rehearsal.execution
        self.words = rehearsal.words  # the number of places for words, to which `Accesses` refer
        total = rehearsal.execution.cycles
        self.windows = [RunWindow(job, cycles, total, rehearsal.snapshots_of(cycles)) for cycles in cycle_ranges]

    def recorded(self, index: int, accesses: Accesses) -> None:
        """Take the accesses of a recorded window; the windows come in any order."""
        self._waiting[index] = accesses
        while (found := self._waiting.pop(len(self._before), None)) is not None:
            self._before.append(pass_window(self._last, found))

    def timed(self) -> list[TimedWindow]:
        """Return all windows with the times before them, once all are recorded, and forget the run."""
        assert self._rehearsal and len(self._before) == len(self.windows)
        state, self._rehearsal = self._rehearsal.final_state(self._last), None
        stated = stated_of(self.execution, state.memory, commit_input=self._commit_input)
        windows = [replace(window, snapshots=()) for window in self.windows]
        return [
            TimedWindow(window, len(windows), stated, before, None if index else state)
            for index, (window, before) in enumerate(zip(windows, self._before, strict=True))
        ]
