"""Layers of a Merkle tree.

A layer is a C-contiguous uint64 array of shape (nodes, 4). If a shorter matrix joins a tree, the node of two children
is hashed once more with the digest of its row (Plonky3's mixed-height MerkleTreeMmcs).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from graphprover.kernels.absorption import by_height, pieces, widths
from graphprover.kernels.cpu import ntt, pages
from graphprover.kernels.cpu.hashes import KERNELS
from graphprover.kernels.cpu.parallel import Threads, split_rows
from graphprover.kernels.operands import Unextended
from graphprover.protocol.digests import DIGEST_WORDS


def tree(
    threads: Threads, matrices: Sequence[np.ndarray | Unextended], cap_height: int, hash: str
) -> tuple[np.ndarray, ...]:
    """Return the layers of the tree over rows of matrices (columns, n) of different heights, in commitment order.

    Of columns without extension, a few are extended at a time, and absorbed.
    """
    groups = by_height(matrices)
    layers = allocate(max(groups), cap_height)
    joining = {}
    for size, group in groups.items():
        digests = layers[0] if size == len(layers[0]) else pages.empty((size, DIGEST_WORDS))
        if any(isinstance(matrix, Unextended) for matrix in group):
            _absorb(threads, group, digests, hash)
        else:
            split_rows(threads, partial(KERNELS[hash].hash_rows, group, digests), size)
        joining[size] = digests
    build(threads, layers, joining, hash)
    return layers


def _absorb(threads: Threads, group: Sequence[np.ndarray | Unextended], digests: np.ndarray, hash: str) -> None:
    """Write the digests of the rows of matrices of one height, a piece of the columns after the other."""
    kernels, rows = KERNELS[hash], len(digests)
    columns = sum(widths(group))
    states = kernels.row_states(rows, columns)
    for begin, piece in pieces(group, rows, kernels.GRAIN, partial(ntt.extended, threads)):
        split_rows(threads, partial(kernels.absorb_rows, piece, states, begin, columns, digests), rows)


def fold_tree(
    threads: Threads, codeword: np.ndarray, log_arity: int, cap_height: int, hash: str
) -> tuple[np.ndarray, ...]:
    """Return the layers of the tree whose leaves hash the groups of 2^log_arity neighbours of a codeword (3, n)."""
    layers = allocate(codeword.shape[1] >> log_arity, cap_height)
    split_rows(threads, partial(KERNELS[hash].hash_groups, codeword, 1 << log_arity, layers[0]), len(layers[0]))
    build(threads, layers, {}, hash)
    return layers


def allocate(leaves: int, cap_height: int) -> tuple[np.ndarray, ...]:
    """Return unwritten layers, uint64 (n, 4) each, from 2^k leaves to a cap of at most 2^cap_height nodes."""
    cap = min(leaves, 1 << cap_height)
    sizes = [leaves >> level for level in range((leaves // cap).bit_length())]
    return tuple(pages.empty((nodes, DIGEST_WORDS)) for nodes in sizes)


def build(threads: Threads, layers: Sequence[np.ndarray], joining: Mapping[int, np.ndarray], hash: str) -> None:
    """Write all layers but the first.

    ``joining`` holds the row digests (n, 4) that join the layer of n nodes (Plonky3's mixed-height MerkleTreeMmcs).
    """
    for below, layer in pairwise(layers):
        split_rows(threads, partial(KERNELS[hash].hash_pairs, below, joining.get(len(layer)), layer), len(layer))
