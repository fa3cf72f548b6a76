"""The builder of a proof's graph: one Dask task for each round and batch of tables, with the keys of ``task_keys``.

Tasks are Dask's own graph nodes and not ``delayed`` calls: one takes 3 µs to build instead of 80, and a proof of fifty
large tables has a thousand. The result is a ``Delayed``, so every Dask scheduler can run it.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dask._task_spec import Dict, List, Task, TaskRef, cull
from dask.delayed import Delayed

from graphprover.device import Device, DeviceLost
from graphprover.graphs.batches import Batch
from graphprover.graphs.task_keys import Key, Place, ShardNumber, key_of, place_of, words_of

_log = logging.getLogger(__name__)

Around = Callable[[Place, Callable[[], Any]], Any]  # runs a task and returns its value
Node = TaskRef  # a task as an input of others


@dataclass(frozen=True)
class Graph:
    """A proof's graph under construction."""

    device: Device  # of all tasks
    token: str  # distinguishes the keys of different proofs
    batches: Sequence[Batch]  # tables that share tasks
    shard: ShardNumber | None = None  # the shard of the graph; None for a whole proof
    cached: dict[Key, Any] = field(
        default_factory=dict
    )  # results of an earlier graph; each is removed when its task runs
    around: Around | None = None  # wraps the execution of each task
    tasks: dict[Key, Task] = field(default_factory=dict)

    def task(self, round_: str, name: str, function: Callable[..., Any], *inputs: Any, **fixed: Any) -> Node:
        """Add ``function(device, *inputs, **fixed)`` as a task; one with a cached result only returns it.

        ``inputs`` are tasks, lists and dictionaries of tasks, or None. ``fixed`` is known before the graph runs. A
        MemoryError or DeviceLost of the task names it.
        """
        key = key_of(round_, name, self.token, self.shard)
        assert key not in self.tasks, key
        if key in self.cached:
            self.tasks[key] = Task(key, partial(self.cached.pop, key))
        else:
            run = partial(_run, key, self.device, self.around, function, fixed)
            self.tasks[key] = Task(key, run, *map(_node, inputs))
        return Node(key)

    def delayed(self, result: Node) -> Delayed:
        """Return a task with its uncached dependencies, as a Dask collection of its value.

        Tasks keep the order in which they were added, so graphs of one shape are alike.
        """
        tasks: dict[Any, Any] = {**self.tasks}
        needed = cull(tasks, [result.key])
        return Delayed(result.key, {key: task for key, task in tasks.items() if key in needed})


def _node(value: Any) -> Any:
    if isinstance(value, list):
        return List(*map(_node, value))
    if isinstance(value, dict):
        return Dict({key: _node(item) for key, item in value.items()})
    return value


def _run(
    key: Key,
    device: Device,
    around: Around | None,
    function: Callable[..., Any],
    fixed: dict[str, Any],
    *inputs: Any,
) -> Any:
    def run() -> Any:
        with device.task():
            return function(device, *inputs, **fixed)

    started = time.perf_counter()
    try:
        return around(place_of(key), run) if around else run()
    except MemoryError as error:  # includes NumPy's subclass, which takes other arguments
        raise MemoryError(f"{words_of(key)}: {error}") from error
    except DeviceLost as error:
        raise DeviceLost(f"{words_of(key)}: {error}") from error
    finally:  # a GPU's work may be enqueued but not done
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("%s on %s: %.4f s", words_of(key), device, time.perf_counter() - started)
