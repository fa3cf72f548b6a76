"""The Goldilocks field and its cubic extension in Python integers and NumPy, as used by the verifier.

An element of the base field is an ``int`` in [0, P); an element of the extension F[x]/(x^3 - x - 1) is a tuple of three
such integers, lowest power first. This module imports only NumPy; compiled kernels are in `graphprover.kernels`.
"""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

P = 0xFFFFFFFF00000001
GENERATOR = 7
TWO_ADICITY = 32
EXTENSION_DEGREE = 3  # base elements of an extension element
ROOT_OF_UNITY = 0x185629DCDA58878C  # of order 2^32: 7^((p - 1) / 2^32)

Ext = tuple[int, int, int]
ZERO: Ext = (0, 0, 0)
ONE: Ext = (1, 0, 0)


def inv(a: int) -> int:
    """Return 1/a mod p. Raises ZeroDivisionError if a is 0."""
    if a % P == 0:
        raise ZeroDivisionError("inverse of zero in the field")
    return pow(a, -1, P)


@lru_cache(maxsize=TWO_ADICITY + 1)
def root_of_unity(log_order: int) -> int:
    """Return a primitive 2^log_order-th root of unity, Plonky3's ``two_adic_generator``.

    Raises:
        ValueError: ``log_order`` is negative or above `TWO_ADICITY`.
    """
    if not 0 <= log_order <= TWO_ADICITY:
        raise ValueError(f"no root of unity of order 2^{log_order} in Goldilocks")
    return pow(ROOT_OF_UNITY, 1 << (TWO_ADICITY - log_order), P)


def reverse_bits(index: int, bits: int) -> int:
    """Return the lowest ``bits`` bits of ``index`` in reverse order."""
    result = 0
    for _ in range(bits):
        result = result << 1 | index & 1
        index >>= 1
    return result


def ext(a: int) -> Ext:
    """Return the base element a as an extension element."""
    return (a % P, 0, 0)


def ext_add(a: Ext, b: Ext) -> Ext:
    """Return a + b."""
    return ((a[0] + b[0]) % P, (a[1] + b[1]) % P, (a[2] + b[2]) % P)


def ext_sub(a: Ext, b: Ext) -> Ext:
    """Return a - b."""
    return ((a[0] - b[0]) % P, (a[1] - b[1]) % P, (a[2] - b[2]) % P)


def ext_neg(a: Ext) -> Ext:
    """Return -a."""
    return (-a[0] % P, -a[1] % P, -a[2] % P)


def ext_mul(a: Ext, b: Ext) -> Ext:
    """Return a * b, reduced by x^3 = x + 1."""
    a0, a1, a2 = a
    b0, b1, b2 = b
    c3 = a1 * b2 + a2 * b1
    c4 = a2 * b2
    return (
        (a0 * b0 + c3) % P,
        (a0 * b1 + a1 * b0 + c3 + c4) % P,
        (a0 * b2 + a1 * b1 + a2 * b0 + c4) % P,
    )


def ext_scale(a: Ext, s: int) -> Ext:
    """Return a times the base element s."""
    return (a[0] * s % P, a[1] * s % P, a[2] * s % P)


def ext_inv(a: Ext) -> Ext:
    """Return 1/a by the adjugate of the matrix of multiplication by a. Raises ZeroDivisionError if a is 0."""
    a0, a1, a2 = a
    # Columns of the matrix are a, a*x, a*x^2; the first column of its inverse is 1/a.
    c0 = (a0 + a2) * (a0 + a2) - a1 * (a1 + a2)
    c1 = a2 * (a1 + a2) - a1 * (a0 + a2)
    c2 = a1 * a1 - a2 * (a0 + a2)
    norm = inv(a0 * c0 + a2 * c1 + a1 * c2)
    return (c0 * norm % P, c1 * norm % P, c2 * norm % P)


def ext_pow(a: Ext, exponent: int) -> Ext:
    """Return a^exponent for a non-negative exponent."""
    result = ONE
    while exponent:
        if exponent & 1:
            result = ext_mul(result, a)
        a = ext_mul(a, a)
        exponent >>= 1
    return result


def ext_powers(a: Ext, count: int) -> list[Ext]:
    """Return [1, a, a^2, ...], ``count`` elements."""
    powers = [ONE] * min(count, 1)
    while len(powers) < count:
        powers.append(ext_mul(powers[-1], a))
    return powers


def ext_sum(values: Iterable[Ext]) -> Ext:
    """Return the sum of extension elements."""
    total = [0, 0, 0]
    for value in values:
        for i in range(3):
            total[i] += value[i]
    return (total[0] % P, total[1] % P, total[2] % P)


# Elementwise NumPy operations on uint64 arrays of canonical words.

_P = np.uint64(P)
_EPSILON = np.uint64(0xFFFFFFFF)  # 2^64 mod p
_LIMB_BITS = np.uint64(32)


def array_add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a + b mod p for canonical arrays that broadcast."""
    return array_sub(a, _P - b)


def array_sub(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a - b mod p for arrays that broadcast, with a < p and b <= p."""
    return a - b - np.less(a, b) * _EPSILON


def array_mul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a * b mod p for arrays that broadcast: four 32-bit products, reduced by 2^64 = 2^32 - 1 and 2^96 = -1."""
    if not a.ndim and not b.ndim:  # NumPy's scalars cannot be changed in place
        return array_mul(a.reshape(1), b).reshape(())
    al, ah, bl, bh = a & _EPSILON, a >> _LIMB_BITS, b & _EPSILON, b >> _LIMB_BITS
    low, cross, other, high = al * bl, ah * bl, al * bh, ah * bh
    # In place from here on: allocating arrays costs more than the arithmetic.
    room = low >> _LIMB_BITS
    cross += room
    np.bitwise_and(cross, _EPSILON, out=room)
    other += room
    cross >>= _LIMB_BITS
    high += cross
    np.right_shift(other, _LIMB_BITS, out=room)
    high += room
    other <<= _LIMB_BITS
    low &= _EPSILON
    low |= other
    # The product is high * 2^64 + low.
    np.right_shift(high, _LIMB_BITS, out=room)
    np.multiply(low < room, _EPSILON, out=other)
    low -= room
    low -= other
    high &= _EPSILON
    np.left_shift(high, _LIMB_BITS, out=room)
    room -= high
    low += room
    np.multiply(low < room, _EPSILON, out=other)
    low += other
    np.multiply(low >= _P, _P, out=other)
    low -= other
    return low


def array_reverse_bits(indices: np.ndarray, bits: int) -> np.ndarray:
    """Return the lowest ``bits`` bits of each index (int64) in reverse order."""
    reversed_ = np.zeros_like(indices)
    for first in range(0, bits, 8):
        reversed_ = (reversed_ << 8) | _REVERSED_BYTES[(indices >> first) & 0xFF]
    return reversed_ >> (-bits % 8)


_REVERSED_BYTES = np.array([reverse_bits(byte, 8) for byte in range(256)])
