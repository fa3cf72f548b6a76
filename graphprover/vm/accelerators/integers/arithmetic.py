"""Integers of several words, compiled: products, divisions, elements of Fp2, and points of curves.

An integer is a tuple of words, the lowest first, at least three; a product has twice as many. Coordinates of points
have NUMBER_WORDS.
"""

import numpy as np

from graphprover.kernels.cpu.field import leading_zeros, mul_high
from graphprover.kernels.cpu.wide import multiply_add
from graphprover.kernels.cpu.words import (
    any_bit,
    down,
    extended,
    lower,
    masked,
    minus,
    multiply,
    plus,
    row,
    shifted,
    up,
    upper,
)
from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.integers.inverses import invert
from graphprover.vm.accelerators.integers.point import ALL_CURVES, CURVES
from graphprover.vm.accelerators.integers.size import NUMBER_WORDS, WIDE_WORDS

_U = np.uint64
_0, _1, _2, _3, _32, _64 = map(np.uint64, (0, 1, 2, 3, 32, 64))
_MASK, _ALL = np.uint64(2**32 - 1), np.uint64(2**64 - 1)
ZERO = (_0,) * NUMBER_WORDS
ZERO_WIDE = (_0,) * WIDE_WORDS
TWO, THREE = (_2, _0, _0, _0), (_3, _0, _0, _0)

assert NUMBER_WORDS == 4
assert len(ALL_CURVES) == CURVES


def words_of(x: int, words: int = NUMBER_WORDS) -> tuple[np.uint64, ...]:
    """Return an integer of this number of words."""
    return tuple(np.uint64(x >> 64 * i & 2**64 - 1) for i in range(words))


PRIMES = np.array([words_of(curve.p) for curve in ALL_CURVES])
COEFFICIENTS = np.array([words_of(curve.a % curve.p) for curve in ALL_CURVES])


@njit(nogil=True, cache=True)
def load(words, first):
    """Return the integer of NUMBER_WORDS words from ``first`` on."""
    return words[first], words[first + 1], words[first + 2], words[first + 3]


@njit(nogil=True, cache=True)
def load_as(like, words, first):
    """Return the integer from ``first`` on with as many words as ``like``."""
    found = like
    for i in range(len(like)):
        found = up(found, words[first + len(like) - 1 - i])
    return found


@njit(nogil=True, cache=True)
def store(x, words, first):
    """Write an integer's words from ``first`` on."""
    for i in range(len(x)):
        words[first + i] = x[i]


@njit(nogil=True, cache=True)
def is_zero(x):
    """Return whether x is 0."""
    return any_bit(x) == _0


@njit(nogil=True, cache=True)
def subtract(x, y):
    """Return x - y mod 2^64 to the number of words, and the borrow: all bits, or 0."""
    found = minus(x, y)
    return found[:-1], found[-1]


@njit(nogil=True, cache=True)
def less(x, y):
    """Return whether x < y."""
    return minus(x, y)[-1] != _0


@njit(nogil=True, cache=True)
def difference(x, y, p):
    """Return x - y mod p, of numbers below p."""
    found, borrow = subtract(x, y)
    return plus(found, masked(p, borrow))[:-1]


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
    digit = _digit(r[-1], r[-2], r[-3], d[-1], d[-2], v)
    taken = row(digit, d, masked(d, _0))
    rest, borrow = subtract(up(r, word), taken[:-1])
    above = r[-1] - taken[-1] + borrow
    while above != _0:  # the digit is too large, by 1 or 2
        found = plus(rest, d)
        rest, above = found[:-1], above + found[-1]
        digit -= _1
    return digit, rest


@njit(nogil=True, cache=True)
def divide(x, m):
    """Return whether the quotient of x, of twice as many words, by m fits; the quotient; and the remainder.

    A modulus 0 stands for 2^64 to the number of words. Schoolbook division (Knuth, The Art of Computer Programming,
    4.3.1, Algorithm D), by the divisor d = 2^shift m with 1 as its highest bit.
    """
    if is_zero(m):
        return True, upper(x), lower(x)
    d, words = m, 0
    while d[-1] == _0:
        d, words = up(d, _0), words + 1
    bits = leading_zeros(d[-1])
    d = shifted(d, bits)
    v = _reciprocal(d[-1], d[-2])
    # The words of 2^shift x: first the number of words of m, then one more, and a zero for each zero at m's upper end.
    all_words = shifted(extended(x), bits)
    r, left = upper(all_words), lower(all_words)
    q, fits = masked(m, _0), True
    for _ in range(len(left) + words):
        fits &= q[-1] == _0
        digit, r = _step(r, left[-1], d, v)
        q, left = up(q, digit), up(left, _0)
    for _ in range(words):
        r = down(r)
    if bits != _0:
        r = shifted(extended(r), _64 - bits)[1:]
    return fits, q, r


@njit(nogil=True, cache=True)
def modular(a, b, c, m):
    """Return whether q of a b + c = q m + r fits, q, and r."""
    return divide(multiply(a, b, c), m)


@njit(nogil=True, cache=True)
def _sum_mod(a, b, c, d, e, p):
    """Return a b + c d + e mod p, of a, b, c, d up to p and any e, for p below a fourth of the largest integer."""
    product, other = multiply(a, b, e), multiply(c, d, masked(e, _0))
    return divide(plus(product, other)[:-1], p)[2]


@njit(nogil=True, cache=True)
def _reduced(x, p):
    """Return x mod p, by few subtractions: p is no small part of the largest integer."""
    while not less(x, p):
        x = subtract(x, p)[0]
    return x


@njit(nogil=True, cache=True)
def multiply_add_fp2(a, b, c, p):
    """Return a b + c in Fp2. Elements are pairs, real part and factor of u, of any numbers; see `_sum_mod` for p."""
    a0, a1, b0, b1 = _reduced(a[0], p), _reduced(a[1], p), _reduced(b[0], p), _reduced(b[1], p)
    minus_b1 = subtract(p, b1)[0]
    return _sum_mod(a0, b0, a1, minus_b1, c[0], p), _sum_mod(a0, b1, a1, b0, c[1], p)


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
