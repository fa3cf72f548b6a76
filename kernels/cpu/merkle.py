"""Layers of a Merkle tree.

A layer is a C-contiguous uint64 array of shape (nodes, 4). If a shorter matrix joins a tree, the node of two children
is hashed once more with the digest of its row (Plonky3's mixed-height MerkleTreeMmcs).
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from graphprover.kernels.cpu.hashes import KERNELS
from graphprover.kernels.cpu.parallel import Threads, split_rows
from graphprover.protocol.digests import DIGEST_WORDS


def tree(threads: Threads, matrices: Sequence[np.ndarray], cap_height: int, hash: str) -> tuple[np.ndarray, ...]:
    """Return the layers of the tree over rows of matrices (columns, n) of different heights, in commitment order."""
    groups: dict[int, list[np.ndarray]] = {}
    for matrix in matrices:
        groups.setdefault(matrix.shape[1], []).append(matrix)
    joining = {size: row_digests(threads, group, hash) for size, group in groups.items()}
    return _layers(threads, joining[max(groups)], joining, cap_height, hash)


def fold_tree(
    threads: Threads, codeword: np.ndarray, log_arity: int, cap_height: int, hash: str
) -> tuple[np.ndarray, ...]:
    """Return the layers of the tree whose leaves hash the groups of 2^log_arity neighbours of a codeword (3, n)."""
    leaves = np.empty((codeword.shape[1] >> log_arity, DIGEST_WORDS), dtype=np.uint64)
    split_rows(threads, partial(KERNELS[hash].hash_groups, codeword, 1 << log_arity, leaves), len(leaves))
    return _layers(threads, leaves, {}, cap_height, hash)


def row_digests(threads: Threads, matrices: Sequence[np.ndarray], hash: str) -> np.ndarray:
    """Return the digests, uint64 (n, 4), of the rows of matrices (columns, n) side by side."""
    digests = np.empty((matrices[0].shape[1], DIGEST_WORDS), dtype=np.uint64)
    split_rows(threads, partial(KERNELS[hash].hash_rows, matrices, digests), len(digests))
    return digests


def parents(threads: Threads, layer: np.ndarray, joining: np.ndarray | None, hash: str) -> np.ndarray:
    """Return the layer above one, uint64 (n, 4), which the row digests (n, 4) of shorter matrices may join."""
    above = np.empty((len(layer) // 2, DIGEST_WORDS), dtype=np.uint64)
    split_rows(threads, partial(KERNELS[hash].hash_pairs, layer, joining, above), len(above))
    return above


def _layers(
    threads: Threads, leaves: np.ndarray, joining: Mapping[int, np.ndarray], cap_height: int, hash: str
) -> tuple[np.ndarray, ...]:
    """Return all layers, up to a cap of at most 2^cap_height nodes.

    ``joining`` has the row digests (n, 4) that join the layer of n nodes.
    """
    layers = [leaves]
    while len(layers[-1]) > 1 << cap_height:
        layers.append(parents(threads, layers[-1], joining.get(len(layers[-1]) // 2), hash))
    return tuple(layers)
