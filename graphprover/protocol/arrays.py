"""The verifier's arithmetic on arrays of field elements, by NumPy or by the prover's kernels.

Arrays are uint64 of canonical words. Arrays of extension elements have shape (3, ...), coordinates first. Both
implementations give identical words; `graphprover.protocol.backend` selects one.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from graphprover.field import EXTENSION_DEGREE, Ext, P, array_add, array_mul, array_sub, ext_pow, ext_powers, inv
from graphprover.protocol import backend


def kernels() -> Any:
    """Return the module of the prover's kernels with the verifier's operations, or None if they are not loaded."""
    if not backend.loaded():
        return None
    from graphprover.kernels.cpu import products

    return products


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a * b mod p for arrays that broadcast."""
    products = kernels()
    if not products:
        return array_mul(a, b)
    product, factor = _copies(a, b)
    products.multiply(product.reshape(-1), factor.reshape(-1))
    return product


def _copies(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return copies of both in the broadcast shape, (2, ...), for a kernel that overwrites the first."""
    copies = np.empty((2, *np.broadcast(a, b).shape), dtype=np.uint64)
    copies[0], copies[1] = a, b
    return copies


_WINDOW_BITS = 8
_WINDOW = (1 << _WINDOW_BITS) - 1


def powers_of(base: int, exponents: np.ndarray) -> np.ndarray:
    """Return base^e mod p for each e of an array of non-negative integers, in the same shape."""
    powers = _window(base)[exponents & _WINDOW]
    for bits in range(_WINDOW_BITS, int(exponents.max(initial=0)).bit_length(), _WINDOW_BITS):
        base = pow(base, 1 << _WINDOW_BITS, P)
        powers = multiply(powers, _window(base)[(exponents >> bits) & _WINDOW])
    return powers


@lru_cache(maxsize=256)  # bases are roots of unity
def _window(base: int) -> np.ndarray:
    """Return base^0 ... base^_WINDOW, uint64 (_WINDOW + 1,)."""
    powers = [1]
    while len(powers) <= _WINDOW:
        powers.append(powers[-1] * base % P)
    return np.array(powers, dtype=np.uint64)


def inverses(a: np.ndarray) -> np.ndarray:
    """Return 1/a mod p for a vector (n,), by one inversion of the product. Raises ZeroDivisionError for a zero."""
    if len(a) < 2:
        return np.array([inv(value) for value in a.tolist()], dtype=np.uint64)
    even, odd = a[0::2], np.append(a[1::2], np.ones(len(a) % 2, dtype=np.uint64))
    pairs = inverses(multiply(even, odd))
    return np.stack([multiply(pairs, odd), multiply(pairs, even)], axis=1).reshape(-1)[: len(a)]


def sums(a: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the sums mod p of segments of the last axis: (..., n) to (..., segments).

    Args:
        a: canonical words (..., n).
        starts: first index of each segment, ascending; segments have 1 to 2^32 elements.
    """
    low, high = a & np.uint64(0xFFFFFFFF), a >> np.uint64(32)
    low, high = (np.add.reduceat(half, starts, axis=-1) for half in (low, high))
    return array_add(multiply(high, np.array(1 << 32, dtype=np.uint64)), low % np.uint64(P))


_SHIFTS = np.array([1 << 16 * i for i in range(4)], dtype=np.uint64)
_DIGIT_BITS = 22
_TERMS = 1 << 13  # terms of 4 products of 38 bits each, whose sum is exact in a float64
_DEPTH = 1 << 9  # rows of a block, so that it stays in the cache
_PRODUCTS = 1 << 18  # products of one BLAS call; a larger call would start threads, which cost more than they save


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the matrix product mod p of (m, k) and (k, n): uint64 (m, n)."""
    products = kernels()
    if not products:
        return _dot(a, b)
    target = np.empty((a.shape[0], b.shape[1]), dtype=np.uint64)
    products.dot(np.ascontiguousarray(a), np.ascontiguousarray(b.T), target)
    return target


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the matrix product mod p of (m, k) and (k, n) by exact products of floating-point matrices.

    Each word of ``a`` is split into 4 digits of 16 bits, which are multiplied by b, 2^16 b, 2^32 b and 2^48 b, each
    split into 3 digits of 22 bits.
    """
    total = np.zeros((a.shape[0], b.shape[1]), dtype=np.uint64)  # (m, n)
    for first in range(0, a.shape[1], _TERMS):  # t terms at a time
        left = np.ascontiguousarray(a[:, first : first + _TERMS], dtype="<u8").view("<u2")  # (m, 4 t)
        # (t, 4, n) to (4 t, n): the four shifted copies of a row of b are neighbours, as the digits of a word of a.
        right = multiply(b[first : first + _TERMS, None], _SHIFTS[:, None]).reshape(left.shape[1], b.shape[1])
        digits = _exact_product(left, _digits(right)).astype(np.uint64).reshape(len(a), 3, b.shape[1])  # (m, 3, n)
        for i in range(3):
            scale = np.array(1 << _DIGIT_BITS * i, dtype=np.uint64)
            total = array_add(total, multiply(digits[:, i], scale))
    return total


def _exact_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the product of matrices of small integers, (m, k) and (k, n), block by block, as float64 (m, n)."""
    product = np.zeros((left.shape[0], right.shape[1]))
    for first in range(0, len(right), _DEPTH):
        block = right[first : first + _DEPTH]
        rows = max(1, _PRODUCTS // max(block.size, 1))
        for at in range(0, len(left), rows):
            product[at : at + rows] += left[at : at + rows, first : first + _DEPTH].astype(np.float64) @ block
    return product


def _digits(a: np.ndarray) -> np.ndarray:
    """Return the three 22-bit digits of each word of (k, n) as float64 (k, 3 n): all lowest digits first."""
    mask = np.uint64((1 << _DIGIT_BITS) - 1)
    digits = [((a >> np.uint64(_DIGIT_BITS * i)) & mask).astype(np.float64) for i in range(3)]
    return np.concatenate(digits, axis=1)


# Extension elements.


def exts(values: Sequence[Ext]) -> np.ndarray:
    """Return n extension elements as an array (3, n)."""
    return np.array(values, dtype=np.uint64).reshape(-1, EXTENSION_DEGREE).T


def ext_multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a * b for arrays (3, ...) of extension elements with equal numbers of axes, which broadcast."""
    products = kernels()
    if not products:
        return reduced(array_mul(a[:, None], b[None, :]))
    product, factor = _copies(a, b)
    products.ext_multiply(product.reshape(EXTENSION_DEGREE, -1), factor.reshape(EXTENSION_DEGREE, -1))
    return product


def reduced(products: np.ndarray) -> np.ndarray:
    """Return the coordinates (3, ...) of a product from the products (3, 3, ...) of coordinates, by x^3 = x + 1."""
    x3 = array_add(products[1, 2], products[2, 1])
    x4 = products[2, 2]
    x1 = array_add(products[0, 1], products[1, 0])
    x2 = array_add(array_add(products[0, 2], products[2, 0]), products[1, 1])
    return np.stack([array_add(products[0, 0], x3), array_add(array_add(x1, x3), x4), array_add(x2, x4)])


def ext_inverses(a: np.ndarray) -> np.ndarray:
    """Return 1/a for an array (3, n), as `graphprover.field.ext_inv`. Raises ZeroDivisionError for a zero."""
    if products := kernels():
        target = np.empty(a.shape, dtype=np.uint64)
        products.ext_inverse(np.ascontiguousarray(a), target, 0, a.shape[1])
        return target
    a0, a1, a2 = a
    both, rest = array_add(a0, a2), array_add(a1, a2)
    c0 = array_sub(multiply(both, both), multiply(a1, rest))
    c1 = array_sub(multiply(a2, rest), multiply(a1, both))
    c2 = array_sub(multiply(a1, a1), multiply(a2, both))
    norm = array_add(array_add(multiply(a0, c0), multiply(a2, c1)), multiply(a1, c2))
    return multiply(np.stack([c0, c1, c2]), inverses(norm))


def ext_powers_of(a: Ext, count: int) -> np.ndarray:
    """Return [1, a, a^2, ...] as an array (3, count): the products of powers below s and powers of a^s."""
    size = 1 << (count.bit_length() // 2)  # s, about the square root of the count
    low, high = exts(ext_powers(a, size)), exts(ext_powers(ext_pow(a, size), -(-count // size)))
    return ext_multiply(high[:, :, None], low[:, None]).reshape(EXTENSION_DEGREE, -1)[:, :count]
