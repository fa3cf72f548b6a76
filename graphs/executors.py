"""Who runs a proof's graph: one thread, the threads of this process, or a Dask cluster. The bytes are the same."""

import os
import sys
import time
from collections.abc import Hashable
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import dask
from dask.callbacks import Callback

from graphprover.graphs.executor_names import SYNCHRONOUS, THREADS

_threaded: set[int] = set()  # this process, once it has used Dask's threads; a fork finds its parent in it


class Progress(Callback):
    """A line that says how far a proof is and what it works on, rewritten in place; for the two local executors."""

    INTERVAL = 0.1  # seconds between two writes: a terminal is slower than a task

    def __init__(self, stream: IO[str] = sys.stderr) -> None:
        super().__init__()
        self._stream = stream
        self._written = 0.0
        self._started = 0.0

    def _start(self, dsk: Any) -> None:
        self._started = time.monotonic()

    def _pretask(self, key: Hashable, dsk: Any, state: Any) -> None:
        now = time.monotonic()
        if now - self._written < self.INTERVAL:
            return
        self._written = now
        done = len(state["finished"])
        total = done + sum(len(state[kind]) for kind in ("running", "ready", "waiting"))
        round_, _, rest = str(key).partition("-")
        name = rest.rpartition("-")[0]
        self._write(f"{done:4}/{total} tasks  {round_} {name}")

    def _finish(self, dsk: Any, state: Any, errored: bool) -> None:
        self._write(f"{'stopped' if errored else 'done'} after {time.monotonic() - self._started:.1f} s")
        self._stream.write("\n")
        self._stream.flush()

    def _write(self, line: str) -> None:
        self._stream.write(f"\r\x1b[K{line}")
        self._stream.flush()


@contextmanager
def executor_for(name: Any, threads: int):  # type: ignore[no-untyped-def]
    """What ``--executor`` names, as a function from a task to its value.

    ``sync``, ``threads``, a ``distributed.Client``, a scheduler's address (``tcp://...``) or its file (``*.json``).
    Raises ValueError for anything else, OSError when a scheduler cannot be reached, RuntimeError for threads in a
    process forked from one that had used them.
    """
    if name == SYNCHRONOUS or (name == THREADS and threads == 1):
        # One thread needs no pool of threads: a task then costs 20 µs instead of 90.
        yield lambda task: dask.compute(task, scheduler="synchronous")[0]
    elif name == THREADS:
        _refuse_forks()
        yield lambda task: dask.compute(task, scheduler="threads", num_workers=threads)[0]
    else:
        with _client(name) as client:
            yield lambda task: client.compute(task).result()


def _refuse_forks() -> None:
    """Such a process has Dask's pool without its threads, and would wait for them for ever."""
    if _threaded and os.getpid() not in _threaded:
        raise RuntimeError(
            "this process was forked from one that had proved, whose threads it lacks: start processes by spawn "
            "(multiprocessing.get_context('spawn')), or prove with the executor 'sync'"
        )
    _threaded.add(os.getpid())


def _client(name: Any):  # type: ignore[no-untyped-def]
    """A context with the client of a cluster; closes what it opened itself."""
    from distributed import Client

    if isinstance(name, Client):
        return nullcontext(name)
    if isinstance(name, str) and name.endswith(".json"):
        if not Path(name).is_file():
            raise ValueError(f"executor {name!r}: no such scheduler file")
        return Client(scheduler_file=name)
    if isinstance(name, str) and "://" in name:
        return Client(name, timeout="10s")
    raise ValueError(f"executor {name!r}: give sync, threads, a scheduler's address or its .json file")
