"""Who runs a proof's graph: one thread, the threads of this process, or a Dask cluster. The bytes are the same."""

import logging
import os
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import dask

from graphprover.graphs.executor_names import SYNCHRONOUS, THREADS
from graphprover.graphs.progress import Tell, local_progress, result_of

_log = logging.getLogger(__name__)

_threaded: set[int] = set()  # this process, once it has used Dask's threads; a fork finds its parent in it


@contextmanager
def executor_for(name: Any, threads: int, progress: Tell | None = None):  # type: ignore[no-untyped-def]
    """What ``--executor`` names, as a function from a task to its value.

    ``sync``, ``threads``, a ``distributed.Client``, a scheduler's address (``tcp://...``) or its file (``*.json``).
    ``progress`` is told how far the graph is. Raises ValueError for anything else, OSError when a scheduler cannot be
    reached, RuntimeError for threads in a process forked from one that had used them.
    """
    if name == SYNCHRONOUS or (name == THREADS and threads == 1):
        # One thread needs no pool of threads: a task then costs 20 µs instead of 90.
        yield lambda task: _local(task, progress, scheduler="synchronous")
    elif name == THREADS:
        _refuse_forks()
        yield lambda task: _local(task, progress, scheduler="threads", num_workers=threads)
    else:
        with _client(name) as client:
            yield lambda task: _remote(task, progress, client)


def _local(task: Any, progress: Tell | None, **how: Any) -> Any:
    _log.debug("%d tasks in this process: %s", len(task.dask), how)
    return dask.compute(task, **how, **local_progress(progress))[0]


def _remote(task: Any, progress: Tell | None, client: Any) -> Any:
    _log.debug("%d tasks by the workers of %s", len(task.dask), client)
    return result_of(client.compute(task), progress)


def _refuse_forks() -> None:
    """Such a process has Dask's pool without its threads, and would wait for them forever."""
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
