"""Layers of a Merkle tree; the twin of ``graphprover.kernels.cpu.merkle``.

All layers of a tree lie one after the other in one buffer. The small ones at the top take two launches together.
"""

from collections.abc import Mapping, Sequence

import cupy
import numpy as np

from graphprover.kernels.cuda.keccak import hash_groups, hash_rows
from graphprover.kernels.cuda.launch import blocks_for, kernels_of, launch
from graphprover.protocol.digests import DIGEST_WORDS

BROAD = 1 << 14  # nodes up to which a layer leaves so much of a device idle that it shares a launch with others
THREADS = 128
LAYERS = 16  # at most, that one launch makes, as in merkle.cu


def tree(matrices: Sequence[cupy.ndarray], cap_height: int) -> tuple[cupy.ndarray, ...]:
    """Return the layers of the tree over rows of matrices (columns, n) of different heights, in commitment order."""
    groups: dict[int, list[cupy.ndarray]] = {}
    for matrix in matrices:
        groups.setdefault(matrix.shape[1], []).append(matrix)
    layers = allocate(max(groups), cap_height)
    joining = {}
    for size, group in groups.items():
        digests = layers[0] if size == len(layers[0]) else cupy.empty((size, DIGEST_WORDS), dtype=np.uint64)
        hash_rows(group, digests)
        joining[size] = digests
    build(layers, joining)
    return layers


def fold_tree(codeword: cupy.ndarray, log_arity: int, cap_height: int) -> tuple[cupy.ndarray, ...]:
    """Return the layers of the tree whose leaves hash the groups of 2^log_arity neighbours of a codeword (3, n)."""
    layers = allocate(codeword.shape[1] >> log_arity, cap_height)
    hash_groups(codeword, 1 << log_arity, layers[0])
    build(layers, {})
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


def build(layers: Sequence[cupy.ndarray], joining: Mapping[int, cupy.ndarray]) -> None:
    """Write all layers but the first, which lie in memory as `allocate` gives them.

    ``joining`` holds the row digests (n, 4) that join the layer of n nodes (Plonky3's mixed-height MerkleTreeMmcs).
    """
    broad = [number for number in range(1, len(layers)) if len(layers[number]) > BROAD]
    for number in broad:
        nodes = len(layers[number])
        launch(
            kernels_of("merkle.cu"),
            "compress",
            blocks_for(nodes, THREADS),
            THREADS,
            layers[number - 1],
            joining.get(nodes, 0),
            layers[number],
            nodes,
        )
    first = len(broad) + 1
    narrow = next((number for number in range(first, len(layers)) if len(layers[number]) <= THREADS), len(layers))
    _build_layers(layers, first, narrow, joining)
    _build_layers(layers, narrow, len(layers), joining)


def _build_layers(layers: Sequence[cupy.ndarray], first: int, last: int, joining: Mapping[int, cupy.ndarray]) -> None:
    """Write the layers [first, last) in one launch: every thread block a subtree."""
    if first == last:
        return
    nodes, root = len(layers[first]), len(layers[last - 1])
    blocks = 1 if nodes <= THREADS else min(root, blocks_for(nodes, 32))
    addresses = np.zeros(LAYERS, dtype=np.uint64)
    for place, layer in enumerate(layers[first:last]):
        if len(layer) in joining:
            addresses[place] = joining[len(layer)].data.ptr
    launch(
        kernels_of("merkle.cu"),
        "compress_layers",
        blocks,
        THREADS,
        layers[first - 1],
        addresses,
        layers[first],
        nodes,
        last - first,
    )
