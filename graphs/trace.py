"""Round 0: the columns of every table on the device."""

from graphprover.device import Array, Device
from graphprover.graphs.tasks import Graph, Node
from graphprover.protocol.layout import Layout


def load(device: Device, *, columns: Array) -> Array:
    """Columns (w, n) in natural order; what is on the device already stays where it is."""
    return device.load(columns)


def build(graph: Graph, layout: Layout, name: str, columns: dict[int, Array]) -> dict[int, Node]:
    """The columns of each table, given by table, as the round called ``name`` will commit to them."""
    return {
        table: graph.task(f"trace_{name}", graph.table(layout, table), load, columns=each)
        for table, each in columns.items()
    }
