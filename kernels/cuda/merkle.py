"""Layers of a Merkle tree, and what queries read of them; the twin of ``graphprover.kernels.cpu.merkle``.

All layers of a tree lie one after the other in one buffer. The small ones at the top take two launches together.
"""

from collections.abc import Mapping, Sequence

import cupy
import numpy as np

from graphprover.kernels.cuda.keccak import DIGEST
from graphprover.kernels.cuda.module import blocks_for, launch, load

BROAD = 1 << 14  # nodes up to which a layer leaves so much of a device idle that it shares a launch with others
_THREADS = 128
_LAYERS = 16  # at most, that one launch makes, as in merkle.cu


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
    broad = [number for number in range(1, len(layers)) if len(layers[number]) > BROAD]
    for number in broad:
        nodes = len(layers[number])
        launch(
            load("merkle.cu"),
            "compress",
            blocks_for(nodes, _THREADS),
            _THREADS,
            layers[number - 1],
            joining.get(nodes, 0),
            layers[number],
            nodes,
        )
    first = len(broad) + 1
    narrow = next((number for number in range(first, len(layers)) if len(layers[number]) <= _THREADS), len(layers))
    _build_together(layers, first, narrow, joining)
    _build_together(layers, narrow, len(layers), joining)


def _build_together(layers: Sequence[cupy.ndarray], first: int, last: int, joining: Mapping[int, cupy.ndarray]) -> None:
    """Write the layers [first, last) in one launch: every thread block a subtree."""
    if first == last:
        return
    nodes, root = len(layers[first]), len(layers[last - 1])
    blocks = 1 if nodes <= _THREADS else min(root, blocks_for(nodes, 32))
    addresses = np.zeros(_LAYERS, dtype=np.uint64)
    for place, layer in enumerate(layers[first:last]):
        if len(layer) in joining:
            addresses[place] = joining[len(layer)].data.ptr
    launch(
        load("merkle.cu"),
        "compress_layers",
        blocks,
        _THREADS,
        layers[first - 1],
        addresses,
        layers[first],
        nodes,
        last - first,
    )


def gather_digests(layers: Sequence[cupy.ndarray], nodes: Sequence[Sequence[int]]) -> cupy.ndarray:
    """The digests of these nodes of each layer: uint64 (nodes, 4). Raises IndexError for a node outside its layer."""
    places = [np.empty(0, dtype=np.int64)]
    for layer, level in zip(layers, nodes, strict=False):
        numbers = np.array(level, dtype=np.int64)
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(layer):
            raise IndexError(f"a node outside a layer of {len(layer)}")
        places.append(layer.data.ptr + 8 * DIGEST * numbers)
    addresses = np.concatenate(places).astype(np.uint64)
    target = cupy.empty((len(addresses), DIGEST), dtype=np.uint64)
    if not len(addresses):  # every sibling is on a queried path, or the cap is the leaves
        return target
    launch(
        load("merkle.cu"),
        "gather_digests",
        blocks_for(target.size, _THREADS),
        _THREADS,
        cupy.asarray(addresses),
        target,
        len(addresses),
    )
    return target


def gather_rows(matrix: cupy.ndarray, indices: Sequence[int] | np.ndarray) -> cupy.ndarray:
    """These rows of a matrix (columns, rows): uint64 (indices, columns). Raises IndexError for a row outside it."""
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
    return target
