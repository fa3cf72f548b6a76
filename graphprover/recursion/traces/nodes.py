"""The rows of nodes in a trace of `machine`, and how often nodes are asked for."""

from dataclasses import dataclass

import numpy as np

from graphprover.device import Array
from graphprover.recursion.tables.nodes import COLUMNS, JOINED

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
    joins, left_index = _joins(nodes.places)
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


def asked(nodes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return how often the children of nodes are looked up, by the nodes themselves and by other tables.

    A lookup whose parent is none of the nodes is a lookup of a cap.

    Args:
        nodes: The places of the nodes, all different: uint64 (nodes, 3). Layers are below 2^31.
        others: The places that other tables look up, some of them repeatedly: uint64 (lookups, 3).

    Returns:
        uint32 (nodes, 2).

    Raises:
        ValueError: Two nodes have a child at one place.
    """
    count = len(nodes)
    joins, left_index = _joins(nodes)
    below = np.stack([nodes[:, 0] >> _ONE, nodes[:, 1] + _ONE, left_index], axis=1)
    children = np.repeat(below, 2, axis=0)
    children[1::2, 2] += np.where(joins, np.uint64(JOINED), _ONE)
    own, wanted = _numbered(children, np.concatenate([nodes, others]))
    order = np.argsort(own)
    own = own[order]
    if (own[1:] == own[:-1]).any():
        raise ValueError("a child is given twice")
    at = np.searchsorted(own, wanted)
    found = at[np.append(own, _NOWHERE)[at] == wanted]
    return np.bincount(order[found], minlength=2 * count).astype(np.uint32).reshape(count, 2)


def _joins(places: Array) -> tuple[Array, Array]:
    """Return for places of nodes, uint64 (n, 3), whether a row joins, and the index of the left child: uint64 (n,)."""
    joins = places[:, 0] & _ONE
    return joins, places[:, 2] << (_ONE - joins)


_NOWHERE = -1  # the number of no place


def _numbered(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of places, which are equal if the places are: int64 of each."""
    numbers = np.zeros(len(first) + len(second), dtype=np.int64)
    for column in np.concatenate([first, second]).T:
        _, column_numbers = np.unique(column, return_inverse=True)
        _, numbers = np.unique(numbers * len(numbers) + column_numbers, return_inverse=True)
    return numbers[: len(first)], numbers[len(first) :]
