"""Inverses of integers of 256 bits mod an odd number, compiled.

The variable-time form of Bernstein and Yang, Fast constant-time gcd computation and modular inversion (CHES 2019): f
and g, at first p and x, take division steps until g is 0. A batch of BATCH steps depends on the lowest BATCH bits of f
and g alone and is a matrix, which then changes f, g and the factors d, e with d x = f and e x = g mod p.

Here a number is an int64 array of PARTS parts of BATCH bits, the lowest first, the last of them signed.
"""

import numpy as np

from graphprover.kernels.cpu.field import trailing_zeros
from graphprover.runtime.numba_cache import njit

BATCH = 30
PARTS = 9  # 14 bits more than the numbers: d and e grow by p / 2 a batch, of which there are at most 25

_I = np.int64
_0, _1 = map(np.int64, (0, 1))
_BATCH, _MASK = np.int64(BATCH), np.int64((1 << BATCH) - 1)


@njit(nogil=True, cache=True)
def _split(limbs, parts):
    """Write the parts of limbs of 32 bits."""
    for i in range(PARTS):
        at, shift = BATCH * i // 32, BATCH * i % 32
        wide = _I(limbs[at]) | (_I(limbs[at + 1]) << 32 if at + 1 < len(limbs) else _0)
        parts[i] = wide >> shift & _MASK


@njit(nogil=True, cache=True)
def _join(parts, limbs):
    """Write the limbs of parts, of a number below 2^256."""
    for i in range(len(limbs)):
        at, shift = 32 * i // BATCH, 32 * i % BATCH
        wide = parts[at] | parts[at + 1] << BATCH
        if at + 2 < PARTS:
            wide |= parts[at + 2] << 2 * BATCH  # of which two bits count at most
        limbs[i] = np.uint64(wide >> shift & _I(0xFFFFFFFF))


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
def _apply(u, v, q, r, x, y, p, inverse):
    """Replace x, y by (u x + v y) / 2^BATCH and (q x + r y) / 2^BATCH, mod p; ``inverse`` is of p, mod 2^BATCH.

    Of multiples of 2^BATCH these are the integers, whatever p.
    """
    # Multiples of p from -2^(BATCH - 1) p on make the lowest parts 0.
    of_x = (((u * x[0] + v * y[0]) * -inverse & _MASK) ^ _1 << _BATCH - 1) - (_1 << _BATCH - 1)
    of_y = (((q * x[0] + r * y[0]) * -inverse & _MASK) ^ _1 << _BATCH - 1) - (_1 << _BATCH - 1)
    carry_x = carry_y = _0
    for i in range(PARTS):
        carry_x += u * x[i] + v * y[i] + of_x * p[i]
        carry_y += q * x[i] + r * y[i] + of_y * p[i]
        if i:
            x[i - 1], y[i - 1] = carry_x & _MASK, carry_y & _MASK
        carry_x, carry_y = carry_x >> _BATCH, carry_y >> _BATCH
    x[PARTS - 1], y[PARTS - 1] = carry_x, carry_y


@njit(nogil=True, cache=True)
def _add(x, y, sign):
    """Add y or -y to x."""
    carry = _0
    for i in range(PARTS - 1):
        carry += x[i] + sign * y[i]
        x[i] = carry & _MASK
        carry >>= _BATCH
    x[PARTS - 1] += carry + sign * y[PARTS - 1]


@njit(nogil=True, cache=True)
def invert(x, p, found):
    """Write 1 / x mod p as limbs of 32 bits, for an odd p, and 0 < x < p without a common divisor."""
    numbers = np.zeros((6, PARTS), dtype=np.int64)
    prime, f, g, d, e, result = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    _split(p, prime)
    f[:] = prime
    _split(x, g)
    e[0] = _1
    inverse = prime[0]
    for _ in range(4):  # 3 bits are right at first, each turn doubles them
        inverse *= _I(2) - prime[0] * inverse
    delta = _1
    while g.any():
        delta, u, v, q, r = _steps(delta, f[0], g[0])
        _apply(u, v, q, r, f, g, prime, inverse)
        _apply(u, v, q, r, d, e, prime, inverse)
    _add(result, d, -_1 if f[PARTS - 1] < _0 else _1)  # f is 1 or -1
    while result[PARTS - 1] < _0:
        _add(result, prime, _1)
    while result[PARTS - 1] >= _0:
        _add(result, prime, -_1)
    _add(result, prime, _1)
    _join(result, found)
