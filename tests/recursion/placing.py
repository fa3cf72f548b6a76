"""The memory of opened rows: the weights of their words, or the words themselves; and what users learn of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.field import EXTENSION_DEGREE, Ext
from graphprover.protocol import arrays
from graphprover.protocol.blake3 import CHUNK_WORDS
from graphprover.recursion.openings import OpenedRows
from graphprover.recursion.tables.segments import POINTS, STRIDE, padded
from graphprover.recursion.witness.hashes import RowGroup

CHUNK_ELEMENTS = 13  # of a message about a chunk


@dataclass(frozen=True, eq=False)
class Memory:
    """Opened rows with their addresses: arrays of the host."""

    groups: tuple[RowGroup, ...]
    cells: np.ndarray  # uint64 (3, cells)
    chunks: np.ndarray  # uint64 (13, chunks): the elements of all messages about chunks (`MessageTag.ROW`)


def memory_of(opened: Sequence[OpenedRows], gamma: Ext) -> Memory:
    """Place weights and words in memory, and add up words times weights.

    Args:
        opened: The opened rows of a proof.
        gamma: The batching challenge.
    """
    most = max((int(of.powers.max()) for of in opened if of.powers is not None), default=0)
    powers = arrays.ext_powers_of(gamma, most + 1)  # (3, powers)
    powers = np.append(powers, np.zeros((EXTENSION_DEGREE, 1), dtype=np.uint64), axis=1)  # for power -1
    groups, cells, chunks, address = [], [], [], 0
    for of in opened:
        rows, width = of.words.shape
        if of.powers is None:
            # Each row by itself: a word of the base field every `STRIDE` addresses.
            own = np.zeros((EXTENSION_DEGREE, rows, padded(width), STRIDE), dtype=np.uint64)
            own[0, :, :width, 0] = of.words
            weights = np.zeros((EXTENSION_DEGREE, POINTS, width), dtype=np.uint64)
            bases = address + STRIDE * padded(width) * np.arange(rows)
        else:
            weights = powers[:, of.powers]  # (3, points, words)
            own = np.zeros((EXTENSION_DEGREE, padded(width), POINTS), dtype=np.uint64)
            own[:, :width] = weights.transpose(0, 2, 1)
            bases = np.full(rows, address)
        cells.append(own.reshape(EXTENSION_DEGREE, -1))
        address += cells[-1].shape[1]
        groups.append(RowGroup(of, bases.astype(np.uint32), np.ones(rows, dtype=np.uint32)))
        chunks.append(_chunks_of(groups[-1], weights))
    return Memory(tuple(groups), np.concatenate(cells, axis=1), np.concatenate(chunks, axis=1))


def _chunks_of(group: RowGroup, weights: np.ndarray) -> np.ndarray:
    """Return the elements of the messages about a group's chunks, (13, chunks); ``weights``: (3, points, words)."""
    opened = group.opened
    rows, width = opened.words.shape
    found = []
    for counter, first in enumerate(range(0, width, CHUNK_WORDS)):
        last = min(first + CHUNK_WORDS, width)
        base = group.bases.astype(np.uint64) + np.uint64(STRIDE * first)
        by_point = np.moveaxis(weights[:, :, first:last], 0, 1).reshape(-1, last - first)  # (points x 3, words)
        sums = arrays.dot(opened.words[:, first:last], by_point.T)  # (rows, points x 3)
        of_chunk = np.empty((CHUNK_ELEMENTS, rows), dtype=np.uint64)
        of_chunk[:3], of_chunk[3], of_chunk[4] = opened.places.T, opened.powers is None, counter
        of_chunk[5], of_chunk[6] = base, base + np.uint64(STRIDE * (last - first))
        of_chunk[7:] = sums.T
        found.append(of_chunk)
    return np.concatenate(found, axis=1)
