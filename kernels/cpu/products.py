"""Operations on many elements, for the verifier: modules of `graphprover.protocol` have their twins in NumPy."""

import numpy as np

from graphprover.air.expression import ADD, SUB
from graphprover.field import P
from graphprover.kernels.cpu.field import add, ext_add, ext_mul, ext_scale, ext_sub, mul, mul_high
from graphprover.kernels.cpu.inverse import ext_inverse
from graphprover.runtime.numba_cache import njit

__all__ = ["dot", "evaluate", "ext_inverse", "ext_multiply", "fold_groups", "multiply"]

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_WORD, _TWO_WORDS = np.uint64(2**64 % P), np.uint64(2**128 % P)


@njit(nogil=True, cache=True)
def multiply(a, b):
    """Multiply in place, a *= b, contiguous vectors of canonical words."""
    for i in range(len(a)):
        a[i] = mul(a[i], b[i])


@njit(nogil=True, cache=True)
def ext_multiply(a, b):
    """Multiply in place, a *= b, contiguous arrays (3, n) of extension elements."""
    for i in range(a.shape[1]):
        a[0, i], a[1, i], a[2, i] = ext_mul((a[0, i], a[1, i], a[2, i]), (b[0, i], b[1, i], b[2, i]))


@njit(nogil=True, cache=True)
def evaluate(ops, a, b, values, first):
    """Compute the values (3, n) of extension elements from column ``first`` on, in order.

    Each is the result of ops[i], an operation of expressions, on the values of columns a[i] and b[i].
    """
    for i in range(len(ops)):
        x = values[0, a[i]], values[1, a[i]], values[2, a[i]]
        y = values[0, b[i]], values[1, b[i]], values[2, b[i]]
        if ops[i] == ADD:
            z = ext_add(x, y)
        elif ops[i] == SUB:
            z = ext_sub(x, y)
        else:
            z = ext_mul(x, y)
        values[0, first + i], values[1, first + i], values[2, first + i] = z


@njit(nogil=True, cache=True)
def fold_groups(groups, s_inverse, inverses, beta, scale, target):
    """Write the values at beta of the polynomials through n groups (3, n, arity), which are overwritten, to (3, n).

    The arguments ``s_inverse`` (n,) and ``beta`` (3,) are as of `graphprover.protocol.verification.fold_groups`, and
    ``scale`` is 1 / arity. The pairs of a group have 1 / w^i in ``inverses`` (arity / 2,), and the pairs of a folded
    group have the first half of ``inverses``.
    """
    for row in range(groups.shape[1]):
        size, s, x = groups.shape[2], s_inverse[row], (beta[0], beta[1], beta[2])
        while size > 1:
            size //= 2
            for i in range(size):
                low = groups[0, row, 2 * i], groups[1, row, 2 * i], groups[2, row, 2 * i]
                high = groups[0, row, 2 * i + 1], groups[1, row, 2 * i + 1], groups[2, row, 2 * i + 1]
                odd = ext_mul(ext_scale(ext_sub(low, high), mul(s, inverses[i])), x)
                folded = ext_add(ext_add(low, high), odd)
                groups[0, row, i], groups[1, row, i], groups[2, row, i] = folded
            x, s = ext_mul(x, x), mul(s, s)
        folded = ext_scale((groups[0, row, 0], groups[1, row, 0], groups[2, row, 0]), scale)
        target[0, row], target[1, row], target[2, row] = folded


@njit(nogil=True, cache=True)
def dot(a, b, target):
    """Write the matrix product of (m, k) and, transposed, (n, k), contiguous arrays of words, to ``target``, (m, n)."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            low = high = top = _ZERO  # of the sum, which is below k 2^128
            for k in range(a.shape[1]):
                product = a[i, k] * b[j, k]
                low += product
                carried = mul_high(a[i, k], b[j, k]) + np.uint64(low < product)  # at most 2^64 - 1
                high += carried
                top += np.uint64(high < carried)
            target[i, j] = add(mul(low, _ONE), add(mul(high, _WORD), mul(top, _TWO_WORDS)))
