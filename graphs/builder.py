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

from dask._task_spec import Task, TaskRef, cull
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
            needed = list[Node]()
            places = [_places(value, needed) for value in inputs]
            run = partial(_run, key, self.device, self.around, function, fixed, places)
            self.tasks[key] = Task(key, run, *needed)
        return Node(key)

    def delayed(self, result: Node) -> Delayed:
        """Return a task with its uncached dependencies, as a Dask collection of its value.

        Tasks keep the order in which they were added, so graphs of one shape are alike.
        """
        tasks: dict[Any, Any] = {**self.tasks}
        needed = cull(tasks, [result.key])
        return Delayed(result.key, {key: task for key, task in tasks.items() if key in needed})


def _places(value: Any, needed: list[Node]) -> Any:
    """Append the tasks in an input to the tasks needed, and return the input with their places instead.

    Dask's own nodes for lists and dictionaries take several times as long to build and to evaluate.
    """
    if isinstance(value, Node):
        needed.append(value)
        return len(needed) - 1
    if isinstance(value, list):
        return [_places(item, needed) for item in value]
    if isinstance(value, dict):
        return {key: _places(item, needed) for key, item in value.items()}
    assert value is None, value
    return None


def _filled(places: Any, values: Sequence[Any]) -> Any:
    """Return an input with the values at the places that `_places` gave."""
    kind = type(places)
    if kind is int:
        return values[places]
    if kind is list:
        return [_filled(item, values) for item in places]
    if kind is dict:
        return {key: _filled(item, values) for key, item in places.items()}
    return None


def _run(
    key: Key,
    device: Device,
    around: Around | None,
    function: Callable[..., Any],
    fixed: dict[str, Any],
    places: list[Any],
    *values: Any,
) -> Any:
    inputs = _filled(places, values)

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
