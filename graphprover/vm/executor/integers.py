"""Integers of 256 bits, compiled: products, divisions, and points of curves.

An integer is a tuple of NUMBER_WORDS words, the lowest first; a product has twice as many.
"""

import numpy as np

from graphprover.kernels.cpu.field import leading_zeros, mul_high
from graphprover.kernels.cpu.wide import multiply_add
from graphprover.runtime.numba_cache import njit
from graphprover.vm.executor.inverses import invert
from graphprover.vm.program.curves import ALL_CURVES
from graphprover.vm.program.host_calls import CURVES, NUMBER_WORDS

_U = np.uint64
_0, _1, _2, _3, _31, _32, _63, _64 = map(np.uint64, (0, 1, 2, 3, 31, 32, 63, 64))
_MASK, _ALL = np.uint64(2**32 - 1), np.uint64(2**64 - 1)
ZERO = (_0, _0, _0, _0)
TWO, THREE = (_2, _0, _0, _0), (_3, _0, _0, _0)

assert NUMBER_WORDS == 4
assert len(ALL_CURVES) == CURVES


def words_of(x: int) -> tuple[np.uint64, ...]:
    """Return an integer below 2^256."""
    return tuple(np.uint64(x >> 64 * i & 2**64 - 1) for i in range(NUMBER_WORDS))


PRIMES = np.array([words_of(curve.p) for curve in ALL_CURVES])
COEFFICIENTS = np.array([words_of(curve.a % curve.p) for curve in ALL_CURVES])


@njit(nogil=True, cache=True)
def load(words, first):
    """Return the integer of the words from ``first`` on."""
    return words[first], words[first + 1], words[first + 2], words[first + 3]


@njit(nogil=True, cache=True)
def store(x, words, first):
    """Write an integer's words from ``first`` on."""
    for i in range(NUMBER_WORDS):
        words[first + i] = x[i]


@njit(nogil=True, cache=True)
def is_zero(x):
    """Return whether x is 0."""
    return x[0] | x[1] | x[2] | x[3] == _0


@njit(nogil=True, cache=True)
def _add(x, y):
    """Return x + y mod 2^256, and the carry."""
    a0, carry = multiply_add(_1, x[0], y[0], _0)
    a1, carry = multiply_add(_1, x[1], y[1], carry)
    a2, carry = multiply_add(_1, x[2], y[2], carry)
    a3, carry = multiply_add(_1, x[3], y[3], carry)
    return (a0, a1, a2, a3), carry


@njit(nogil=True, cache=True)
def subtract(x, y):
    """Return x - y mod 2^256, and the borrow: all bits, or 0."""
    a0 = x[0] - y[0]
    borrow = _U(x[0] < y[0])
    a1 = x[1] - y[1] - borrow
    borrow = _U(x[1] < y[1]) | _U(x[1] == y[1]) & borrow
    a2 = x[2] - y[2] - borrow
    borrow = _U(x[2] < y[2]) | _U(x[2] == y[2]) & borrow
    a3 = x[3] - y[3] - borrow
    borrow = _U(x[3] < y[3]) | _U(x[3] == y[3]) & borrow
    return (a0, a1, a2, a3), _0 - borrow


@njit(nogil=True, cache=True)
def less(x, y):
    """Return whether x < y."""
    return subtract(x, y)[1] != _0


@njit(nogil=True, cache=True)
def difference(x, y, p):
    """Return x - y mod p, of numbers below p."""
    found, borrow = subtract(x, y)
    return _add(found, (p[0] & borrow, p[1] & borrow, p[2] & borrow, p[3] & borrow))[0]


@njit(nogil=True, cache=True)
def _row(x, y, z):
    """Return x y + z as five words, for a word x."""
    a0, carry = multiply_add(x, y[0], z[0], _0)
    a1, carry = multiply_add(x, y[1], z[1], carry)
    a2, carry = multiply_add(x, y[2], z[2], carry)
    a3, carry = multiply_add(x, y[3], z[3], carry)
    return a0, a1, a2, a3, carry


@njit(nogil=True, cache=True)
def multiply(a, b, c):
    """Return a b + c, with twice as many words."""
    x0, a1, a2, a3, a4 = _row(a[0], b, c)
    x1, a2, a3, a4, a5 = _row(a[1], b, (a1, a2, a3, a4))
    x2, a3, a4, a5, a6 = _row(a[2], b, (a2, a3, a4, a5))
    x3, a4, a5, a6, a7 = _row(a[3], b, (a3, a4, a5, a6))
    return x0, x1, x2, x3, a4, a5, a6, a7


@njit(nogil=True, cache=True)
def _shifted(high, low, bits):
    """Return the upper word of two, shifted to the left by less than 64 bits."""
    return high << bits | low >> _1 >> (_63 - bits)


@njit(nogil=True, cache=True)
def _reciprocal_of_word(d):
    """Return floor((2^128 - 1) / d) - 2^64, for d from 2^63 on.

    It is the quotient of 2^128 - 1 - 2^64 d: schoolbook division by two digits of 32 bits.
    """
    high, low = d >> _32, d & _MASK
    rest, found = ~d, _0
    for _ in range(2):
        digit = rest // high
        left = rest - digit * high
        while digit > _MASK or (left <= _MASK and digit * low > (left << _32 | _MASK)):
            digit -= _1
            left += high
            if left > _MASK:
                break
        rest = (rest << _32 | _MASK) - digit * d
        found = found << _32 | digit
    return found


