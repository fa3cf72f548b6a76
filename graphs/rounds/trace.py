"""Round 0: the columns of every table on the device, made there or brought there."""

from collections.abc import Mapping
from typing import Any

from graphprover.device import Array, Device
from graphprover.graphs.batches import named
from graphprover.graphs.builder import Graph, Node
from graphprover.protocol.layout import Layout
from graphprover.statement.trace_task import TraceTask, follow

SHARED = "trace"  # what several tables' trace tasks share


def task_round(name: str) -> str:
    """The round of the tasks that give the columns of the commitment called ``name``."""
    return f"trace_{name}"


def load(device: Device, *, columns: Array) -> Array:
    """Columns (w, n) in natural order; what is on the device already stays where it is."""
    return device.load(columns)


def build(graph: Graph, layout: Layout, name: str, columns: Mapping[int, Array | TraceTask]) -> dict[int, Node]:
    """The columns of each table, given by table, as the round called ``name`` will commit to them.

    A trace task that is no table's own is a task too, which all tables that need it share.
    """
    places = {table: (task_round(name), named(layout, table)) for table in columns}
    own = {trace: places[table] for table, trace in columns.items() if isinstance(trace, TraceTask)}
    made: dict[TraceTask, Node] = {}
    return {
        table: _followed(graph, trace, own, made)
        if isinstance(trace, TraceTask)
        else graph.task(*places[table], load, columns=trace)
        for table, trace in columns.items()
    }


def _followed(
    graph: Graph, trace_task: TraceTask, places: Mapping[TraceTask, tuple[str, str]], made: dict[TraceTask, Node]
) -> Node:
    """A trace task's task, and those of what it needs; ``places`` says what tables' own are called, ``made`` grows."""
    if trace_task not in made:
        needs = [_followed(graph, needed, places, made) for needed in trace_task.needs]
        fixed: dict[str, Any] = {"by": trace_task.function, "given": trace_task.fixed, "shape": trace_task.shape}
        made[trace_task] = graph.task(*places.get(trace_task, (SHARED, trace_task.name)), follow, *needs, **fixed)
    return made[trace_task]
