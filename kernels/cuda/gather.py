"""Rows of matrices and nodes of trees to one buffer, by one launch and one copy (``gather.cu``)."""

from collections.abc import Sequence

import cupy
import numpy as np

from graphprover.kernels.cuda.launch import blocks_for, kernels_of, launch, to_host
from graphprover.protocol.hashing import DIGEST_WORDS

THREADS = 128  # as in gather.cu
_BLOCKS = 64  # most thread blocks of a part


def gather(
    blocks: Sequence[Sequence[tuple[cupy.ndarray, np.ndarray]]],
    trees: Sequence[tuple[Sequence[cupy.ndarray], np.ndarray]],
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What `graphprover.device.Device.gather` gives, of trees that are their layers. Waits for it.

    Layers lie in memory as `graphprover.kernels.cuda.merkle.allocate` gives them. Raises IndexError for a row or node
    that is not there, ValueError for a block whose matrices have not the same number of indices or are not contiguous.
    """
    lists: list[np.ndarray] = []
    known: dict[int, tuple[int, int, int]] = {}  # by identity: place in the list of all, smallest, largest

    def listed(indices: np.ndarray, first: int, last: int) -> int:
        """The place of indices in [first, last); an array that comes again is not listed again."""
        if id(indices) not in known:
            place, least, most = sum(map(len, lists)), indices.min(initial=last), indices.max(initial=-1)
            known[id(indices)] = place, int(least), int(most)
            lists.append(indices)
        place, least, most = known[id(indices)]
        if least < first or most >= last:
            raise IndexError(f"indices from {least} to {most} are not in [{first}, {last})")
        return place

    parts, shapes, ends = [], [], [0]
    for block in blocks:
        counts = {len(indices) for _, indices in block}
        if len(counts) != 1 or not all(matrix.flags.c_contiguous for matrix, _ in block):
            raise ValueError(f"a block of {counts} rows of matrices {[matrix.shape for matrix, _ in block]}")
        (count,) = counts
        width, column = sum(len(matrix) for matrix, _ in block), 0
        for matrix, indices in block:
            columns, rows = matrix.shape
            place = listed(indices, 0, rows)
            parts.append((matrix.data.ptr, 1, rows, columns, place, count, ends[-1] + column, width))
            column += columns
        shapes.append((count, width))
        ends.append(ends[-1] + count * width)
    for layers, numbers in trees:
        leaves, cap, count = len(layers[0]), len(layers[-1]), len(numbers)
        if count and not cap <= numbers.min() <= numbers.max() < 2 * leaves:
            raise IndexError(f"nodes {numbers.min()} to {numbers.max()} are not all in [{cap}, {2 * leaves})")
        place = listed(_places(numbers, leaves), 0, 2 * leaves)
        parts.append((layers[0].data.ptr, DIGEST_WORDS, 1, DIGEST_WORDS, place, count, ends[-1], DIGEST_WORDS))
        shapes.append((count, DIGEST_WORDS))
        ends.append(ends[-1] + count * DIGEST_WORDS)

    described = np.array(parts, dtype=np.uint64)
    plan = cupy.asarray(np.concatenate([described.reshape(-1), *(indices.astype(np.uint64) for indices in lists)]))
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


def _places(numbers: np.ndarray, leaves: int) -> np.ndarray:
    """Where these nodes, numbered as in a heap, lie in a tree's buffer, which begins with the leaves."""
    sizes = np.int64(1) << (np.frexp(numbers)[1] - 1)  # of their layers; exact, as numbers are below 2^53
    return 2 * leaves - 2 * sizes + numbers - sizes
