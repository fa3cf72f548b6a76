"""Inverses of integers of 256 bits mod an odd number, compiled.

The variable-time form of Bernstein and Yang, Fast constant-time gcd computation and modular inversion (CHES 2019): f
and g, at first p and x, take division steps until g is 0. A batch of BATCH steps depends on the lowest BATCH bits of f
and g alone and is a matrix, which then changes f, g and the factors d, e with d x = f and e x = g mod p.

Here a number is a tuple of five int64, parts of BATCH bits, the lowest first, the last of them signed.
"""

import numpy as np

from graphprover.kernels.cpu.field import trailing_zeros
from graphprover.kernels.cpu.wide import PART_BITS, combine
from graphprover.runtime.numba_cache import njit

BATCH = PART_BITS
PARTS = 5  # 54 bits more than the numbers: d and e grow by p / 2 a batch, of which there are at most 12

_I, _U = np.int64, np.uint64
_0, _1 = map(np.int64, (0, 1))
_BATCH, _MASK = np.int64(BATCH), np.int64((1 << BATCH) - 1)
_ZERO = (_0,) * PARTS


@njit(nogil=True, cache=True)
def _split(x):
    """Return the parts of a number of words."""
    return (
        _I(x[0]) & _MASK,
        _I(x[0] >> _U(62) | x[1] << _U(2)) & _MASK,
        _I(x[1] >> _U(60) | x[2] << _U(4)) & _MASK,
        _I(x[2] >> _U(58) | x[3] << _U(6)) & _MASK,
        _I(x[3] >> _U(56)),
    )


@njit(nogil=True, cache=True)
def _join(x):
    """Return the words of parts, of a number below 2^256."""
    a, b, c, d, e = _U(x[0]), _U(x[1]), _U(x[2]), _U(x[3]), _U(x[4])
    return a | b << _U(62), b >> _U(2) | c << _U(60), c >> _U(4) | d << _U(58), d >> _U(6) | e << _U(56)


@njit(nogil=True, cache=True)
def _steps(delta, f, g):
    """Take BATCH division steps on low bits; return delta and the matrix (u, v, q, r), multiplied by 2^BATCH."""
    u, v, q, r = _1, _0, _0, _1
    left = _BATCH
    while True:
        zeros = trailing_zeros(g | _1 << left)
        g >>= zeros
        u, v, left, delta = u << zeros, v << zeros, left - zeros, delta + zeros
        if left == 0:
            return delta, u, v, q, r
        if delta > 0:
            delta = -delta
            f, g = g, -f
            u, v, q, r = q, r, -u, -v
        # As delta <= 0, the next 1 - delta steps only add f to g, or not. f (f^2 - 2) is -1 / f mod 64.
        count = min(min(_1 - delta, left), _I(6))
        times = g * f * (f * f - 2) & ((_1 << count) - 1)
        g, q, r = g + times * f, q + times * u, r + times * v


@njit(nogil=True, cache=True)
def _combined(u, x, v, y, p, inverse):
    """Return (u x + v y) / 2^BATCH mod p; ``inverse`` is of p, mod 2^BATCH.

    Of multiples of 2^BATCH this is the integer, whatever p.
    """
    # A multiple of p from -2^(BATCH - 1) p on makes the lowest part 0.
    times = (((u * x[0] + v * y[0]) * -inverse & _MASK) ^ _1 << _BATCH - 1) - (_1 << _BATCH - 1)
    _, low, high = combine(u, x[0], v, y[0], times, p[0], _0, _0)
    r0, low, high = combine(u, x[1], v, y[1], times, p[1], low, high)
    r1, low, high = combine(u, x[2], v, y[2], times, p[2], low, high)
    r2, low, high = combine(u, x[3], v, y[3], times, p[3], low, high)
    r3, low, high = combine(u, x[4], v, y[4], times, p[4], low, high)
    return r0, r1, r2, r3, low


@njit(nogil=True, cache=True)
def _sum(x, y, sign):
    """Return x + y or x - y."""
    r0, low, high = combine(_1, x[0], sign, y[0], _0, _0, _0, _0)
    r1, low, high = combine(_1, x[1], sign, y[1], _0, _0, low, high)
    r2, low, high = combine(_1, x[2], sign, y[2], _0, _0, low, high)
    r3, low, high = combine(_1, x[3], sign, y[3], _0, _0, low, high)
    return r0, r1, r2, r3, low + x[4] + sign * y[4]


@njit(nogil=True, cache=True)
def invert(x, p):
    """Return 1 / x mod p, of numbers of words, for an odd p, and 0 < x < p without a common divisor."""
    prime = _split(p)
    f, g, d, e = prime, _split(x), _ZERO, (_1, _0, _0, _0, _0)
    inverse = prime[0]
    for _ in range(5):  # 3 bits are right at first, each turn doubles them
        inverse *= _I(2) - prime[0] * inverse
    delta = _1
    while g[0] | g[1] | g[2] | g[3] | g[4] != _0:
        delta, u, v, q, r = _steps(delta, f[0], g[0])
        f, g = _combined(u, f, v, g, prime, inverse), _combined(q, f, r, g, prime, inverse)
        d, e = _combined(u, d, v, e, prime, inverse), _combined(q, d, r, e, prime, inverse)
    result = _sum(_ZERO, d, -_1 if f[PARTS - 1] < _0 else _1)  # f is 1 or -1
    while result[PARTS - 1] < _0:
        result = _sum(result, prime, _1)
    while result[PARTS - 1] >= _0:
        result = _sum(result, prime, -_1)
    return _join(_sum(result, prime, _1))
