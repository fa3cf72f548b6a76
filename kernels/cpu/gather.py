"""Rows of matrices and nodes of trees, by NumPy's indexing."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from graphprover.kernels.absorption import pieces
from graphprover.kernels.cpu import ntt
from graphprover.kernels.cpu.parallel import Threads
from graphprover.kernels.operands import Unextended
from graphprover.protocol.digests import DIGEST_WORDS


def gather(
    threads: Threads,
    blocks: Sequence[Sequence[tuple[np.ndarray | Unextended, np.ndarray]]],
    trees: Sequence[tuple[Sequence[np.ndarray], np.ndarray]],
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the rows and nodes of `graphprover.device.Device.gather`; a tree is its layers. Raises IndexError as it
    does.
    """
    rows = [np.concatenate([_rows(threads, *part) for part in block], axis=1) for block in blocks]
    return rows, [_nodes(layers, numbers) for layers, numbers in trees]


def _rows(threads: Threads, matrix: np.ndarray | Unextended, indices: np.ndarray) -> np.ndarray:
    """Return rows (indices, columns) of one matrix."""
    if not isinstance(matrix, Unextended):
        return matrix.T[indices]
    made = pieces([matrix], matrix.rows, 1, partial(ntt.extended, threads))
    return np.concatenate([part.T[indices] for _, piece in made for part in piece], axis=1)


def _nodes(layers: Sequence[np.ndarray], numbers: np.ndarray) -> np.ndarray:
    """Return the nodes of these numbers, (numbers, 4)."""
    leaves, cap = len(layers[0]), len(layers[-1])
    if len(numbers) and not cap <= numbers.min() <= numbers.max() < 2 * leaves:
        raise IndexError(f"a node outside a tree of {leaves} leaves")
    target = np.empty((len(numbers), DIGEST_WORDS), dtype=np.uint64)
    bits = np.frexp(numbers)[1]
    for layer in layers:
        here = np.flatnonzero(bits == len(layer).bit_length())
        target[here] = layer[numbers[here] - len(layer)]
    return target
