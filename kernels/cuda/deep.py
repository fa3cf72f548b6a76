"""DEEP quotients of all columns of a height at once (``deep.cu``); the definitions stand in kernels/cpu/deep.py."""

from collections.abc import Sequence
from dataclasses import replace

import cupy
import numpy as np

from graphprover.field import GENERATOR, ZERO, Ext
from graphprover.kernels.cuda import denominators, ntt
from graphprover.kernels.cuda.launch import blocks_for, copied, empty_arrays, kernels_of, launch
from graphprover.kernels.cuda.multi_table import batched
from graphprover.kernels.cuda.tape import taped
from graphprover.kernels.operands import Height, points_apart

THREADS = 256  # as in deep.cu
VECTORS = 64  # whose addresses are a parameter of a kernel, as in deep.cu
_WORD = 8
_BUSY = 1 << 17  # threads that keep a device busy; a shorter codeword's columns are divided


def inverse_denominators(domains: Sequence[tuple[int, Ext]]) -> list[cupy.ndarray]:
    """For each (log2 of N, point) 1 / (point - x) for all x of 7 * K, uint64 (3, N) in bit-reversed order.

    Raises ZeroDivisionError for a point of its 7 * K.
    """
    return denominators.over_points("deep.cu", "inverse_denominators", [(log_rows, z, ZERO) for log_rows, z in domains])


def reduced_openings(heights: Sequence[Height], gamma: Ext) -> list[cupy.ndarray]:
    """For each height the sum over matrices, points z_j and columns p of gamma^k (p(z_j) - p(x)) / (z_j - x): (3, n).

    Inverses are (3, n) on 7 H, and matrices (w, n or more), of which the first n rows are read. Raises ValueError for
    shapes that do not agree.
    """
    if not heights:
        return []
    for height in heights:
        _require_fitting(height)
    opened = [at_point.reshape(-1) for height in heights for values in height.values for at_point in values]
    words = [np.array(gamma, dtype=np.uint64), np.concatenate(opened)]
    return taped(_reduced_openings, heights, words=words)


def _reduced_openings(heights: Sequence[Height], words: Sequence[np.ndarray]) -> list[cupy.ndarray]:
    """Return the quotients from the words of gamma and of all opened values."""
    parts: list[int] = []
    starts, words_before = [], 0
    for height in heights:
        starts.append((len(parts), words_before))
        claim = 0
        for matrix, values, offset in zip(height.matrices, height.values, height.offsets, strict=True):
            parts += [matrix.data.ptr, matrix.shape[1], len(matrix), offset, len(values), claim]
            claim += len(values) * len(matrix)
        words_before += 3 * claim
    gamma, opened = words
    described_parts, values_there = copied(np.array(parts, dtype=np.uint64), opened)
    targets = empty_arrays(height.inverses[0].shape for height in heights)
    weights = empty_arrays((sum(map(len, height.matrices)) + len(height.matrices) + 2, 3) for height in heights)

    items = []
    for height, (first_part, first_opened), target, scratch in zip(heights, starts, targets, weights, strict=True):
        rows, slices = target.shape[1], 1
        while slices < 32 and rows * slices < 2 * _BUSY:
            slices *= 2
        count = len(height.matrices)
        inverses = height.inverses[: max(map(len, height.values))]
        of_height = [
            described_parts.data.ptr + _WORD * first_part, values_there.data.ptr + _WORD * first_opened, count,
            scratch[2 + count :].data.ptr, scratch[2:].data.ptr, scratch.data.ptr,
            inverses[0].data.ptr, inverses[-1].data.ptr, target.data.ptr, rows, slices,
        ]  # fmt: skip
        items.append((of_height, blocks_for(rows, 2 * THREADS // slices)))
    for described, count, blocks in batched(items):
        launch(kernels_of("deep.cu"), "weigh", count, THREADS, described, gamma)
        launch(kernels_of("deep.cu"), "reduced_openings", blocks, THREADS, described, count)
    return targets


def _require_fitting(height: Height) -> None:
    rows = height.inverses[0].shape[1]
    widths = [matrix.shape[0] for matrix in height.matrices]
    counts = [[len(at_point) for at_point in values] for values in height.values]
    if (
        any(inverse.shape != (3, rows) for inverse in height.inverses)
        or any(matrix.shape[1] < rows or matrix.shape[1] % 2 for matrix in height.matrices)
        or any(set(count) != {width} or len(count) > 2 for count, width in zip(counts, widths, strict=True))
        or not 0 < max(map(len, height.values)) <= len(height.inverses)
    ):
        raise ValueError(
            f"matrices {[matrix.shape for matrix in height.matrices]}, opened values {counts} and inverses "
            f"{[inverse.shape for inverse in height.inverses]} do not fit"
        )


def reduced_traces(heights: Sequence[Height], gamma: Ext) -> list[cupy.ndarray]:
    """Return the same as `reduced_openings` from columns (w, n) on H in natural order; inverses are on 7 H as there.

    The sum over columns of each point is a polynomial like the columns, so it is made on H, and then evaluated on 7 H.
    """
    return [_reduced_traces(height, gamma) for height in heights]


def _reduced_traces(height: Height, gamma: Ext) -> cupy.ndarray:
    rows = height.matrices[0].shape[1]
    if rows == 1:  # the kernel reads pairs of words
        height = replace(height, matrices=[cupy.repeat(matrix, 2, axis=1) for matrix in height.matrices])
    ones = cupy.zeros((3, rows), dtype=np.uint64)
    ones[0] = 1
    sums = reduced_openings(points_apart(height, ones), gamma)
    extended = ntt.coset_ldes(sums, [0] * len(sums), 0, GENERATOR, bit_reversed_source=False)
    target = cupy.empty_like(extended[0])
    first, last = extended[0], extended[-1]
    launch(
        kernels_of("deep.cu"), "sum_products", blocks_for(target.shape[1], THREADS), THREADS,
        first, height.inverses[0], last, height.inverses[len(extended) - 1], len(extended), target, target.shape[1],
    )  # fmt: skip
    return target


def sum_vectors(vectors: Sequence[cupy.ndarray]) -> cupy.ndarray:
    """Return the sum of C-contiguous uint64 arrays of one shape, canonical. Raises ValueError for different shapes."""
    if len(vectors) > VECTORS:
        return sum_vectors([sum_vectors(vectors[:VECTORS]), *vectors[VECTORS:]])
    if len({vector.shape for vector in vectors}) != 1 or not all(vector.flags.c_contiguous for vector in vectors):
        raise ValueError(f"arrays of shapes {[vector.shape for vector in vectors]} have no sum")
    if len(vectors) == 1:
        return vectors[0]
    return taped(_sum_vectors, vectors)


def _sum_vectors(vectors: Sequence[cupy.ndarray]) -> cupy.ndarray:
    target = cupy.empty_like(vectors[0])
    addresses = np.zeros(VECTORS, dtype=np.uint64)
    addresses[: len(vectors)] = [vector.data.ptr for vector in vectors]
    launch(
        kernels_of("deep.cu"), "sum_vectors", blocks_for(target.size, THREADS), THREADS,
        addresses, len(vectors), target, target.size,
    )  # fmt: skip
    return target
