"""Round 0: the columns of every table on the device, made there or brought there."""

from collections.abc import Mapping
from typing import Any

from graphprover.device import Array, Device
from graphprover.graphs.batches import named
from graphprover.graphs.builder import Graph, Node
from graphprover.protocol.layout import Layout
from graphprover.statement.trace_task import Recipe, follow

SHARED = "trace"  # what several tables' recipes share


def task_round(name: str) -> str:
    """The round of the tasks that give the columns of the commitment called ``name``."""
    return f"trace_{name}"


def load(device: Device, *, columns: Array) -> Array:
    """Columns (w, n) in natural order; what is on the device already stays where it is."""
    return device.load(columns)


def build(graph: Graph, layout: Layout, name: str, columns: Mapping[int, Array | Recipe]) -> dict[int, Node]:
    """The columns of each table, given by table, as the round called ``name`` will commit to them.

    A recipe that is no table's own is a task too, which all tables that need it share.
    """
    places = {table: (task_round(name), named(layout, table)) for table in columns}
    own = {trace: places[table] for table, trace in columns.items() if isinstance(trace, Recipe)}
    made: dict[Recipe, Node] = {}
    return {
        table: _followed(graph, trace, own, made)
        if isinstance(trace, Recipe)
        else graph.task(*places[table], load, columns=trace)
        for table, trace in columns.items()
    }


def _followed(graph: Graph, recipe: Recipe, places: Mapping[Recipe, tuple[str, str]], made: dict[Recipe, Node]) -> Node:
    """A recipe's task, and those of what it needs; ``places`` says what tables' own are called, ``made`` grows."""
    if recipe not in made:
        needs = [_followed(graph, needed, places, made) for needed in recipe.needs]
        fixed: dict[str, Any] = {"by": recipe.function, "given": recipe.fixed, "shape": recipe.shape}
        made[recipe] = graph.task(*places.get(recipe, (SHARED, recipe.name)), follow, *needs, **fixed)
    return made[recipe]
