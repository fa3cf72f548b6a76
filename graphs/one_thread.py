"""A proof's graph by one thread: its tasks in Dask's order, which is that of the plan.

Dask's own scheduler looks for the order each time and keeps what threads and callbacks would need: 60 µs a task, in
which a GPU has nothing to do. Here a task costs what making its arguments does, and an order is kept for later graphs
of the same shape.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from dask._task_spec import Task
from dask.delayed import Delayed
from dask.order import order

from graphprover.graphs.progress import Tell
from graphprover.graphs.task_keys import words_of

Shape = tuple[frozenset[int], ...]  # for each task those that it needs; all by their places in the graph


class Step(NamedTuple):
    """One task, by its place in the graph."""

    task: int
    last: tuple[int, ...]  # tasks whose values nobody needs once it has run


_steps: dict[Shape, list[Step]] = {}
_SHAPES = 1000  # that are kept


def run(task: Delayed, tell: Tell | None = None) -> Any:
    """The task's value; ``tell`` is told how far its graph is."""
    tasks = task.__dask_graph__()
    keys, values = list(tasks), dict[Any, Any]()
    for ended, step in enumerate(steps_of(tasks)):
        key = keys[step.task]
        if tell:
            tell(ended, len(keys), words_of(key))
        values[key] = tasks[key](values)
        for place in step.last:
            del values[keys[place]]
    if tell:
        tell(len(keys), len(keys), "")
    return values[task.key]


def steps_of(tasks: Mapping[Any, Task]) -> list[Step]:
    """The tasks of a graph in order."""
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
    """Steps in this sequence; each releases what no later one needs."""
    steps, needed = list[Step](), set[int]()
    for place in reversed(sequence):
        steps.append(Step(place, tuple(shape[place] - needed)))
        needed |= shape[place]
    return steps[::-1]
