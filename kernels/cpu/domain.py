"""Tables that depend on sizes only: points of evaluation domains, selectors on them, factors of FRI folds.

All are in bit-reversed order, in which the table of a small domain is the beginning of that of a larger one. They are
worth keeping for all tables and proofs of one size.
"""

import numpy as np

from graphprover import field
from graphprover.compiled import njit
from graphprover.kernels.cpu import simd
from graphprover.kernels.cpu.field import mul, sub
from graphprover.kernels.cpu.inverse import inverse

_ONE = np.uint64(1)


@njit(nogil=True, cache=True)
def _fill(roots, start, target):
    target[0] = start
    half = 1
    for root in roots:
        if half < simd.LANES:
            for i in range(half):
                target[half + i] = mul(target[i], root)
        else:
            for i in range(0, half, simd.LANES):
                simd.store(target, half + i, simd.canonical(simd.mul(simd.load(target, i), root)))
        half *= 2


def _products(start: int, roots: list[int]) -> np.ndarray:
    """start times the product of the ``roots`` whose bits are set in i, for i < 2^len(roots)."""
    table = np.empty(1 << len(roots), dtype=np.uint64)
    _fill(np.array(roots, dtype=np.uint64), np.uint64(start), table)
    return table


def _coset(shift: int, log_size: int) -> np.ndarray:
    """shift * w^rev(i) for the generator w of the subgroup of order 2^log_size."""
    # Bit k of i is bit log_size - 1 - k of rev(i) and stands for a factor of order 2^(k + 1).
    return _products(shift, [field.root_of_unity(k + 1) for k in range(log_size)])


def points(log_size: int) -> np.ndarray:
    """The coset 7 * K, K of order 2^log_size: uint64 (2^log_size,), in bit-reversed order."""
    return _coset(field.GENERATOR, log_size)


def fold_factors(log_size: int) -> np.ndarray:
    """1 / (2 g^rev(i)) for folding codewords of up to 2^log_size elements: uint64 (2^(log_size - 1),).

    g generates the subgroup of order 2^log_size and rev reverses log_size - 1 bits; a shorter codeword's factors are
    the table's beginning. Raises ValueError for log_size 0: a single element does not fold.
    """
    if log_size < 1:
        raise ValueError("a codeword of one element does not fold")
    # rev is over one bit less than the order has, so that bit k stands for a factor of order 2^(k + 2).
    return _products(field.inv(2), [field.inv(field.root_of_unity(k + 2)) for k in range(log_size - 1)])


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
    """The selectors of a trace of 2^log_rows rows on its quotient domain: uint64 (4, 2^(log_rows + log_chunks)).

    Rows as in ``graphprover.air.program.Selector``, with Z(x) = x^n - 1 and g the generator of the trace's domain:
    Z(x) / (x - 1), Z(x) / (x - 1/g), x - 1/g, 1 / Z(x). Source: ``selectors_on_coset`` in p3-commit/src/domain.rs.
    """
    log_size = log_rows + log_chunks
    # x^n is constant on each block of n points; the blocks' x^n are points of the smaller coset 7^n * <w_chunks>.
    shift = pow(field.GENERATOR, 1 << log_rows, field.P)
    powers = _coset(shift, log_chunks)
    vanishing = field.array_sub(powers, np.ones_like(powers))
    inverses = np.empty_like(vanishing)
    inverse(vanishing, inverses, 0, len(vanishing))
    target = np.empty((4, 1 << log_size), dtype=np.uint64)
    last_point = np.uint64(field.inv(field.root_of_unity(log_rows)))
    _differences(points(log_size), last_point, target)
    for row in range(2):
        inverse(target[row], target[row], 0, 1 << log_size)
    _times_vanishing(vanishing, inverses, log_rows, target)
    return target


def indicators(rows: int) -> np.ndarray:
    """The selectors FIRST, LAST and TRANSITION on the trace itself, 0 or 1: uint64 (3, rows)."""
    target = np.zeros((3, rows), dtype=np.uint64)
    target[0, 0] = target[1, -1] = 1
    target[2, :-1] = 1
    return target
