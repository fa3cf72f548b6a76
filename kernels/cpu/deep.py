"""DEEP: quotients that are low-degree exactly if the columns have the claimed values outside of the domain.

A quotient has a lower degree than the columns, so it is computed on 7 H, and the sum of all quotients of a height is
extended. For w columns p_c opened at points z_j: sum_j gamma^(j w) sum_c gamma^c (p_c(z_j) - p_c(x)) / (z_j - x). The
sum over c of gamma^c p_c(x) is the same for all points and computed once for each row. Source: ``open`` in
p3-fri/src/two_adic_pcs.rs.
"""

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np

from graphprover.field import GENERATOR, Ext
from graphprover.kernels.cpu import domain, ntt, pages, simd, sums
from graphprover.kernels.cpu.field import add as add_word
from graphprover.kernels.cpu.field import ext_add, ext_mul, ext_power, ext_scale, ext_sub, sub
from graphprover.kernels.cpu.inverse import ext_inverse
from graphprover.kernels.cpu.parallel import Threads, split_rows
from graphprover.kernels.operands import Height, points_apart
from graphprover.runtime.numba_cache import njit

# A piece of the matrix is read in runs that the hardware fetches ahead, of few columns at a time.
_ROWS = 512
_COLUMNS = 16
_ZERO = np.uint64(0)

_points = lru_cache(maxsize=8)(domain.points)


@njit(nogil=True, cache=True)
def _differences(points, z, target, first, last):
    for i in range(first, last):
        target[0, i], target[1, i], target[2, i] = sub(z[0], points[i]), z[1], z[2]


def inverse_denominators(threads: Threads, domains: Sequence[tuple[int, Ext]]) -> list[np.ndarray]:
    """For each (log2 of N, point) 1 / (point - x) for all x of 7 * K, uint64 (3, N) in bit-reversed order.

    Raises ZeroDivisionError for a point of its 7 * K.
    """
    targets = []
    for log_rows, point in domains:
        target = pages.empty((3, 1 << log_rows))
        split_rows(threads, partial(invert_differences, _points(log_rows), point, target), 1 << log_rows)
        targets.append(target)
    return targets


def invert_differences(points: np.ndarray, z: Ext, target: np.ndarray, first: int, last: int) -> None:
    """target[:, i] = 1 / (z - points[i]) for i in [first, last).

    ``points`` is (n,) as ``domain.points`` gives them, ``target`` (3, n); both uint64. Raises ZeroDivisionError, naming
    the element, for a z that is one of the points.
    """
    _differences(points, _words(z), target, first, last)
    ext_inverse(target, target, first, last)


@njit(nogil=True, cache=True)
def _compress(matrix, first, rows, weights, target):
    """Write the sums over columns of weight times column for rows first .. first + rows - 1 to the columns of
    ``target``.
    """
    columns, height = matrix.shape
    for start in range(0, columns, _COLUMNS):
        for i in range(0, rows, simd.WIDTH):
            sum_ = sums.ext_zero()
            for c in range(start, min(start + _COLUMNS, columns)):
                x = simd.load(matrix, c * height + first + i)
                sum_ = sums.ext_accumulate(sum_, x, sums.broadcast(weights, 18 * c, 18))
            total = sums.ext_total(sum_)
            if start:
                total = simd.ext_add(total, simd.load_rows(target, i, _ROWS, 3))
            simd.store_rows(target, i, _ROWS, total)


