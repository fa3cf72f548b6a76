"""The verifier's arithmetic on many elements at once: by NumPy, or its products by the prover's kernels.

Arrays are uint64 of canonical words; those of extension elements are (3, ...), their coordinates first. The words are
the same whoever multiplies: see `graphprover.protocol.backend`.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from graphprover.field import EXTENSION_DEGREE, ONE, Ext, P, array_add, array_mul, array_sub, ext_pow, inv
from graphprover.protocol import backend


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a * b mod p for arrays that broadcast."""
    if not backend.loaded():
        return array_mul(a, b)
    from graphprover.kernels.cpu import products

    product, factor = _copies(a, b)
    products.multiply(product.reshape(-1), factor.reshape(-1))
    return product


def _copies(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Both in one shape and one after the other, for a kernel that writes over the first."""
    copies = np.empty((2, *np.broadcast(a, b).shape), dtype=np.uint64)
    copies[0], copies[1] = a, b
    return copies


_WINDOW_BITS = 8
_WINDOW = (1 << _WINDOW_BITS) - 1


def powers_of(base: int, exponents: np.ndarray) -> np.ndarray:
    """base^e mod p for each e of an array of non-negative integers."""
    powers = _window(base)[exponents & _WINDOW]
    for bits in range(_WINDOW_BITS, int(exponents.max(initial=0)).bit_length(), _WINDOW_BITS):
        base = pow(base, 1 << _WINDOW_BITS, P)
        powers = multiply(powers, _window(base)[(exponents >> bits) & _WINDOW])
    return powers


@lru_cache(maxsize=256)  # bases are roots of unity
def _window(base: int) -> np.ndarray:
    """The powers of a base to all exponents of a window."""
    powers = [1]
    while len(powers) <= _WINDOW:
        powers.append(powers[-1] * base % P)
    return np.array(powers, dtype=np.uint64)


def inverses(a: np.ndarray) -> np.ndarray:
    """1/a mod p of a vector, by one inversion of the product of all; raises ZeroDivisionError if one is zero."""
    if len(a) < 2:
        return np.array([inv(value) for value in a.tolist()], dtype=np.uint64)
    even, odd = a[0::2], np.append(a[1::2], np.ones(len(a) % 2, dtype=np.uint64))
    pairs = inverses(multiply(even, odd))
    return np.stack([multiply(pairs, odd), multiply(pairs, even)], axis=1).reshape(-1)[: len(a)]


def sums(a: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The sums mod p of runs of the last axis, of one to 2^32 elements each, from where they start."""
    low, high = a & np.uint64(0xFFFFFFFF), a >> np.uint64(32)
    low, high = (np.add.reduceat(half, starts, axis=-1) for half in (low, high))
    return array_add(multiply(high, np.array(1 << 32, dtype=np.uint64)), low % np.uint64(P))


_SHIFTS = np.array([1 << 16 * i for i in range(4)], dtype=np.uint64)
_DIGIT_BITS = 22
_TERMS = 1 << 13  # of four products of 38 bits: their sum is exact in a float64
_DEPTH = 1 << 9  # of a block, so that it stays in the cache
_PRODUCTS = 1 << 18  # of one call of a BLAS, which would start threads for more: they cost more than they save


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The matrix product mod p of (m, k) and (k, n)."""
    if not backend.loaded():
        return _dot(a, b)
    from graphprover.kernels.cpu import products

    target = np.empty((a.shape[0], b.shape[1]), dtype=np.uint64)
    products.dot(np.ascontiguousarray(a), np.ascontiguousarray(b.T), target)
    return target


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """By exact products of floating-point matrices.

    The words of a are taken apart into 16 bits each, which meet b, 2^16 b, 2^32 b and 2^48 b in digits of 22 bits.
    """
    total = np.zeros((a.shape[0], b.shape[1]), dtype=np.uint64)
    for first in range(0, a.shape[1], _TERMS):
        left = np.ascontiguousarray(a[:, first : first + _TERMS], dtype="<u8").view("<u2")
        right = multiply(b[first : first + _TERMS, None], _SHIFTS[:, None]).reshape(left.shape[1], b.shape[1])
        digits = _exact_product(left, _digits(right)).astype(np.uint64).reshape(len(a), 3, b.shape[1])
        for i in range(3):
            scale = np.array(1 << _DIGIT_BITS * i, dtype=np.uint64)
            total = array_add(total, multiply(digits[:, i], scale))
    return total


def _exact_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The product of matrices of small integers, block by block, as float64."""
    product = np.zeros((left.shape[0], right.shape[1]))
    for first in range(0, len(right), _DEPTH):
        block = right[first : first + _DEPTH]
        rows = max(1, _PRODUCTS // max(block.size, 1))
        for at in range(0, len(left), rows):
            product[at : at + rows] += left[at : at + rows, first : first + _DEPTH].astype(np.float64) @ block
    return product


def _digits(a: np.ndarray) -> np.ndarray:
    """The three digits of each word of (k, n) as float64, (k, 3 n): all of the lowest first."""
    mask = np.uint64((1 << _DIGIT_BITS) - 1)
    digits = [((a >> np.uint64(_DIGIT_BITS * i)) & mask).astype(np.float64) for i in range(3)]
    return np.concatenate(digits, axis=1)


# Extension elements.


def exts(values: Sequence[Ext]) -> np.ndarray:
    """Elements as an array (3, n)."""
    return np.array(values, dtype=np.uint64).reshape(-1, EXTENSION_DEGREE).T


def ext_multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a * b for arrays (3, ...) with as many axes, which broadcast."""
    if not backend.loaded():
        return reduced(array_mul(a[:, None], b[None, :]))
    from graphprover.kernels.cpu import products

    product, factor = _copies(a, b)
    products.ext_multiply(product.reshape(EXTENSION_DEGREE, -1), factor.reshape(EXTENSION_DEGREE, -1))
    return product


def reduced(products: np.ndarray) -> np.ndarray:
    """From the products (3, 3, ...) of all coordinates to the coordinates (3, ...), as x^3 = x + 1."""
    x3 = array_add(products[1, 2], products[2, 1])
    x4 = products[2, 2]
    x1 = array_add(products[0, 1], products[1, 0])
    x2 = array_add(array_add(products[0, 2], products[2, 0]), products[1, 1])
    return np.stack([array_add(products[0, 0], x3), array_add(array_add(x1, x3), x4), array_add(x2, x4)])


def ext_inverses(a: np.ndarray) -> np.ndarray:
    """1/a of an array (3, n), as `ext_inv`; raises ZeroDivisionError if one is zero."""
    a0, a1, a2 = a
    both, rest = array_add(a0, a2), array_add(a1, a2)
    c0 = array_sub(multiply(both, both), multiply(a1, rest))
    c1 = array_sub(multiply(a2, rest), multiply(a1, both))
    c2 = array_sub(multiply(a1, a1), multiply(a2, both))
    norm = array_add(array_add(multiply(a0, c0), multiply(a2, c1)), multiply(a1, c2))
    return multiply(np.stack([c0, c1, c2]), inverses(norm))


def ext_powers_of(a: Ext, count: int) -> np.ndarray:
    """[1, a, a^2, ...] as an array (3, count), by doubling."""
    powers = exts([ONE])
    while powers.shape[1] < count:
        powers = np.concatenate([powers, ext_multiply(powers, exts([ext_pow(a, powers.shape[1])]))], axis=1)
    return powers[:, :count]
