"""A window of a guest's run on a worker: its record, then its tables, which stay in the memory of this process.

A pickle has only the part for the client, so another process makes the rest from the beginning.
"""

import time
from collections.abc import Sequence
from typing import Any

from graphprover.cluster.messages import ShardRequest
from graphprover.device import Array, Device
from graphprover.prover.prepare import Prepared, ready
from graphprover.statement.trace_task import TraceTask
from graphprover.telemetry.model import Stage
from graphprover.telemetry.subscribe import on_clock
from graphprover.vm.executor.window import Accesses, Window
from graphprover.vm.traces.run_statement import Numbered, shards_of_tables
from graphprover.vm.traces.shared_run import RunShard, Shape, TimedWindow, shapes_of


class LostTables(RuntimeError):
    """Raised by a process that has lost the tables of a window; a message with the window helps."""


class RecordedWindow:
    """A window that was recorded; in its own process with the record."""

    def __init__(self, accesses: Accesses) -> None:
        self.accesses = accesses
        self.window: Window | None = None  # None in other processes
        self.stages: tuple[Stage, ...] = ()
        self.seconds: dict[str, float] = {}

    def __sizeof__(self) -> int:
        """Return the size in bytes for Dask."""
        return object.__sizeof__(self) + (self.window.nbytes if self.window else 0)

    def __reduce__(self) -> Any:
        return RecordedWindow, (self.accesses,)


class LaidOutWindow:
    """The tables of a window; in their own process with their trace tasks, which have the record."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self.shapes = shapes
        self.tables: Sequence[Numbered] | None = None  # None in other processes
        self.nbytes = 0
        self.stages: tuple[Stage, ...] = ()
        self.seconds: dict[str, float] = {}

    def __sizeof__(self) -> int:
        """Return the size in bytes for Dask."""
        return object.__sizeof__(self) + self.nbytes

    def __reduce__(self) -> Any:
        return LaidOutWindow, (self.shapes,)


def record(request: ShardRequest, device: Device) -> RecordedWindow:
    """Record a window of a run.

    Raises:
        Exception: every exception of `graphprover.vm.executor.execute.execute`.
    """
    began = time.perf_counter()
    window = request.subject.record(device)
    result = RecordedWindow(window.accesses)
    result.window = window
    _timed(result, "record", began)
    return result


def lay_out(request: ShardRequest, recorded: RecordedWindow | None, device: Device) -> LaidOutWindow:
    """Lay out the tables of a window, from its record or from the beginning.

    Raises:
        Unprovable: For cycles that have no proof.
    """
    began, timed = time.perf_counter(), request.subject
    assert isinstance(timed, TimedWindow)
    window = recorded.window if recorded else None
    tables = timed.tables(device, window)
    result = LaidOutWindow(shapes_of(tables))
    result.tables, result.nbytes = tables, window.nbytes if window else 0
    result.stages = recorded.stages if recorded else ()
    _timed(result, "lay out", began)
    return result


def prepared_shard(shard: RunShard, device: Device, tables: Sequence[Numbered] | None) -> Prepared:
    """Return the prepared shard of a window.

    Args:
        shard: The shard.
        device: Replays the window, unless its tables are given.
        tables: Its tables, if this process has laid them out.

    Raises:
        LostTables: If neither the window nor its tables are here.
        Unprovable: For a run that has no proof.
    """
    if tables is None:
        if shard.own is None:
            raise LostTables("the tables of this window are in this process no longer")
        tables = shard.own.tables(device)
    each: list[Sequence[Numbered]] = [
        [(number, TraceTask("another shard's", of_another_shard, shape=shape)) for number, shape in shapes]
        for shapes in shard.shapes
    ]
    each[shard.index] = tables
    statement = shards_of_tables(shard.job.machine, shard.stated, each, shard.job.program_label)
    return ready(statement, shard.job.level_of(statement)).shards[shard.index]


def of_another_shard(device: Device) -> Array:
    """Raise an error: another worker makes this trace."""
    raise AssertionError("the trace of another shard's table")


def _timed(result: RecordedWindow | LaidOutWindow, stage: str, began: float) -> None:
    """Add the stage that ends now."""
    ended = time.perf_counter()
    result.stages += (Stage(stage, on_clock(began), on_clock(ended), by_worker=True),)
    result.seconds = {"prepare": ended - began}
