"""Rows of matrices and nodes of trees to one buffer and by one copy to the host (``gather.cu``).

One launch reads all arrays. Columns without extension are extended in pieces, and each piece takes a launch.
"""

from collections.abc import Sequence

import cupy
import numpy as np

from graphprover.kernels.absorption import pieces
from graphprover.kernels.cuda import ntt
from graphprover.kernels.cuda.launch import blocks_for, kernels_of, launch, to_host
from graphprover.kernels.operands import Unextended
from graphprover.protocol.digests import DIGEST_WORDS

THREADS = 128  # as in gather.cu
_BLOCKS = 64  # most thread blocks of a part

_Part = tuple[int, int, int, int, int, int, int, int]  # as in gather.cu


def gather(
    blocks: Sequence[Sequence[tuple[cupy.ndarray | Unextended, np.ndarray]]],
    trees: Sequence[tuple[Sequence[cupy.ndarray], np.ndarray]],
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the rows and nodes of `graphprover.device.Device.gather`; a tree is its layers. Waits for them.

    Layers lie in memory as `graphprover.kernels.cuda.merkle.allocate` gives them. Raises IndexError for a missing row
    or node, ValueError for a block whose matrices differ in the number of indices or are not contiguous.
    """
    listed = _Indices()
    parts, shapes, ends = list[_Part](), [], [0]
    unextended: list[tuple[Unextended, _Part]] = []  # parts without address and columns
    for block in blocks:
        counts, sizes = {len(indices) for _, indices in block}, [_shape(matrix) for matrix, _ in block]
        if len(counts) != 1 or not all(isinstance(m, Unextended) or m.flags.c_contiguous for m, _ in block):
            raise ValueError(f"a block of {counts} rows of matrices {sizes}")
        (count,) = counts
        width, column = sum(columns for columns, _ in sizes), 0
        for (matrix, indices), (columns, rows) in zip(block, sizes, strict=True):
            of_rows = listed.place(indices, rows), count, ends[-1] + column, width
            if isinstance(matrix, Unextended):
                unextended.append((matrix, (0, 1, rows, 0, *of_rows)))
            else:
                parts.append((matrix.data.ptr, 1, rows, columns, *of_rows))
            column += columns
        shapes.append((count, width))
        ends.append(ends[-1] + count * width)
    place = listed.append(_places(trees))
    for layers, numbers in trees:
        count = len(numbers)
        parts.append((layers[0].data.ptr, DIGEST_WORDS, 1, DIGEST_WORDS, place, count, ends[-1], DIGEST_WORDS))
        shapes.append((count, DIGEST_WORDS))
        place += count
        ends.append(ends[-1] + count * DIGEST_WORDS)

    indices = cupy.asarray(np.concatenate(listed.arrays).astype(np.uint64))
    target = cupy.empty(ends[-1], dtype=np.uint64)
    _launch(parts, indices, target)
    for matrix, part in unextended:
        _, row_step, column_step, _, first, count, place, step = part
        for begin, piece in pieces([matrix], matrix.rows, 1, ntt.extended):
            (columns,) = piece
            of_piece = columns.data.ptr, row_step, column_step, len(columns), first, count, place + begin, step
            _launch([of_piece], indices, target)
    words = to_host(target)
    arrays = [words[first:end].reshape(shape) for first, end, shape in zip(ends, ends[1:], shapes, strict=False)]
    return arrays[: len(blocks)], arrays[len(blocks) :]


def _shape(matrix: cupy.ndarray | Unextended) -> tuple[int, int]:
    return (matrix.width, matrix.rows) if isinstance(matrix, Unextended) else matrix.shape


def _launch(parts: Sequence[_Part], indices: cupy.ndarray, target: cupy.ndarray) -> None:
    most = max((count * columns for _, _, _, columns, _, count, _, _ in parts), default=0)
    blocks = len(parts), min(blocks_for(most, THREADS), _BLOCKS)
    described = cupy.asarray(np.array(parts, dtype=np.uint64))
    launch(kernels_of("gather.cu"), "gather", blocks, THREADS, described, indices, target)


class _Indices:
    """Arrays of indices one after another, without repeated arrays."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._count = 0  # of all indices
        self._known: dict[int, tuple[int, int, int]] = {}  # by identity: place among all, smallest, largest

    def append(self, indices: np.ndarray) -> int:
        """Append these indices and return their position among all."""
        self.arrays.append(indices)
        self._count += len(indices)
        return self._count - len(indices)

    def place(self, indices: np.ndarray, limit: int) -> int:
        """Return the position of these indices, all in [0, limit), among all. Raises IndexError for others."""
        if id(indices) not in self._known:
            least, most = int(indices.min(initial=limit)), int(indices.max(initial=-1))
            self._known[id(indices)] = self.append(indices), least, most
        place, least, most = self._known[id(indices)]
        if least < 0 or most >= limit:
            raise IndexError(f"indices from {least} to {most} are not in [0, {limit})")
        return place


def _places(trees: Sequence[tuple[Sequence[cupy.ndarray], np.ndarray]]) -> np.ndarray:
    """Return the positions of all trees' nodes, numbered as in a heap, in their trees' buffers: leaves come first.

    Raises IndexError for a node that its tree does not have.
    """
    counts = [len(numbers) for _, numbers in trees]
    leaves, caps = (
        np.repeat(np.array([len(layers[i]) for layers, _ in trees], dtype=np.int64), counts) for i in (0, -1)
    )
    nodes = np.concatenate([np.empty(0, dtype=np.int64), *(numbers for _, numbers in trees)])
    if wrong := np.flatnonzero((nodes < caps) | (nodes >= 2 * leaves))[:1].tolist():
        (i,) = wrong
        raise IndexError(f"node {nodes[i]} is not in [{caps[i]}, {2 * leaves[i]})")
    sizes = np.int64(1) << (np.frexp(nodes)[1] - 1)  # of their layers; exact, as numbers are below 2^53
    return 2 * leaves - 2 * sizes + nodes - sizes
