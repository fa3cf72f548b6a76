"""Round 0: the columns of every table on the device, made there or brought there."""

from collections.abc import Callable, Mapping
from typing import Any

from graphprover.device import Array, Device
from graphprover.graphs.tasks import Graph, Node
from graphprover.protocol.layout import Layout
from graphprover.recipe import Recipe


def load(device: Device, *, columns: Array) -> Array:
    """Columns (w, n) in natural order; what is on the device already stays where it is."""
    return device.load(columns)


def follow(
    device: Device,
    *made: Any,
    by: Callable[..., Any],
    given: Mapping[str, Any],
    shape: tuple[int, int],
) -> Any:
    """What a recipe gives; raises ValueError for a trace that is not what the recipe said."""
    result = by(device, *made, **given)
    if shape != (0, 0) and (result.shape != shape or result.dtype != "uint64"):
        raise ValueError(f"{by.__name__} made {result.dtype} {result.shape} instead of uint64 {shape}")
    return result


def build(graph: Graph, layout: Layout, name: str, columns: Mapping[int, Array | Recipe]) -> dict[int, Node]:
    """The columns of each table, given by table, as the round called ``name`` will commit to them.

    A recipe that is no table's own is a task too, which all tables that need it share.
    """
    own = {each: table for table, each in columns.items() if isinstance(each, Recipe)}
    made: dict[Recipe, Node] = {}

    def node(recipe: Recipe) -> Node:
        if recipe not in made:
            place = (f"trace_{name}", graph.table(layout, own[recipe])) if recipe in own else ("trace", recipe.name)
            needs = map(node, recipe.needs)
            fixed: dict[str, Any] = {"by": recipe.function, "given": recipe.fixed, "shape": recipe.shape}
            made[recipe] = graph.task(*place, follow, *needs, **fixed)
        return made[recipe]

    return {
        table: node(each)
        if isinstance(each, Recipe)
        else graph.task(f"trace_{name}", graph.table(layout, table), load, columns=each)
        for table, each in columns.items()
    }
