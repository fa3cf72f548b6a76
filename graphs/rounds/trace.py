"""Round 0: the columns of every table on the device, generated or copied there."""

from collections.abc import Callable, Mapping
from typing import Any

from graphprover.device import Array, Device
from graphprover.graphs.batches import named
from graphprover.graphs.builder import Graph, Node
from graphprover.protocol.layout import PREPROCESSED, Layout
from graphprover.statement.trace_task import TraceTask, follow

SHARED = "trace"  # round of trace tasks that several tables share


def task_round(name: str) -> str:
    """Return the name of the round that provides the columns of the commitment ``name``."""
    return f"trace_{name}"


def load(device: Device, *, columns: Array) -> Array:
    """Copy columns (w, n) in natural order to the device, unless they are there."""
    return device.place(device.load(columns))


def load_constant(device: Device, *, columns: Array) -> Array:
    """Copy columns that are the same in all proofs of their table to the device, unless they are there."""
    return device.place(device.constant(columns))


def generate(
    device: Device, *needed: Any, by: Callable[..., Any], given: Mapping[str, Any], shape: tuple[int, int]
) -> Array:
    """Return the columns that a table's trace task makes."""
    return device.place(follow(device, *needed, by=by, given=given, shape=shape))


def build(graph: Graph, layout: Layout, name: str, columns: Mapping[int, Array | TraceTask]) -> dict[int, Node]:
    """Return the task of each table's columns for the commitment ``name``, by table.

    A trace task that several tables need is one shared task.
    """
    places = {table: (task_round(name), named(layout, table)) for table in columns}
    own = {trace: places[table] for table, trace in columns.items() if isinstance(trace, TraceTask)}
    made: dict[TraceTask, Node] = {}
    return {
        table: _followed(graph, trace, own, made)
        if isinstance(trace, TraceTask)
        else graph.task(*places[table], load_constant if name == PREPROCESSED else load, columns=trace)
        for table, trace in columns.items()
    }


def _followed(
    graph: Graph, trace_task: TraceTask, places: Mapping[TraceTask, tuple[str, str]], made: dict[TraceTask, Node]
) -> Node:
    """Return the task of a trace task, after the tasks it needs; ``places`` names tables' own, ``made`` is updated."""
    if trace_task not in made:
        needs = [_followed(graph, needed, places, made) for needed in trace_task.needs]
        fixed: dict[str, Any] = {"by": trace_task.function, "given": trace_task.fixed, "shape": trace_task.shape}
        if trace_task in places:
            made[trace_task] = graph.task(*places[trace_task], generate, *needs, **fixed)
        else:
            made[trace_task] = graph.task(SHARED, trace_task.name, follow, *needs, **fixed)
    return made[trace_task]
