"""Integers of 256 bits, compiled: products, divisions, and points of curves.

An integer is a uint64 array of LIMBS limbs of 32 bits, the lowest first; a product has twice as many.
"""

import numpy as np

from graphprover.runtime.numba_cache import njit
from graphprover.vm.executor.inverses import invert
from graphprover.vm.program.curves import ALL_CURVES
from graphprover.vm.program.host_calls import CURVES, NUMBER_WORDS

LIMBS = 2 * NUMBER_WORDS

_U = np.uint64
_0, _1, _31, _32, _MASK = map(np.uint64, (0, 1, 31, 32, 2**32 - 1))


assert len(ALL_CURVES) == CURVES


def limbs_of(x: int) -> np.ndarray:
    """Return an integer below 2^256 as limbs."""
    return np.array([x >> 32 * i & 0xFFFFFFFF for i in range(LIMBS)], dtype=np.uint64)


PRIMES = np.stack([limbs_of(curve.p) for curve in ALL_CURVES])
COEFFICIENTS = np.stack([limbs_of(curve.a % curve.p) for curve in ALL_CURVES])


@njit(nogil=True, cache=True)
def limbs(words, first, found):
    """Write the limbs of the words from ``first`` on."""
    for i in range(len(found) // 2):
        found[2 * i] = words[first + i] & _MASK
        found[2 * i + 1] = words[first + i] >> _32


@njit(nogil=True, cache=True)
def join(x, words, first):
    """Write an integer's words from ``first`` on: the inverse of `limbs`."""
    for i in range(len(x) // 2):
        words[first + i] = x[2 * i] | x[2 * i + 1] << _32


@njit(nogil=True, cache=True)
def multiply(a, b, c, product):
    """Write a b + c, with twice as many limbs."""
    for i in range(LIMBS):
        product[i] = c[i]
        product[i + LIMBS] = _0
    for i in range(LIMBS):
        carry = _0
        for j in range(LIMBS):
            carry += product[i + j] + a[i] * b[j]
            product[i + j] = carry & _MASK
            carry >>= _32
        for j in range(i + LIMBS, 2 * LIMBS):
            carry += product[j]
            product[j] = carry & _MASK
            carry >>= _32


@njit(nogil=True, cache=True)
def divide(x, m, q, r):
    """Write the quotient of x, of twice as many limbs, by m, and the remainder; return whether the quotient fits.

    A modulus 0 stands for 2^256. Schoolbook division (Knuth, The Art of Computer Programming, 4.3.1, Algorithm D).
    """
    size = LIMBS
    while size > 0 and m[size - 1] == _0:
        size -= 1
    if size == 0:
        q[:] = x[LIMBS:]
        r[:] = x[:LIMBS]
        return True
    shift = _0
    while m[size - 1] << shift >> _31 == _0:
        shift += _1
    divisor = np.zeros(LIMBS, dtype=np.uint64)
    rest = np.zeros(2 * LIMBS + 1, dtype=np.uint64)
    for i in range(size):
        divisor[i] = m[i] << shift & _MASK | (m[i - 1] << shift >> _32 if i > 0 else _0)
    for i in range(2 * LIMBS):
        rest[i] = x[i] << shift & _MASK | (x[i - 1] << shift >> _32 if i > 0 else _0)
    rest[2 * LIMBS] = x[2 * LIMBS - 1] << shift >> _32
    q[:] = _0
    fits = True
    for place in range(2 * LIMBS - size, -1, -1):
        top = rest[place + size] << _32 | rest[place + size - 1]
        digit = top // divisor[size - 1]
        left = top - digit * divisor[size - 1]
        while digit > _MASK or (
            size > 1 and left <= _MASK and digit * divisor[size - 2] > (left << _32 | rest[place + size - 2])
        ):
            digit -= _1
            left += divisor[size - 1]
            if left > _MASK:
                break
        borrow = carry = _0
        for i in range(size):
            carry += digit * divisor[i]
            taken = rest[place + i] - (carry & _MASK) - borrow
            rest[place + i] = taken & _MASK
            borrow = taken >> _32 & _1
            carry >>= _32
        taken = rest[place + size] - carry - borrow
        rest[place + size] = taken & _MASK
        if taken >> _32 & _1:  # the digit was 1 too large
            digit -= _1
            carry = _0
            for i in range(size):
                carry += rest[place + i] + divisor[i]
                rest[place + i] = carry & _MASK
                carry >>= _32
            rest[place + size] = rest[place + size] + carry & _MASK
        if place < LIMBS:
            q[place] = digit
        elif digit != _0:
            fits = False
    for i in range(LIMBS):
        r[i] = (rest[i] >> shift | rest[i + 1] << (_32 - shift) & _MASK) if i < size else _0
    return fits


@njit(nogil=True, cache=True)
def modular(a, b, c, m, q, r):
    """Write q and r of a b + c = q m + r; return whether q fits."""
    product = np.empty(2 * LIMBS, dtype=np.uint64)
    multiply(a, b, c, product)
    return divide(product, m, q, r)


@njit(nogil=True, cache=True)
def is_zero(x):
    """Return whether x is 0."""
    return not x.any()


@njit(nogil=True, cache=True)
def less(x, y):
    """Return whether x < y."""
    for i in range(LIMBS - 1, -1, -1):
        if x[i] != y[i]:
            return x[i] < y[i]
    return False


@njit(nogil=True, cache=True)
def subtract(x, y, found):
    """Write x - y mod 2^256; return the borrow."""
    borrow = _0
    for i in range(LIMBS):
        taken = x[i] - y[i] - borrow
        found[i] = taken & _MASK
        borrow = taken >> _32 & _1
    return borrow


@njit(nogil=True, cache=True)
def difference(x, y, p, found):
    """Write x - y mod p, for numbers below p."""
    if subtract(x, y, found):
        carry = _0
        for i in range(LIMBS):
            carry += found[i] + p[i]
            found[i] = carry & _MASK
            carry >>= _32


@njit(nogil=True, cache=True)
def slope(curve, double, first, second, found):
    """Write the slope of the line through two points, or of the tangent at the first; return whether there is one.

    ``first`` and ``second``: x, then y, of limbs, below p.
    """
    p = PRIMES[curve]
    x1, y1 = first[:LIMBS], first[LIMBS:]
    above, below = np.empty(LIMBS, dtype=np.uint64), np.empty(LIMBS, dtype=np.uint64)
    q, zero = np.empty(LIMBS, dtype=np.uint64), np.zeros(LIMBS, dtype=np.uint64)
    if double:
        modular(x1, x1, zero, p, q, above)
        three = zero.copy()
        three[0] = 3
        modular(above, three, COEFFICIENTS[curve], p, q, above)
        three[0] = 2
        modular(y1, three, zero, p, q, below)
    else:
        difference(second[LIMBS:], y1, p, above)
        difference(second[:LIMBS], x1, p, below)
    if is_zero(below):
        return False
    invert(below, p, q)
    modular(above, q, zero, p, below, found)
    return True


@njit(nogil=True, cache=True)
def add(curve, double, first, second, line, result):
    """Write the sum of two points, or twice the first one, by the slope ``line`` of `slope`."""
    p = PRIMES[curve]
    x1, y1 = first[:LIMBS], first[LIMBS:]
    x2 = x1 if double else second[:LIMBS]
    x3, y3 = result[:LIMBS], result[LIMBS:]
    q, part = np.empty(LIMBS, dtype=np.uint64), np.zeros(LIMBS, dtype=np.uint64)
    modular(line, line, part, p, q, x3)
    difference(x3, x1, p, x3)
    difference(x3, x2, p, x3)
    difference(x1, x3, p, part)
    modular(line, part, np.zeros(LIMBS, dtype=np.uint64), p, q, y3)
    difference(y3, y1, p, y3)
