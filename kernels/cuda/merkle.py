"""Layers of a Merkle tree; the twin of ``graphprover.kernels.cpu.merkle``.

All layers of a tree lie one after the other in one buffer. A launch makes several of them.
"""

from collections.abc import Mapping, Sequence

import cupy
import numpy as np

from graphprover.kernels.absorption import by_height, pieces, widths
from graphprover.kernels.cuda import ntt
from graphprover.kernels.cuda.hashes import KERNELS
from graphprover.kernels.cuda.launch import hashing_kernels, launch
from graphprover.kernels.cuda.tape import taped
from graphprover.kernels.operands import Unextended
from graphprover.protocol.digests import DIGEST_WORDS

THREADS = 128
LAYERS = 16  # at most, that one launch makes, as in merkle.cu
_WIDE = 1024  # nodes of the first layer of a launch that a thread block makes, if there are many
_BLOCKS = 128  # about one for each multiprocessor
_SHARED = 48  # bytes of a block's shared memory for each of its nodes of the first layer
_WARP = 32


def tree(matrices: Sequence[cupy.ndarray | Unextended], cap_height: int, hash: str) -> tuple[cupy.ndarray, ...]:
    """Return the layers of the tree over rows of matrices (columns, n) of different heights, in commitment order.

    Of columns without extension, a few are extended at a time, and absorbed.
    """
    return taped(_tree, matrices, cap_height, hash)


def _tree(matrices: Sequence[cupy.ndarray | Unextended], cap_height: int, hash: str) -> tuple[cupy.ndarray, ...]:
    groups = by_height(matrices)
    layers = allocate(max(groups), cap_height)
    joining = {}
    for size, group in groups.items():
        digests = layers[0] if size == len(layers[0]) else cupy.empty((size, DIGEST_WORDS), dtype=np.uint64)
        if any(isinstance(matrix, Unextended) for matrix in group):
            _absorb(group, digests, hash)
        else:
            KERNELS[hash].hash_rows(group, digests)
        joining[size] = digests
    build(layers, joining, hash)
    return layers


def _absorb(group: Sequence[cupy.ndarray | Unextended], digests: cupy.ndarray, hash: str) -> None:
    """Write the digests of the rows of matrices of one height, a piece of the columns after the other."""
    kernels, rows = KERNELS[hash], len(digests)
    columns = sum(widths(group))
    states = kernels.row_states(rows, columns)
    for begin, piece in pieces(group, rows, kernels.GRAIN, ntt.extended):
        kernels.absorb_rows(piece, states, begin, columns, digests)


def fold_tree(codeword: cupy.ndarray, log_arity: int, cap_height: int, hash: str) -> tuple[cupy.ndarray, ...]:
    """Return the layers of the tree whose leaves hash the groups of 2^log_arity neighbours of a codeword (3, n)."""
    return taped(_fold_tree, codeword, log_arity, cap_height, hash)


def _fold_tree(codeword: cupy.ndarray, log_arity: int, cap_height: int, hash: str) -> tuple[cupy.ndarray, ...]:
    layers = allocate(codeword.shape[1] >> log_arity, cap_height)
    KERNELS[hash].hash_groups(codeword, 1 << log_arity, layers[0])
    build(layers, {}, hash)
    return layers


def allocate(leaves: int, cap_height: int) -> tuple[cupy.ndarray, ...]:
    """Return unwritten layers, uint64 (n, 4) each, from 2^k leaves to a cap of at most 2^cap_height nodes."""
    cap = min(leaves, 1 << cap_height)
    buffer = cupy.empty((2 * leaves - cap, DIGEST_WORDS), dtype=np.uint64)
    layers, first, nodes = [], 0, leaves
    while nodes >= cap:
        layers.append(buffer[first : first + nodes])
        first += nodes
        nodes //= 2
    return tuple(layers)


def build(layers: Sequence[cupy.ndarray], joining: Mapping[int, cupy.ndarray], hash: str) -> None:
    """Write all layers but the first, which lie in memory as `allocate` gives them.

    ``joining`` holds the row digests (n, 4) that join the layer of n nodes (Plonky3's mixed-height MerkleTreeMmcs).
    """
    kernels, first = hashing_kernels("merkle.cu", hash), 1
    while first < len(layers):
        nodes = len(layers[first])
        blocks, narrowest = _share(nodes)
        width = nodes // blocks
        last = min(first + (width // narrowest).bit_length(), len(layers))
        addresses = np.zeros(LAYERS, dtype=np.uint64)
        for place, layer in enumerate(layers[first:last]):
            if len(layer) in joining:
                addresses[place] = joining[len(layer)].data.ptr
        launch(
            kernels,
            "compress_layers",
            blocks,
            THREADS,
            layers[first - 1],
            addresses,
            layers[first],
            width,
            last - first,
            shared=_SHARED * width,
        )
        first = last


def _share(nodes: int) -> tuple[int, int]:
    """Return the thread blocks that share a layer and the layers above it, and their nodes of the last of these.

    If there are many nodes, a launch ends before threads become idle. If there are few, every layer takes as long as
    the hash of one node, and launches take longer than idle threads.
    """
    if nodes > _BLOCKS * _WIDE:
        return nodes // _WIDE, THREADS
    if nodes > THREADS:
        return min(nodes // _WARP, _BLOCKS), 1
    return 1, 1
