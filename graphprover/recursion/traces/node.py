"""The trace of `node`, and how often its nodes are asked for."""

from dataclasses import dataclass

import numpy as np

from graphprover.air.columns import Columns
from graphprover.device import Array, Device
from graphprover.recursion.tables.node import Node

_COLUMNS = Columns(Node.columns)
_PLACE = 3  # tree, layer, index


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes: arrays of one device, uint32."""

    places: Array  # (nodes, 3): tree, layer, index
    digests: Array  # (nodes, 8)
    children: Array  # (nodes, 16): left, right
    asked: Array  # (nodes, 2): lookups of the left and of the right child

    def require(self, rows: int) -> None:
        """Raise ValueError for other arrays, and for nodes that do not fit the rows."""
        count = len(self.places)
        for name, width in (("places", _PLACE), ("digests", 8), ("children", 16), ("asked", 2)):
            array = getattr(self, name)
            if array.shape != (count, width) or array.dtype != "uint32":
                raise ValueError(
                    f"{name} of {count} nodes are uint32 {(count, width)}, not {array.dtype} {array.shape}"
                )
        if count > rows:
            raise ValueError(f"{count} nodes do not fit {rows} rows")


def node_trace(device: Device, nodes: Nodes, rows: int) -> Array:
    """Return the trace of `Node`: the nodes in their order, then rows of zeros.

    Raises:
        ValueError: As `Nodes.require`.
    """
    nodes.require(rows)
    count, main = len(nodes.places), device.arrays.zeros((_COLUMNS.width, rows), dtype=np.uint64)
    main[0, :count] = 1
    column = 1
    for words in (nodes.places, nodes.digests, nodes.children, nodes.asked):
        main[column : column + words.shape[1], :count] = words.T
        column += words.shape[1]
    return main


def asked(nodes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return how often the children of nodes are looked up, by the nodes themselves and by other tables.

    A lookup whose parent is none of the nodes is a lookup of a cap.

    Args:
        nodes: The places of the nodes, all different: integers (nodes, 3).
        others: The places that other tables look up, (lookups, 3), some of them repeatedly.

    Returns:
        uint32 (nodes, 2).

    Raises:
        ValueError: For equal nodes.
    """
    found = np.zeros((len(nodes), 2), dtype=np.uint32)
    rows = {tuple(place): row for row, place in enumerate(nodes.tolist())}
    if len(rows) < len(nodes):
        raise ValueError("a node is given twice")
    for tree, layer, index in (*rows, *map(tuple, others.tolist())):
        parent = rows.get((tree, layer - 1, index >> 1))
        if parent is not None:
            found[parent, index & 1] += 1
    return found
