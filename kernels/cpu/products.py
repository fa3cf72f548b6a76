"""Products of many elements, for the verifier: `graphprover.protocol.arrays` has their twins in NumPy."""

import numpy as np

from graphprover.field import P
from graphprover.kernels.cpu.field import add, ext_mul, mul, mul_high
from graphprover.runtime.numba_cache import njit

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
