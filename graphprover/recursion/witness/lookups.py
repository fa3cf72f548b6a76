"""Lookups of places: which entries have them, and how often."""

import numpy as np

from graphprover.recursion.kernels.cpu.places import count_places, find_places, table_of
from graphprover.recursion.tables.nodes import JOINED
from graphprover.recursion.traces.nodes import joins_of

_ONE = np.uint64(1)


def slots_of(places: np.ndarray) -> np.ndarray:
    """Return the table that finds places, uint64 (n, 3), for compiled code: int64, a power of two."""
    slots = _empty_slots(len(places))
    table_of(places, slots)
    return slots


def _empty_slots(count: int) -> np.ndarray:
    return np.full(2 << count.bit_length(), -1, dtype=np.int64)


def numbers_of(places: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the number of each wanted place among some places, or -1; of equal places the last one counts.

    Args:
        places: uint64 (n, 3).
        wanted: uint64 (m, 3).

    Returns:
        int64 (m,).
    """
    found = np.empty(len(wanted), dtype=np.int64)
    find_places(slots_of(places), places, np.ascontiguousarray(wanted), found)
    return found


def counts_of(places: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return how often each of some places, uint64 (n, 3), all different, is wanted: uint32 (n,)."""
    counts = np.zeros(len(places), dtype=np.uint32)
    count_places(slots_of(places), places, wanted, counts)
    return counts


def asked_of(nodes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return how often the children of nodes are looked up, by the nodes themselves and by other rows.

    A lookup whose parent is none of the nodes is a lookup of a cap.

    Args:
        nodes: The places of the nodes, all different: uint64 (nodes, 3). Layers are below 2^31.
        others: The places that other rows look up, some of them repeatedly: uint64 (lookups, 3).

    Returns:
        uint32 (nodes, 2).

    Raises:
        ValueError: Two nodes have a child at one place.
    """
    joins, left_index = joins_of(nodes)
    below = np.stack([nodes[:, 0] >> _ONE, nodes[:, 1] + _ONE, left_index], axis=1)
    children = np.repeat(below, 2, axis=0)
    children[1::2, 2] += np.where(joins, np.uint64(JOINED), _ONE)
    slots, counts = _empty_slots(len(children)), np.zeros(len(children), dtype=np.uint32)
    if not table_of(children, slots):
        raise ValueError("a child is given twice")
    for wanted in (nodes, others):
        count_places(slots, children, wanted, counts)
    return counts.reshape(-1, 2)
