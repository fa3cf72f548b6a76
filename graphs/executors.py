"""Local executors of a proof's graph: one thread, or the threads of this process. Cluster workers use them too."""

import logging
import os
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import dask
import dask.threaded
from dask.callbacks import Callback
from dask.delayed import Delayed

from graphprover.device import Device
from graphprover.graphs import one_thread
from graphprover.graphs.executor_names import SYNCHRONOUS
from graphprover.graphs.progress import Tell, local_progress

_log = logging.getLogger(__name__)

_threaded: set[int] = set()  # processes that used Dask's threads; a forked child finds its parent's number here


@dataclass(frozen=True)
class Repeated:
    """The facts about a graph with which a device can repeat an earlier one: see `Device.repeating`."""

    shape: Hashable  # of its operations
    peak: int  # bytes
    skips: bool  # whether the tasks that are repeated need not be observed


class Run(Protocol):
    """An executor: a function from a task to its value."""

    def __call__(self, task: Delayed, repeated: Repeated | None = None) -> Any:
        """Run a graph, and let the device repeat an earlier one if tasks run in order."""


def executor_for(name: str, device: Device, progress: Tell | None = None) -> Run:
    """Return the executor of a name in `LOCAL`.

    Args:
        name: The executor.
        device: The device of all tasks.
        progress: Called as each task starts.

    Raises:
        RuntimeError: Threads in a process forked from one that had used them.
    """
    if name == SYNCHRONOUS or device.threads == 1:
        return lambda task, repeated=None: _alone(task, device, progress, repeated)
    _refuse_forks()
    return lambda task, repeated=None: _local(task, progress, scheduler=dask.threaded.get, num_workers=device.threads)


def _alone(task: Delayed, device: Device, progress: Tell | None, repeated: Repeated | None) -> Any:
    with device.task():  # the tasks are then nested in it, which costs them less
        if Callback.active:  # a callback such as a Dask profiler
            return _local(task, progress, scheduler=dask.get)
        _log.debug("%d tasks in this process, one after the other", len(task.dask))
        if repeated is None:
            return one_thread.run(task, progress)
        with device.repeating(repeated.shape, repeated.peak) as repeat:
            return one_thread.run(task, progress, repeat, repeated.skips)


def _local(task: Any, progress: Tell | None, **how: Any) -> Any:
    _log.debug("%d tasks in this process: %s", len(task.dask), how)
    return dask.compute(task, **how, **local_progress(progress))[0]


def _refuse_forks() -> None:
    """Raise RuntimeError in a forked process: it has Dask's pool without its threads and would wait forever."""
    if _threaded and os.getpid() not in _threaded:
        raise RuntimeError(
            "this process was forked from one that had proved, whose threads it lacks: start processes by spawn "
            "(multiprocessing.get_context('spawn')), or prove with the executor 'sync'"
        )
    _threaded.add(os.getpid())
