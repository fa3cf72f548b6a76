"""Layers of a Merkle tree, and what queries read of them; the twin of ``graphprover.kernels.cpu.merkle``.

All layers of a tree lie one after the other in one buffer. The small ones at the top take one launch together.
"""

from collections.abc import Mapping, Sequence

import cupy
import numpy as np

from graphprover.kernels.cuda.keccak import DIGEST
from graphprover.kernels.cuda.module import blocks_for, launch, load

TOP = 512  # nodes of the largest layer that one thread block makes, and all above it
_THREADS = 128


def allocate(leaves: int, cap_height: int) -> tuple[cupy.ndarray, ...]:
    """The layers, uint64 (n, 4) each, from 2^k leaves to a cap of at most 2^cap_height nodes; none is written."""
    cap = min(leaves, 1 << cap_height)
    buffer = cupy.empty((2 * leaves - cap, DIGEST), dtype=np.uint64)
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
    above = 1
    while above < len(layers) and len(layers[above]) > TOP:
        nodes = len(layers[above])
        launch(
            load("merkle.cu"),
            "compress",
            blocks_for(nodes, _THREADS),
            _THREADS,
            layers[above - 1],
            joining.get(nodes, 0),
            layers[above],
            nodes,
        )
        above += 1
    if above == len(layers):
        return
    addresses = [each.data.ptr if (each := joining.get(len(layer))) is not None else 0 for layer in layers[above:]]
    launch(
        load("merkle.cu"),
        "compress_top",
        1,
        TOP,
        layers[above - 1],
        cupy.asarray(np.array(addresses, dtype=np.uint64)),
        layers[above],
        len(layers[above]),
        len(layers[-1]),
    )


def gather_digests(layers: Sequence[cupy.ndarray], nodes: Sequence[Sequence[int]]) -> np.ndarray:
    """The digests of these nodes of each layer, on the host: uint64 (nodes, 4). Waits for them."""
    places = [(layer, node) for layer, level in zip(layers, nodes, strict=False) for node in level]
    if any(not 0 <= node < len(layer) for layer, node in places):
        raise IndexError("a node outside its layer")
    target = cupy.empty((len(places), DIGEST), dtype=np.uint64)
    addresses = np.array([layer.data.ptr + 8 * DIGEST * node for layer, node in places], dtype=np.uint64)
    launch(
        load("merkle.cu"),
        "gather_digests",
        blocks_for(target.size, _THREADS),
        _THREADS,
        cupy.asarray(addresses),
        target,
        len(places),
    )
    return target.get()


def gather_rows(matrix: cupy.ndarray, indices: Sequence[int] | np.ndarray) -> np.ndarray:
    """These rows of a matrix (columns, rows), on the host: uint64 (indices, columns). Waits for them."""
    columns, rows = matrix.shape
    places = np.asarray(indices, dtype=np.int64)
    if places.size and not 0 <= places.min() <= places.max() < rows:
        raise IndexError(f"a row outside a matrix of {rows}")
    target = cupy.empty((len(places), columns), dtype=np.uint64)
    launch(
        load("merkle.cu"),
        "gather_rows",
        blocks_for(target.size, _THREADS),
        _THREADS,
        matrix,
        columns,
        rows,
        cupy.asarray(places),
        target,
        len(places),
    )
    return target.get()
