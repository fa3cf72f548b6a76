"""Rows of matrices and nodes of trees to one buffer, by one launch and one copy (``gather.cu``)."""

from collections.abc import Sequence

import cupy
import numpy as np

from graphprover.kernels.cuda.launch import blocks_for, kernels_of, launch, to_host
from graphprover.protocol.digests import DIGEST_WORDS

THREADS = 128  # as in gather.cu
_BLOCKS = 64  # most thread blocks of a part


def gather(
    blocks: Sequence[Sequence[tuple[cupy.ndarray, np.ndarray]]],
    trees: Sequence[tuple[Sequence[cupy.ndarray], np.ndarray]],
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the rows and nodes of `graphprover.device.Device.gather`; a tree is its layers. Waits for them.

    Layers lie in memory as `graphprover.kernels.cuda.merkle.allocate` gives them. Raises IndexError for a missing row
    or node, ValueError for a block whose matrices differ in the number of indices or are not contiguous.
    """
    listed = _Indices()
    parts, shapes, ends = [], [], [0]
    for block in blocks:
        counts = {len(indices) for _, indices in block}
        if len(counts) != 1 or not all(matrix.flags.c_contiguous for matrix, _ in block):
            raise ValueError(f"a block of {counts} rows of matrices {[matrix.shape for matrix, _ in block]}")
        (count,) = counts
        width, column = sum(len(matrix) for matrix, _ in block), 0
        for matrix, indices in block:
            columns, rows = matrix.shape
            place = listed.place(indices, rows)
            parts.append((matrix.data.ptr, 1, rows, columns, place, count, ends[-1] + column, width))
            column += columns
        shapes.append((count, width))
        ends.append(ends[-1] + count * width)
    for layers, numbers in trees:
        leaves, cap, count = len(layers[0]), len(layers[-1]), len(numbers)
        if count and not cap <= numbers.min() <= numbers.max() < 2 * leaves:
            raise IndexError(f"nodes {numbers.min()} to {numbers.max()} are not all in [{cap}, {2 * leaves})")
        place = listed.place(_places(numbers, leaves), 2 * leaves)
        parts.append((layers[0].data.ptr, DIGEST_WORDS, 1, DIGEST_WORDS, place, count, ends[-1], DIGEST_WORDS))
        shapes.append((count, DIGEST_WORDS))
        ends.append(ends[-1] + count * DIGEST_WORDS)

    described = np.array(parts, dtype=np.uint64)
    plan = cupy.asarray(
        np.concatenate([described.reshape(-1), *(indices.astype(np.uint64) for indices in listed.arrays)])
    )
    target = cupy.empty(ends[-1], dtype=np.uint64)
    most = max((count * columns for _, _, _, columns, _, count, _, _ in parts), default=0)
    launch(
        kernels_of("gather.cu"),
        "gather",
        (len(parts), min(blocks_for(most, THREADS), _BLOCKS)),
        THREADS,
        plan[: described.size],
        plan[described.size :],
        target,
    )
    words = to_host(target)
    arrays = [words[first:end].reshape(shape) for first, end, shape in zip(ends, ends[1:], shapes, strict=False)]
    return arrays[: len(blocks)], arrays[len(blocks) :]


class _Indices:
    """Arrays of indices one after another, without repeated arrays."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._known: dict[int, tuple[int, int, int]] = {}  # by identity: place among all, smallest, largest

    def place(self, indices: np.ndarray, limit: int) -> int:
        """Return the position of these indices, all in [0, limit), among all. Raises IndexError for others."""
        if id(indices) not in self._known:
            place, least, most = sum(map(len, self.arrays)), indices.min(initial=limit), indices.max(initial=-1)
            self._known[id(indices)] = place, int(least), int(most)
            self.arrays.append(indices)
        place, least, most = self._known[id(indices)]
        if least < 0 or most >= limit:
            raise IndexError(f"indices from {least} to {most} are not in [0, {limit})")
        return place


def _places(numbers: np.ndarray, leaves: int) -> np.ndarray:
    """Return the positions of nodes, numbered as in a heap, in a tree's buffer, which begins with the leaves."""
    sizes = np.int64(1) << (np.frexp(numbers)[1] - 1)  # of their layers; exact, as numbers are below 2^53
    return 2 * leaves - 2 * sizes + numbers - sizes
