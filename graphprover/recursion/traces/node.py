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
    """Nodes: arrays of one device."""

    places: Array  # tree, layer, index: uint64 (nodes, 3)
    digests: Array  # uint32 (nodes, 8)
    children: Array  # left, right: uint32 (nodes, 16)
    asked: Array  # lookups of the left and of the right child, uint32 (nodes, 2)

    def require(self, rows: int) -> None:
        """Raise ValueError for other arrays, and for nodes that do not fit the rows."""
        count = len(self.places)
        for name, width in (("places", _PLACE), ("digests", 8), ("children", 16), ("asked", 2)):
            array, dtype = getattr(self, name), "uint64" if name == "places" else "uint32"
            if array.shape != (count, width) or array.dtype != dtype:
                raise ValueError(
                    f"{name} of {count} nodes are {dtype} {(count, width)}, not {array.dtype} {array.shape}"
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
        nodes: The places of the nodes, all different: uint64 (nodes, 3). Trees and layers are below 2^32.
        others: The places that other tables look up, some of them repeatedly: uint64 (lookups, 3).

    Returns:
        uint32 (nodes, 2).

    Raises:
        ValueError: For equal nodes.
    """
    count = len(nodes)
    lookups = np.concatenate([nodes, others])
    above = lookups >> np.array([0, 0, 1], dtype=np.uint64)  # of a parent, but at the layer of its children
    own, parents = _numbered(nodes + np.array([0, 1, 0], dtype=np.uint64), above)
    order = np.argsort(own)
    own = own[order]
    if (own[1:] == own[:-1]).any():
        raise ValueError("a node is given twice")
    at = np.searchsorted(own, parents)
    found = np.flatnonzero(np.append(own, _NOWHERE)[at] == parents)
    child = (lookups[found, 2] & np.uint64(1)).astype(np.int64)
    return np.bincount(2 * order[at[found]] + child, minlength=2 * count).astype(np.uint32).reshape(count, 2)


_NOWHERE = -1  # the number of no place


def _numbered(nodes: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of places, which are equal if the places are: int64 of each."""
    places = np.concatenate([nodes, others])
    layers, layer = np.unique(places[:, 0] << np.uint64(32) | places[:, 1], return_inverse=True)
    _, index = np.unique(places[:, 2], return_inverse=True)
    numbers = len(layers) * index + layer
    return numbers[: len(nodes)], numbers[len(nodes) :]
