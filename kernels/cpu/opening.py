"""Values of columns at points of the extension, by barycentric interpolation from the first rows of an extension.

For p of degree < n given on 7 H, and z outside: p(z) = sum_x p(x) * x (z^n - 7^n) / (n 7^n (z - x)) (Berrut and
Trefethen, "Barycentric Lagrange interpolation", 2004). The weights are the same for all columns of a height.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from graphprover.field import GENERATOR, Ext, P
from graphprover.field import ext_scale as scale_point
from graphprover.kernels.cpu import domain, pages, simd, sums
from graphprover.kernels.cpu.deep import invert_differences
from graphprover.kernels.cpu.field import add, ext_mul, ext_scale, mul
from graphprover.kernels.cpu.parallel import Threads
from graphprover.kernels.domain import interpolation_factors, reversed_indices
from graphprover.runtime.numba_cache import njit

_ROWS = 128
_COLUMNS = 16  # of a piece, as each piece first prepares as much as that for itself
_AHEAD = 2  # columns from the one in use to the one whose rows are asked for: no hardware foresees a jump
_P = np.uint64(P)
_PIECE = np.uint64(1 << sums.PIECE)
_WORDS_OF_POINT = 3 * sums.LIMBS * simd.WIDTH  # words of the table that eight rows take for one point


@njit(nogil=True, cache=True)
def _scale(points, factor, target):
    """target = target * points * factor, with an extension factor."""
    size = len(points)
    whole = size // simd.WIDTH * simd.WIDTH
    for i in range(0, whole, simd.WIDTH):
        x = simd.ext_scale(simd.load_rows(target, i, size, 3), simd.load(points, i))
        simd.store_rows(target, i, size, simd.ext_canonical(simd.ext_mul(x, factor)))
    for i in range(whole, size):
        x = ext_scale((target[0, i], target[1, i], target[2, i]), points[i])
        target[0, i], target[1, i], target[2, i] = ext_mul(x, factor)


def interpolation_weights(domains: Sequence[tuple[int, Ext]]) -> list[np.ndarray]:
    """For each (log2 of n, point) uint64 (3, n): p(point) is the sum of weights[:, i] p(x_i) over 7 H, bit-reversed.

    Raises ZeroDivisionError for a point of its 7 H.
    """
    factors = interpolation_factors(domains)
    return [_weights(log_rows, point, factor) for (log_rows, point), factor in zip(domains, factors, strict=True)]


def _weights(log_rows: int, point: Ext, factor: Ext) -> np.ndarray:
    rows = 1 << log_rows
    points = domain.points(log_rows)
    target = pages.empty((3, rows))
    invert_differences(points, point, target, 0, rows)
    _scale(points, tuple(map(np.uint64, factor)), target)
    return target


def natural_weights(domains: Sequence[tuple[int, Ext]]) -> list[np.ndarray]:
    """For each (log2 of n, point) uint64 (3, n): p(point) is the sum of weights[:, i] p(x_i) over H in natural order.

    Raises ZeroDivisionError for a point of its H.
    """
    # With q(7 X) = p(X), the values of p on H are those of q on 7 H.
    scaled = [(log_rows, scale_point(point, GENERATOR)) for log_rows, point in domains]
    return [
        weights.take(reversed_indices(log_rows, np), axis=1)
        for (log_rows, _), weights in zip(scaled, interpolation_weights(scaled), strict=True)
    ]


@njit(nogil=True, cache=True)
def _split(weights, start, rows, table, place, step):
    """Return the limbs of one point's weights for rows start .. start + rows - 1, as ``sums`` wants them; 8 rows at a
    time.
    """
    size = weights.shape[1]
    for i in range(0, rows, simd.WIDTH):
        for coordinate in range(3):
            x = simd.load(weights, coordinate * size + start + i)
            for _ in range(3):
                simd.store(table, place, x)
                simd.store(table, place + simd.WIDTH, simd.shift_right(x, 32))
                place += 2 * simd.WIDTH
                x = simd.mul(x, _PIECE)
        place += step - _WORDS_OF_POINT


@njit(nogil=True, cache=True)
def _add_to(partial, place, sum_):
    words = simd.ext_add(simd.load_rows(partial, place, simd.WIDTH, 3), simd.ext_canonical(sums.ext_total(sum_)))
    simd.store_rows(partial, place, simd.WIDTH, words)


@njit(nogil=True, cache=True)
def _one_point(matrix, start, rows, table, partial, first, last):
    size = matrix.shape[1]
    for column in range(first, last):
        a = sums.ext_zero()
        place = 0
        for i in range(column * size + start, column * size + start + rows, simd.WIDTH):
            simd.prefetch(matrix, i + _AHEAD * size)
            a = sums.ext_accumulate(a, simd.load(matrix, i), simd.load_rows(table, place, simd.WIDTH, 18))
            place += _WORDS_OF_POINT
        _add_to(partial, (column - first) * 3 * simd.WIDTH, a)


@njit(nogil=True, cache=True)
def _two_points(matrix, start, rows, table, partial, first, last):
    size = matrix.shape[1]
    for column in range(first, last):
        a, b = sums.ext_zero(), sums.ext_zero()
        place = 0
        for i in range(column * size + start, column * size + start + rows, simd.WIDTH):
            simd.prefetch(matrix, i + _AHEAD * size)
            x = simd.load(matrix, i)
            a = sums.ext_accumulate(a, x, simd.load_rows(table, place, simd.WIDTH, 18))
            b = sums.ext_accumulate(b, x, simd.load_rows(table, place + _WORDS_OF_POINT, simd.WIDTH, 18))
            place += 2 * _WORDS_OF_POINT
        _add_to(partial, (column - first) * 6 * simd.WIDTH, a)
        _add_to(partial, ((column - first) * 6 + 3) * simd.WIDTH, b)


@njit(nogil=True, cache=True)
def _evaluate(matrix, weights, both, target, first, last):
    """Compute the values at the point of ``weights[0]``, and with ``both`` also at the point of ``weights[1]``."""
    size = weights[0].shape[1]
    points = 2 if both else 1
    partial = np.zeros((last - first, 3 * points, simd.WIDTH), dtype=np.uint64)
    if size < simd.WIDTH:
        for column in range(first, last):
            for row in range(size):
                for k in range(3 * points):
                    term = mul(weights[k // 3][k % 3, row], matrix[column, row])
                    partial[column - first, k, 0] = add(partial[column - first, k, 0], term)
    else:
        step = points * _WORDS_OF_POINT
        table = np.empty(min(_ROWS, size) // simd.WIDTH * step, dtype=np.uint64)
        for start in range(0, size, _ROWS):
            rows = min(_ROWS, size - start)
            for point in range(points):
                _split(weights[point], start, rows, table, point * _WORDS_OF_POINT, step)
            if both:
                _two_points(matrix, start, rows, table, partial, first, last)
            else:
                _one_point(matrix, start, rows, table, partial, first, last)
    for column in range(first, last):
        for k in range(3 * points):
            total = np.uint64(0)
            for lane in range(simd.WIDTH):
                word = partial[column - first, k, lane]
                total = add(total, word - _P if word >= _P else word)
            target[k // 3, k % 3, column] = total


def evaluate(
    threads: Threads, matrices: Sequence[np.ndarray], weights: Sequence[Sequence[np.ndarray]]
) -> list[list[np.ndarray]]:
    """For each matrix and point the values of all columns, (columns, 3); otherwise as `evaluate_columns`."""
    values = []
    for matrix, of_matrix in zip(matrices, weights, strict=True):
        target = np.empty((len(of_matrix), 3, len(matrix)), dtype=np.uint64)
        threads.split(partial(evaluate_columns, matrix, of_matrix, target), len(matrix), _COLUMNS)
        values.append([point.T for point in target])
    return values


def evaluate_columns(
    matrix: np.ndarray, weights: Sequence[np.ndarray], target: np.ndarray, first: int, last: int
) -> None:
    """Return the values of columns [first, last) at the points of some weights.

    ``matrix`` is (columns, rows) with at least n rows, of which the first n = 7 H are read; each of ``weights`` is
    (3, n) as made by `interpolation_weights`, of one n; ``target`` is (points, 3, columns). All are C-contiguous
    uint64. Points are taken two at a time, so that they share the reading of the matrix. Raises ValueError for shapes
    that do not agree.
    """
    shapes = {vector.shape for vector in weights}
    if target.shape != (len(weights), 3, len(matrix)) or len(shapes) != 1 or not 0 <= first <= last <= len(matrix):
        raise ValueError(f"columns {first} to {last} of {matrix.shape} at points of {shapes} do not fit {target.shape}")
    if matrix.shape[1] < weights[0].shape[1]:
        raise ValueError(f"a matrix of {matrix.shape[1]} rows is too short for weights of {weights[0].shape[1]}")
    for i in range(0, len(weights), 2):
        pair = weights[i : i + 2]
        _evaluate(matrix, (pair[0], pair[-1]), len(pair) == 2, target[i : i + 2], first, last)
