"""Tables that depend on sizes only: points of evaluation domains, selectors on them, factors of FRI folds.

All are in bit-reversed order, so a small domain's table is a prefix of a larger one's. They are worth caching for all
tables and proofs of one size.
"""

import numpy as np

from graphprover.kernels import domain
from graphprover.kernels.cpu import simd
from graphprover.kernels.cpu.field import mul, sub
from graphprover.kernels.cpu.inverse import inverse
from graphprover.kernels.domain import Products
from graphprover.runtime.numba_cache import njit

_ONE = np.uint64(1)


@njit(nogil=True, cache=True)
def _fill(roots, start, target):
    target[0] = start
    half = 1
    for root in roots:
        if half < simd.WIDTH:
            for i in range(half):
                target[half + i] = mul(target[i], root)
        else:
            for i in range(0, half, simd.WIDTH):
                simd.store(target, half + i, simd.canonical(simd.mul(simd.load(target, i), root)))
        half *= 2


def _table(products: Products) -> np.ndarray:
    """`Products.table` by vectors."""
    table = np.empty(1 << len(products.roots), dtype=np.uint64)
    _fill(np.array(products.roots, dtype=np.uint64), np.uint64(products.start), table)
    return table


def points(log_size: int) -> np.ndarray:
    """Return the coset 7 * K, K of order 2^log_size: uint64 (2^log_size,), in bit-reversed order."""
    return _table(domain.points(log_size))


def fold_factors(log_size: int) -> np.ndarray:
    """1 / (2 g^rev(i)) for codewords of up to 2^log_size elements: uint64 (2^(log_size - 1),).

    See `graphprover.kernels.domain.fold_factors`. Raises ValueError for log_size 0.
    """
    return _table(domain.fold_factors(log_size))


@njit(nogil=True, cache=True)
def _differences(points, last_point, target):
    for i in range(len(points)):
        target[0, i] = sub(points[i], _ONE)
        target[1, i] = sub(points[i], last_point)
        target[2, i] = target[1, i]


@njit(nogil=True, cache=True)
def _times_vanishing(vanishing, inverses, log_rows, target):
    for i in range(target.shape[1]):
        block = i >> log_rows
        target[0, i] = mul(target[0, i], vanishing[block])
        target[1, i] = mul(target[1, i], vanishing[block])
        target[3, i] = inverses[block]


def selectors(log_rows: int, log_chunks: int) -> np.ndarray:
    """Return the selectors of a trace of 2^log_rows rows on its quotient domain: uint64 (4, 2^(log_rows + log_chunks)).

    Rows as in ``graphprover.air.bytecode.Selector``, with Z(x) = x^n - 1 and g the generator of the trace's domain:
    Z(x) / (x - 1), Z(x) / (x - 1/g), x - 1/g, 1 / Z(x). Source: ``selectors_on_coset`` in p3-commit/src/domain.rs.
    """
    log_size = log_rows + log_chunks
    vanishing, inverses = domain.vanishing(log_rows, log_chunks)
    target = np.empty((4, 1 << log_size), dtype=np.uint64)
    _differences(points(log_size), np.uint64(domain.last_point(log_rows)), target)
    for row in range(2):
        inverse(target[row], target[row], 0, 1 << log_size)
    _times_vanishing(vanishing, inverses, log_rows, target)
    return target


def indicators(rows: int) -> np.ndarray:
    """Return the selectors FIRST, LAST and TRANSITION on the trace itself, 0 or 1: uint64 (3, rows)."""
    target = np.zeros((3, rows), dtype=np.uint64)
    target[0, 0] = target[1, -1] = 1
    target[2, :-1] = 1
    return target
