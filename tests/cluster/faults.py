"""Faults of one worker: in a round of a proof, or in the result of a task. These functions run in workers."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from distributed import get_worker

from graphprover.cluster import metrics, window_worker, worker
from graphprover.cluster.shard_worker import CommittedShard
from graphprover.cluster.window_worker import LaidOutWindow, RecordedWindow
from tests.cluster.bad_workers import Unreadable
from tests.cluster.once import Once

KILL, TERMINATE, HANG, RETIRE, WRONG = "kill -9", "terminate", "hang", "retire", "wrong row"
RAISES: dict[str, Callable[[], Exception]] = {
    "RuntimeError": lambda: RuntimeError("a fault"),
    "MemoryError": lambda: MemoryError("a fault"),
    "ValueError": lambda: ValueError("a fault"),
    "unreadable exception": lambda: Unreadable("a fault"),
}
IN_ROUNDS = (KILL, TERMINATE, HANG, RETIRE, *RAISES)

NOTHING, TEXT, OBJECT, CORRUPT, DIES_AFTER = "None", "a text", "an object", "corrupt", "killed after its task"
RESULTS = (NOTHING, TEXT, OBJECT, CORRUPT, DIES_AFTER)
TASKS = ("prove", "prove_in_turn", "record", "lay_out", "commit", "finish")
_REAL = [
    (module, name, getattr(module, name))
    for module, names in (
        (worker, (*TASKS, "measured_proof", "commit_shard", "finish_shard")),
        (window_worker, ("record", "lay_out")),
        (metrics, ("made",)),
    )
    for name in names
]


class Faulty(Once):
    """One thread of the CPU, with one fault of IN_ROUNDS, or WRONG, once. The marker names the worker."""

    def __reduce__(self) -> Any:
        return Faulty, (self.operation, self.marker, self.happens)

    def _happens(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            if not _first(self.marker):
                return method(*arguments)
            if self.happens in RAISES:
                raise RAISES[self.happens]()
            if self.happens == WRONG:
                (row, *rows), digests = method(*arguments)
                return [row ^ np.uint64(1), *rows], digests
            time.sleep(0.2)  # the worker's events are sent by then
            if self.happens == RETIRE:
                time.sleep(1)  # until the scheduler has the request
            else:
                signals = {KILL: signal.SIGKILL, TERMINATE: signal.SIGTERM, HANG: signal.SIGSTOP}
                os.kill(os.getpid(), signals[self.happens])
            return method(*arguments)

        return run


def _first(marker: Path) -> bool:
    """Return whether this process is the first; write its id and address to the marker."""
    mine = marker.with_suffix(f".{os.getpid()}")
    try:
        address = get_worker().address
    except ValueError:  # in a thread of the proof
        address = ""
    mine.write_text(f"{os.getpid()} {address}")
    try:
        os.link(mine, marker)  # atomic
    except FileExistsError:
        return False
    finally:
        mine.unlink()
    return True


def returns(kind: str, tasks: tuple[str, ...], marker: Path, once: bool) -> None:
    """Change the results of these tasks in this process: always, or only if it is the first process (``once``)."""
    for name in tasks:
        setattr(worker, name, _changed(getattr(worker, name), kind, marker, once))


def _changed(real: Callable[..., Any], kind: str, marker: Path, once: bool) -> Callable[..., Any]:
    def task(*given: Any) -> Any:
        result = real(*given)
        if not _first(marker) and once:
            return result
        if kind == DIES_AFTER:
            os.kill(os.getpid(), signal.SIGKILL)
        values = {NOTHING: None, TEXT: "a text", OBJECT: SimpleNamespace(proof=3)}
        return values[kind] if kind in values else _corrupt(result)

    return task


def _corrupt(result: Any) -> Any:
    if isinstance(result, list):
        return [_corrupt(one) for one in result]
    if isinstance(result, CommittedShard):
        return CommittedShard(bytes(len(result.digest)), result.header, result.telemetry)
    if isinstance(result, RecordedWindow):
        return RecordedWindow(replace(result.accesses, registers=result.accesses.registers // 2))
    if isinstance(result, LaidOutWindow):
        (number, (columns, rows)), *others = result.shapes
        return LaidOutWindow([(number, (columns, 2 * rows)), *others])
    payload = bytearray(result.proof.payload)
    payload[len(payload) // 2] ^= 1
    return replace(result, proof=replace(result.proof, payload=bytes(payload)))


def dies_in(module: ModuleType, name: str, marker: Path) -> None:
    """Let the first process that calls a function of a module die in it."""
    real = getattr(module, name)

    def dies(*arguments: Any) -> Any:
        if _first(marker):
            time.sleep(0.2)  # the worker's events are sent by then
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)

    setattr(module, name, dies)


def restore() -> None:
    """Undo all changes in this process."""
    for module, name, real in _REAL:
        setattr(module, name, real)