@njit(nogil=True, cache=True)
def _add_rows(matrix, weights, claims, power, inverses, target, first, last):
    """Add (claims[0] - compressed) / (z_0 - x) and, for a second claim, power times the same of z_1, for each row."""
    columns, height = len(matrix), target.shape[1]
    block = np.empty((3, _ROWS), dtype=np.uint64)
    whole = first + (last - first) // simd.WIDTH * simd.WIDTH
    for start in range(first, whole, _ROWS):
        rows = min(_ROWS, whole - start)
        _compress(matrix, start, rows, weights, block)
        for i in range(0, rows, simd.WIDTH):
            compressed = simd.load_rows(block, i, _ROWS, 3)
            sum_ = simd.load_rows(target, start + i, height, 3)
            for j in range(len(claims)):
                difference = simd.ext_sub((claims[j, 0], claims[j, 1], claims[j, 2]), compressed)
                if j:
                    difference = simd.ext_mul(difference, power)
                inverse = simd.load_rows(inverses[j], start + i, inverses[j].shape[1], 3)
                sum_ = simd.ext_add(sum_, simd.ext_mul(difference, inverse))
            simd.store_rows(target, start + i, height, simd.ext_canonical(sum_))
    for row in range(whole, last):
        compressed = (_ZERO, _ZERO, _ZERO)
        for c in range(columns):
            weight = (_word(weights, c, 0), _word(weights, c, 1), _word(weights, c, 2))
            compressed = ext_add(compressed, ext_scale(weight, matrix[c, row]))
        sum_ = (target[0, row], target[1, row], target[2, row])
        for j in range(len(claims)):
            difference = ext_sub((claims[j, 0], claims[j, 1], claims[j, 2]), compressed)
            if j:
                difference = ext_mul(difference, power)
            inverse = (inverses[j][0, row], inverses[j][1, row], inverses[j][2, row])
            sum_ = ext_add(sum_, ext_mul(difference, inverse))
        target[0, row], target[1, row], target[2, row] = sum_


@njit(nogil=True, cache=True)
def _word(weights, column, coordinate):
    return weights[3 * column + coordinate, 0] | weights[3 * column + coordinate, 1] << np.uint64(32)


@njit(nogil=True, cache=True)
def _add_reduced_opening(matrix, opened, offset, gamma, inverses, target, first, last):
    columns = len(matrix)
    words = np.empty((columns, 3), dtype=np.uint64)  # gamma^(offset + c)
    claims = np.zeros((len(opened), 3), dtype=np.uint64)
    weight = ext_power(gamma, np.uint64(offset))
    for c in range(columns):
        words[c, 0], words[c, 1], words[c, 2] = weight
        for j in range(len(opened)):
            term = ext_mul(weight, (opened[j, c, 0], opened[j, c, 1], opened[j, c, 2]))
            claims[j, 0], claims[j, 1], claims[j, 2] = ext_add((claims[j, 0], claims[j, 1], claims[j, 2]), term)
        weight = ext_mul(weight, gamma)
    weights = np.empty((3 * columns, sums.LIMBS), dtype=np.uint64)
    sums.limbs(words.reshape(-1), weights)
    power = ext_power(gamma, np.uint64(columns))
    _add_rows(matrix, weights, claims, power, inverses, target, first, last)


def reduced_openings(threads: Threads, heights: Sequence[Height], gamma: Ext) -> list[np.ndarray]:
    """For each height the sum over matrices, points z_j and columns p of gamma^k (p(z_j) - p(x)) / (z_j - x): (3, n).

    Inverses are (3, n) on 7 H, and matrices (w, n or more), of which the first n rows are read. Raises ValueError for
    shapes that do not agree.
    """
    return [_reduced_opening(threads, height, gamma) for height in heights]


def _reduced_opening(threads: Threads, height: Height, gamma: Ext) -> np.ndarray:
    target = np.zeros((3, height.inverses[0].shape[1]), dtype=np.uint64)

    def piece(first: int, last: int) -> None:
        for matrix, opened, offset in zip(height.matrices, height.values, height.offsets, strict=True):
            add_reduced_opening(matrix, opened, offset, gamma, height.inverses, target, first, last)

    split_rows(threads, piece, target.shape[1])
    return target


