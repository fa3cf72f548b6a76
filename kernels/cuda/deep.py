"""DEEP quotients of a table's columns, all at once (``deep.cu``); the definitions stand in kernels/cpu/deep.py."""

from collections.abc import Sequence

import cupy
import numpy as np

from graphprover.field import Ext
from graphprover.kernels.cuda import domain
from graphprover.kernels.cuda.inverse import ELEMENTS
from graphprover.kernels.cuda.module import blocks_for, launch, load

THREADS = 256  # as in deep.cu
_VECTORS = 64  # whose addresses are parameters of a kernel
_BUSY = 1 << 17  # threads that keep a device busy; a shorter codeword's columns are shared out


def inverse_denominators(log_size: int, point: Ext) -> cupy.ndarray:
    """1 / (point - x) for all x of 7 * K, uint64 (3, 2^log_size) in bit-reversed order.

    Raises ZeroDivisionError for a point of 7 * K.
    """
    domain.require_outside(point, log_size)
    size = 1 << log_size
    target = cupy.empty((3, size), dtype=cupy.uint64)
    blocks = blocks_for(size, THREADS * ELEMENTS)
    tables = domain.points(log_size)
    launch(load("deep.cu"), "inverse_denominators", blocks, THREADS, *tables, *point, target, size)
    return target


def reduced_opening(
    matrices: Sequence[cupy.ndarray],
    values: Sequence[Sequence[Sequence[Ext]]],
    offsets: Sequence[int],
    alpha: Ext,
    inverses: Sequence[cupy.ndarray],
) -> cupy.ndarray:
    """The sum over matrices, points z_j and columns p of alpha^k (p(z_j) - p(x)) / (z_j - x): uint64 (3, N).

    ``matrices`` are (columns, N), N a power of two of at least 2; ``values[matrix][point]`` are the opened values of
    one or two points; k counts from ``offsets[matrix]``, by point and column; ``inverses`` holds 1 / (z_j - x), each
    (3, N). Raises ValueError for shapes that do not agree.
    """
    rows = inverses[0].shape[1]
    points = max(map(len, values))
    widths = [matrix.shape[0] for matrix in matrices]
    counts = [[len(at_point) for at_point in opened] for opened in values]
    if (
        rows < 2
        or any(each.shape != (3, rows) for each in inverses)
        or any(matrix.shape[1] != rows for matrix in matrices)
        or any(set(count) != {width} or len(count) > 2 for count, width in zip(counts, widths, strict=True))
        or not 0 < points <= len(inverses)
    ):
        raise ValueError(
            f"matrices {[each.shape for each in matrices]}, opened values {counts} and inverses "
            f"{[each.shape for each in inverses]} do not fit"
        )
    parts, claim = [], 0
    for matrix, opened, offset in zip(matrices, values, offsets, strict=True):
        parts += [matrix.data.ptr, len(matrix), offset, len(opened), claim]
        claim += len(opened) * len(matrix)
    opened_words = [word for opened in values for at_point in opened for value in at_point for word in value]
    plan = cupy.asarray(np.array(parts + opened_words, dtype=np.uint64))
    described, opened_values = plan[: len(parts)], plan[len(parts) :]
    weights = cupy.empty((np.sum(widths), 3), dtype=cupy.uint64)
    powers = cupy.empty((len(matrices), 3), dtype=cupy.uint64)
    claims = cupy.empty((2, 3), dtype=cupy.uint64)
    module = load("deep.cu")
    launch(module, "weigh", 1, THREADS, described, len(matrices), opened_values, *alpha, weights, powers, claims)

    slices = 1
    while slices < 32 and rows // 2 * slices < _BUSY:
        slices *= 2
    target = cupy.empty((3, rows), dtype=cupy.uint64)
    blocks = blocks_for(rows // 2, THREADS // slices)
    pair = (inverses[0], inverses[points - 1])
    launch(
        module, "reduced_opening", blocks, THREADS,
        described, len(matrices), weights, powers, claims, *pair, target, rows, slices,
    )  # fmt: skip
    return target


def sum(vectors: Sequence[cupy.ndarray]) -> cupy.ndarray:
    """The sum of C-contiguous uint64 arrays of one shape. Raises ValueError for different shapes."""
    if len(vectors) > _VECTORS:
        return sum([sum(vectors[:_VECTORS]), *vectors[_VECTORS:]])
    if len({each.shape for each in vectors}) != 1 or not all(each.flags.c_contiguous for each in vectors):
        raise ValueError(f"arrays of shapes {[each.shape for each in vectors]} have no sum")
    target = cupy.empty_like(vectors[0])
    addresses = np.zeros(_VECTORS, dtype=np.uint64)
    addresses[: len(vectors)] = [each.data.ptr for each in vectors]
    launch(
        load("deep.cu"), "sum", blocks_for(target.size, THREADS), THREADS,
        addresses, len(vectors), target, target.size,
    )  # fmt: skip
    return target
