"""Values of columns at points of the extension (``opening.cu``); the definitions stand in kernels/cpu/opening.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import cupy
import numpy as np

from graphprover.field import GENERATOR, Ext, ext_scale
from graphprover.kernels.cuda import denominators
from graphprover.kernels.cuda.launch import blocks_for, kernels_of, launch, to_host
from graphprover.kernels.cuda.multi_table import batched
from graphprover.kernels.cuda.tape import taped
from graphprover.kernels.domain import interpolation_factors, reversed_indices

THREADS, TILE, COLUMNS, WARP = 256, 2048, 32, 32  # as in opening.cu
WARPS = THREADS // WARP
_WORD = 8


def interpolation_weights(domains: Sequence[tuple[int, Ext]]) -> list[cupy.ndarray]:
    """For each (log2 of n, point) uint64 (3, n): p(point) is the sum of weights[:, i] p(x_i) over 7 H, bit-reversed.

    Raises ZeroDivisionError for a point of its 7 H.
    """
    with_factors = zip(domains, interpolation_factors(domains), strict=True)
    return denominators.over_points("opening.cu", "weights", [(*of_point, factor) for of_point, factor in with_factors])


def natural_weights(domains: Sequence[tuple[int, Ext]]) -> list[cupy.ndarray]:
    """For each (log2 of n, point) uint64 (3, n): p(point) is the sum of weights[:, i] p(x_i) over H in natural order.

    Raises ZeroDivisionError for a point of its H.
    """
    if not domains:
        return []
    # With q(7 X) = p(X), the values of p on H are those of q on 7 H.
    found = interpolation_weights([(log_rows, ext_scale(point, GENERATOR)) for log_rows, point in domains])
    longest = max(log_rows for log_rows, _ in domains)
    # The reversed indices of a shorter domain are the first of the longest one's, without their last bits.
    reversed_ = reversed_indices(longest, cupy)
    orders = {log_rows: reversed_[: 1 << log_rows] >> longest - log_rows for log_rows, _ in domains}
    return [weights.take(orders[log_rows], axis=1) for weights, (log_rows, _) in zip(found, domains, strict=True)]


def evaluate(matrices: Sequence[cupy.ndarray], weights: Sequence[Sequence[cupy.ndarray]]) -> list[list[np.ndarray]]:
    """For each matrix and point the values of all columns, (columns, 3) on the host.

    A matrix is (columns, rows) with at least n rows, of which the first n = 7 H are read; each of its weights is
    (3, n), of one n. Waits. Raises ValueError for shapes that do not agree.
    """
    sums, place = to_host(taped(_weighted_sums, matrices, weights)), 0
    values = []
    for matrix, of_matrix in zip(matrices, weights, strict=True):
        shape = (len(of_matrix), 3, len(matrix))
        values.append([point.T for point in sums[place : place + prod(shape)].reshape(shape)])
        place += prod(shape)
    return values


@dataclass(frozen=True)
class _Part:
    """One matrix and one or two of its points, which share the reading of the matrix."""

    matrix: cupy.ndarray  # (columns, height)
    weights: Sequence[cupy.ndarray]
    target: int  # address of its sums, (points, 3, columns)

    @cached_property
    def tiles(self) -> int:
        return blocks_for(self.weights[0].shape[1], TILE)

    @cached_property
    def slices(self) -> int:
        """Of the rows of a tile: the fewest that leave at most a tenth of a block's warps idle in the last round."""
        if self.tiles == 1:
            return 1
        columns = min(len(self.matrix), COLUMNS)
        return next(s for s in (1, 2, 4, 8) if blocks_for(columns * s, WARPS) * WARPS <= 1.1 * columns * s)

    @cached_property
    def sums(self) -> int:
        return 3 * len(self.weights) * len(self.matrix)


def _weighted_sums(matrices: Sequence[cupy.ndarray], weights: Sequence[Sequence[cupy.ndarray]]) -> cupy.ndarray:
    """Return the values, (points, 3, columns) for each matrix in turn, in one vector."""
    words = sum(3 * len(of_matrix) * len(matrix) for matrix, of_matrix in zip(matrices, weights, strict=True))
    target = cupy.empty(words, dtype=cupy.uint64)
    place = target.data.ptr
    parts: list[_Part] = []
    for matrix, of_matrix in zip(matrices, weights, strict=True):
        shapes = {vector.shape for vector in of_matrix}
        if len(shapes) != 1 or of_matrix[0].shape[0] != 3 or of_matrix[0].shape[1] > matrix.shape[1]:
            raise ValueError(f"weights of shapes {shapes} do not fit a matrix of {matrix.shape}")
        for i in range(0, len(of_matrix), 2):
            parts.append(_Part(matrix, of_matrix[i : i + 2], place))
            place += _WORD * parts[-1].sums
    for points in (1, 2):
        _add_up([part for part in parts if len(part.weights) == points], points)
    return target


def _add_up(parts: Sequence[_Part], points: int) -> None:
    """Sum parts of ``points`` points each over tiles of rows, then over the tiles."""
    partial = cupy.empty(sum(part.sums * part.tiles * part.slices for part in parts), dtype=cupy.uint64)
    kernels, place = kernels_of("opening.cu"), partial.data.ptr
    tiled, added = [], []
    for part in parts:
        first, last = part.weights[0], part.weights[-1]
        addresses = [part.matrix.data.ptr, first.data.ptr, last.data.ptr]
        words = [*addresses, *part.matrix.shape, first.shape[1], part.slices, place, part.target]
        tiled.append((words, part.tiles * blocks_for(len(part.matrix), COLUMNS)))
        added.append((words, part.sums))
        place += _WORD * part.sums * part.tiles * part.slices
    for described, count, blocks in batched(tiled):
        name = f"partial_sums_{points}"
        launch(kernels, name, blocks, THREADS, described, count, shared=3 * points * TILE * _WORD)
    for described, count, sums in batched(added):
        blocks = blocks_for(sums * WARP, THREADS)
        launch(kernels, "add_tiles", blocks, THREADS, described, count, 3 * points, sums)
