"""How a proof's graph is made: one Dask task for each round and batch of tables, with the keys of ``keys``.

Tasks are Dask's own graph nodes and not ``delayed`` calls: they cost 3 µs each to make instead of 80, and a proof of
fifty large tables has a thousand. The whole is a ``Delayed`` again, so that every Dask scheduler runs it.
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

Around = Callable[[Place, Callable[[], Any]], Any]  # runs a task and gives its value
Node = TaskRef  # a task to come, as an input of others


@dataclass(frozen=True)
class Graph:
    """A proof's graph while it is made."""

    device: Device  # that the tasks run on
    token: str  # tells the keys from those of other proofs
    batches: Sequence[Batch]  # whose tables share tasks
    shard: ShardNumber | None = None  # that it makes of a proof; None: the whole proof
    cached: dict[Key, Any] = field(default_factory=dict)  # values that are there; each goes as its task takes it
    around: Around | None = None  # what runs each task, and does something around it
    tasks: dict[Key, Task] = field(default_factory=dict)

    def task(self, round_: str, name: str, function: Callable[..., Any], *inputs: Any, **fixed: Any) -> Node:
        """``function(device, *inputs, **fixed)`` as a task.

        ``inputs`` are tasks, lists and dictionaries of them, or None; ``fixed`` is known before the graph runs.
        MemoryError and DeviceLost say which task raised them. A task whose value is kept only takes it.
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
        """What one task needs, of which nothing is kept yet, as a Dask collection of its value.

        In the order in which the tasks were made, so that graphs of one shape are alike.
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
    except MemoryError as error:  # NumPy's own kinds among them, which take other arguments
        raise MemoryError(f"{words_of(key)}: {error}") from error
    except DeviceLost as error:
        raise DeviceLost(f"{words_of(key)}: {error}") from error
    finally:  # a GPU's work is enqueued by then, and may not be done
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("%s on %s: %.4f s", words_of(key), device, time.perf_counter() - started)