@njit(nogil=True, cache=True)
def _reciprocal(d1, d0):
    """Return floor((2^192 - 1) / (2^64 d1 + d0)) - 2^64, for d1 from 2^63 on.

    Moeller and Granlund, Improved division by invariant integers (2011), algorithm 6.
    """
    v = _reciprocal_of_word(d1)
    p = d1 * v + d0
    if p < d0:
        v -= _1
        if p >= d1:
            v -= _1
            p -= d1
        p -= d1
    high, low = mul_high(v, d0), v * d0
    p += high
    if p < high:
        v -= _1
        if p > d1 or (p == d1 and low >= d0):
            v -= _1
    return v


@njit(nogil=True, cache=True)
def _digit(u2, u1, u0, d1, d0, v):
    """Return floor of 2^128 u2 + 2^64 u1 + u0 over d, or 2^64 - 1 if that is less; ``v``: `_reciprocal` of d.

    Moeller and Granlund, algorithm 4; (u2, u1) is at most d.
    """
    if u2 == d1 and u1 == d0:
        return _ALL
    low, high = multiply_add(v, u2, u1, _0)
    high += u2
    r1 = u1 - high * d1
    t0, t1 = d0 * high, mul_high(d0, high)
    r0 = u0 - t0
    r1 = r1 - t1 - _U(u0 < t0)
    r1 = r1 - d1 - _U(r0 < d0)
    r0 = r0 - d0
    high += _1
    if r1 >= low:
        high -= _1
        r1, r0 = r1 + d1 + _U(r0 + d0 < r0), r0 + d0
    if r1 > d1 or (r1 == d1 and r0 >= d0):
        high += _1
    return high


@njit(nogil=True, cache=True)
def _step(r, word, d, v):
    """Return the quotient of 2^64 r + word by d, and the remainder, for r < d; ``v``: `_reciprocal` of d."""
    digit = _digit(r[3], r[2], r[1], d[3], d[2], v)
    a0, a1, a2, a3, a4 = _row(digit, d, ZERO)
    rest, borrow = subtract((word, r[0], r[1], r[2]), (a0, a1, a2, a3))
    above = r[3] - a4 + borrow
    while above != _0:  # the digit is too large, by 1 or 2
        rest, carry = _add(rest, d)
        above += carry
        digit -= _1
    return digit, rest


@njit(nogil=True, cache=True)
def divide(x, m):
    """Return whether the quotient of x, of twice as many words, by m fits; the quotient; and the remainder.

    A modulus 0 stands for 2^256. Schoolbook division (Knuth, The Art of Computer Programming, 4.3.1, Algorithm D), by
    the divisor d = 2^shift m with 1 as its highest bit.
    """
    if is_zero(m):
        return True, (x[4], x[5], x[6], x[7]), (x[0], x[1], x[2], x[3])
    d, words = m, 0
    while d[3] == _0:
        d, words = (_0, d[0], d[1], d[2]), words + 1
    bits = leading_zeros(d[3])
    d = d[0] << bits, _shifted(d[1], d[0], bits), _shifted(d[2], d[1], bits), _shifted(d[3], d[2], bits)
    v = _reciprocal(d[3], d[2])
    # The words of 2^shift x: four at first, five more, and as many zeros as m has at its upper end.
    r = _shifted(x[5], x[4], bits), _shifted(x[6], x[5], bits), _shifted(x[7], x[6], bits), _shifted(_0, x[7], bits)
    q4, r = _step(r, _shifted(x[4], x[3], bits), d, v)
    q3, r = _step(r, _shifted(x[3], x[2], bits), d, v)
    q2, r = _step(r, _shifted(x[2], x[1], bits), d, v)
    q1, r = _step(r, _shifted(x[1], x[0], bits), d, v)
    q0, r = _step(r, x[0] << bits, d, v)
    q, fits = (q0, q1, q2, q3), q4 == _0
    for _ in range(words):
        fits &= q[3] == _0
        digit, r = _step(r, _0, d, v)
        q = digit, q[0], q[1], q[2]
    for _ in range(words):
        r = r[1], r[2], r[3], _0
    back = _64 - bits
    if bits != _0:
        r = r[0] >> bits | r[1] << back, r[1] >> bits | r[2] << back, r[2] >> bits | r[3] << back, r[3] >> bits
    return fits, q, r


@njit(nogil=True, cache=True)
def modular(a, b, c, m):
    """Return whether q of a b + c = q m + r fits, q, and r."""
    return divide(multiply(a, b, c), m)


@njit(nogil=True, cache=True)
def slope(curve, double, first, second):
    """Return whether there is a slope of the line through two points, or of the tangent at the first; and the slope.

    ``first`` and ``second``: x and y, below p.
    """
    p = load(PRIMES[curve], 0)
    x1, y1 = first
    if double:
        above = modular(modular(x1, x1, ZERO, p)[2], THREE, load(COEFFICIENTS[curve], 0), p)[2]
        below = modular(y1, TWO, ZERO, p)[2]
    else:
        above, below = difference(second[1], y1, p), difference(second[0], x1, p)
    if is_zero(below):
        return False, ZERO
    return True, modular(above, invert(below, p), ZERO, p)[2]


@njit(nogil=True, cache=True)
def add(curve, double, first, second, line):
    """Return the sum of two points, or twice the first one, by the slope ``line`` of `slope`."""
    p = load(PRIMES[curve], 0)
    x1, y1 = first
    x2 = x1 if double else second[0]
    x3 = difference(difference(modular(line, line, ZERO, p)[2], x1, p), x2, p)
    y3 = difference(modular(line, difference(x1, x3, p), ZERO, p)[2], y1, p)
    return x3, y3
