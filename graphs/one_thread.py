"""A proof's graph run by one thread: its tasks in Dask's order, which is the order of the plan.

Dask's own scheduler orders the graph each time and maintains state for threads and callbacks: 60 µs for each task, in
which a GPU idles. Here a task only costs the construction of its arguments, and the order is cached for later graphs of
the same shape.
"""

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any, NamedTuple

from dask._task_spec import Task
from dask.delayed import Delayed
from dask.order import order

from graphprover.device import DeviceLost
from graphprover.device.interface import Repeat
from graphprover.graphs.progress import Tell
from graphprover.graphs.task_keys import words_of

Shape = tuple[frozenset[int], ...]  # the dependencies of each task, by position in the graph


class Step(NamedTuple):
    """One task, by position in the graph."""

    task: int
    last: tuple[int, ...]  # tasks whose values are not needed afterwards


_steps: dict[Shape, list[Step]] = {}
_SHAPES = 1000  # cached at most
_NONE = Repeat()


def run(task: Delayed, tell: Tell | None = None, repeat: Repeat = _NONE, skips: bool = True) -> Any:
    """Run the graph and return the task's value.

    Args:
        task: The task.
        tell: Called with each task.
        repeat: The tasks that the device can repeat.
        skips: Whether a task that can be repeated is not run.
    """
    tasks = task.__dask_graph__()
    keys, values = list(tasks), dict[Any, Any]()
    for ended, step in enumerate(steps_of(tasks)):
        key = keys[step.task]
        if tell:
            tell(ended, len(keys), words_of(key))
        if skips and repeat.replays(step.task):
            values[key] = _repeated(repeat, step.task, key)
        else:
            values[key] = repeat.noted(step.task, partial(tasks[key], values))
        for place in step.last:
            del values[keys[place]]
    if tell:
        tell(len(keys), len(keys), "")
    return values[task.key]


def _repeated(repeat: Repeat, number: int, key: Hashable) -> Any:
    """Repeat a task; its MemoryError or DeviceLost names it, as when it runs."""
    try:
        return repeat.replay(number)
    except (MemoryError, DeviceLost) as error:
        raise type(error)(f"{words_of(key)}: {error}") from error


def steps_of(tasks: Mapping[Any, Task]) -> list[Step]:
    """Return the tasks of a graph in order."""
    places = {key: place for place, key in enumerate(tasks)}
    shape = tuple(frozenset(map(places.__getitem__, task.dependencies)) for task in tasks.values())
    steps = _steps.get(shape)
    if steps is None:
        if len(_steps) >= _SHAPES:
            _steps.clear()
        positions = order(tasks)
        steps = _steps[shape] = _in_order(shape, [places[key] for key in sorted(tasks, key=positions.__getitem__)])
    return steps


def _in_order(shape: Shape, sequence: list[int]) -> list[Step]:
    """Return steps in this sequence; each frees the values that no later one needs."""
    steps, needed = list[Step](), set[int]()
    for place in reversed(sequence):
        steps.append(Step(place, tuple(shape[place] - needed)))
        needed |= shape[place]
    return steps[::-1]
