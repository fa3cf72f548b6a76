"""The rows of nodes in a trace of `machine`."""

from dataclasses import dataclass

import numpy as np

from graphprover.device import Array
from graphprover.recursion.tables.nodes import COLUMNS

_PLACE = 3  # tree, layer, index
_ONE = np.uint64(1)


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes: arrays of one device."""

    places: Array  # tree, layer, index: uint64 (nodes, 3)
    digests: Array  # uint32 (nodes, 8)
    children: Array  # left, right: uint32 (nodes, 16)
    asked: Array  # lookups of the left and of the right child, uint32 (nodes, 2)

    def require(self) -> None:
        """Raise ValueError for other arrays."""
        count = len(self.places)
        for name, width in (("places", _PLACE), ("digests", 8), ("children", 16), ("asked", 2)):
            array, dtype = getattr(self, name), "uint64" if name == "places" else "uint32"
            if array.shape != (count, width) or array.dtype != dtype:
                raise ValueError(
                    f"{name} of {count} nodes are {dtype} {(count, width)}, not {array.dtype} {array.shape}"
                )


def fill_nodes(main: Array, nodes: Nodes, first: int) -> None:
    """Write nodes, in their order, into the rows of a trace of `machine` from ``first`` on, which are zeros before.

    Raises:
        ValueError: As `Nodes.require`, and for nodes that do not fit the rows.
    """
    nodes.require()
    count, of = len(nodes.places), COLUMNS
    if first + count > main.shape[1]:
        raise ValueError(f"{count} nodes after {first} rows do not fit {main.shape[1]} rows")
    own = main[:, first : first + count]
    joins, left_index = joins_of(nodes.places)
    own[of.on], own[of.join], own[of.left_index] = 1, joins, left_index
    parts = (
        (of.place, nodes.places),
        (of.digest, nodes.digests),
        ((*of.left, *of.right), nodes.children),
        (of.asked, nodes.asked),
    )
    for columns, numbers in parts:
        for column, number in zip(columns, numbers.T, strict=True):
            own[column] = number


def joins_of(places: Array) -> tuple[Array, Array]:
    """Return for places of nodes, uint64 (n, 3), whether a row joins, and the index of the left child: uint64 (n,)."""
    joins = places[:, 0] & _ONE
    return joins, places[:, 2] << (_ONE - joins)