def add_reduced_opening(
    matrix: np.ndarray,
    opened: Sequence[np.ndarray],
    offset: int,
    gamma: Ext,
    inverses: Sequence[np.ndarray],
    target: np.ndarray,
    first: int,
    last: int,
) -> None:
    """target += sum_j gamma^(offset + j w) sum_c gamma^c (opened[j][c] - p_c(x)) / (z_j - x) on rows [first, last).

    ``target`` is (3, n), ``matrix`` (w, n or more); ``inverses`` holds 1 / (z_j - x) as (3, n or more) for at least as
    many points as ``opened``, values as words (w, 3). All are C-contiguous uint64 in bit-reversed order, canonical.
    Raises ValueError for shapes that do not agree.
    """
    columns, rows = len(matrix), target.shape[1]
    claims = np.array(opened, dtype=np.uint64).reshape(-1, columns, 3)
    if len(target) != 3 or matrix.shape[1] < rows or not 0 <= first <= last <= rows:
        raise ValueError(f"rows {first} to {last} of {matrix.shape} do not fit {target.shape}")
    if len(inverses) < len(claims) or any(inverse.shape[0] != 3 or inverse.shape[1] < rows for inverse in inverses):
        raise ValueError(f"{len(claims)} points of {rows} rows got {[inverse.shape for inverse in inverses]} inverses")
    for j in range(0, len(claims), 2):
        some = claims[j : j + 2]
        pair = (inverses[j], inverses[j + len(some) - 1])
        _add_reduced_opening(matrix, some, offset + j * columns, _words(gamma), pair, target, first, last)


def reduced_traces(threads: Threads, heights: Sequence[Height], gamma: Ext) -> list[np.ndarray]:
    """Return the same as `reduced_openings` from columns (w, n) on H in natural order; inverses are on 7 H as there.

    The sum over columns of each point is a polynomial like the columns, so it is made on H, and then evaluated on 7 H.
    """
    return [_reduced_traces(threads, height, gamma) for height in heights]


def _reduced_traces(threads: Threads, height: Height, gamma: Ext) -> np.ndarray:
    ones = np.zeros((3, height.matrices[0].shape[1]), dtype=np.uint64)
    ones[0] = 1
    sums_ = [_reduced_opening(threads, part, gamma) for part in points_apart(height, ones)]
    whole = [0] * len(sums_)
    extended = ntt.coset_ldes(threads, sums_, whole, 0, GENERATOR, bit_reversed_source=False)
    target = np.zeros_like(extended[0])
    for numerators, inverses in zip(extended, height.inverses, strict=False):
        split_rows(threads, partial(add_products, numerators, inverses, target), target.shape[1])
    return target


@njit(nogil=True, cache=True)
def add_products(x, y, target, first, last):
    """target += x y on rows [first, last)."""
    rows = x.shape[1]
    whole = first + (last - first) // simd.WIDTH * simd.WIDTH
    for i in range(first, whole, simd.WIDTH):
        product = simd.ext_mul(simd.load_rows(x, i, rows, 3), simd.load_rows(y, i, rows, 3))
        sum_ = simd.ext_add(simd.load_rows(target, i, rows, 3), product)
        simd.store_rows(target, i, rows, simd.ext_canonical(sum_))
    for i in range(whole, last):
        product = ext_mul((x[0, i], x[1, i], x[2, i]), (y[0, i], y[1, i], y[2, i]))
        target[0, i], target[1, i], target[2, i] = ext_add((target[0, i], target[1, i], target[2, i]), product)


@njit(nogil=True, cache=True)
def _add(x, y, target):
    whole = len(x) // simd.WIDTH * simd.WIDTH
    for i in range(0, whole, simd.WIDTH):
        simd.store(target, i, simd.canonical(simd.add_canonical(simd.load(x, i), simd.load(y, i))))
    for i in range(whole, len(x)):
        target[i] = add_word(x[i], y[i])


def sum_vectors(vectors: Sequence[np.ndarray]) -> np.ndarray:
    """Return the sum of C-contiguous uint64 arrays of one shape, canonical. Raises ValueError for different shapes."""
    if len({vector.shape for vector in vectors}) != 1:
        raise ValueError(f"arrays of shapes {[vector.shape for vector in vectors]} have no sum")
    if len(vectors) == 1:
        return vectors[0]
    target = pages.empty(vectors[0].shape)
    total = vectors[0]
    for vector in vectors[1:]:
        _add(total.reshape(-1), vector.reshape(-1), target.reshape(-1))
        total = target
    return target


def _words(x: Ext) -> tuple[np.uint64, ...]:
    return tuple(map(np.uint64, x))
