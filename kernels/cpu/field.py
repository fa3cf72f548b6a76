"""Goldilocks and its cubic extension for one word at a time inside Numba: tails, set-up and small tables.

The scalar twin of ``simd``. Unlike there, every argument and result is canonical (below p) unless a docstring says
otherwise, and an extension element is a tuple of three ``uint64``. From plain Python pass ``numpy.uint64``.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types

from graphprover import field
from graphprover.runtime.numba_cache import intrinsic

P = np.uint64(field.P)
_EPSILON = np.uint64(0xFFFFFFFF)  # 2^64 mod p
_LIMB_BITS = np.uint64(32)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@intrinsic
def mul_high(_context, x, y):
    """Return the upper word of the 128-bit product."""

    def codegen(context, b, signature, arguments):
        wide = ir.IntType(128)
        product = b.mul(b.zext(arguments[0], wide), b.zext(arguments[1], wide))
        return b.trunc(b.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def _bit_reverse(_context, x):
    def codegen(context, b, signature, arguments):
        return b.bitreverse(arguments[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def swap_bytes(_context, x):
    """Return the eight bytes of a uint64 in reverse order."""

    def codegen(context, b, signature, arguments):
        return b.bswap(arguments[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def trailing_zeros(_context, x):
    """Return the number of trailing zeros of an int64 other than 0."""

    def codegen(context, b, signature, arguments):
        return b.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen


@intrinsic
def leading_zeros(_context, x):
    """Return the number of leading zeros of a uint64 other than 0."""

    def codegen(context, b, signature, arguments):
        return b.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@njit(nogil=True)
def reverse_bits(index, bits):
    """Return the lowest ``bits`` bits of ``index`` (all others zero) in reverse order, as int64."""
    return np.int64(_bit_reverse(np.uint64(index)) >> np.uint64(64 - bits)) if bits else 0


@njit(nogil=True)
def add(x, y):
    """x + y."""
    total = x + y
    return total - P if total < x or total >= P else total


@njit(nogil=True)
def sub(x, y):
    """x - y."""
    return x - y if x >= y else x - y + P


@njit(nogil=True)
def mul(x, y):
    """x * y; takes any words."""
    high, low = mul_high(x, y), x * y
    top, middle = high >> _LIMB_BITS, high & _EPSILON
    s = low - top
    if low < top:
        s -= _EPSILON
    m = (middle << _LIMB_BITS) - middle
    r = s + m
    if r < m:
        r += _EPSILON
    return r - P if r >= P else r


@njit(nogil=True)
def power(x, exponent):
    """x to a uint64 exponent."""
    result = _ONE
    while exponent:
        if exponent & _ONE:
            result = mul(result, x)
        x = mul(x, x)
        exponent >>= _ONE
    return result


@njit(nogil=True)
def _square_times(x, count):
    """x to the power 2^count."""
    for _ in range(count):
        x = mul(x, x)
    return x


@njit(nogil=True)
def inverse(x):
    """1 / x; zero gives zero. It is x to the power p - 2, whose bits are 31 ones, a zero and 32 ones."""
    ones3 = mul(_square_times(mul(mul(x, x), x), 1), x)
    ones6 = mul(_square_times(ones3, 3), ones3)
    ones12 = mul(_square_times(ones6, 6), ones6)
    ones24 = mul(_square_times(ones12, 12), ones12)
    ones30 = mul(_square_times(ones24, 6), ones6)
    ones31 = mul(_square_times(ones30, 1), x)
    upper = mul(_square_times(ones31, 32), ones31)
    return mul(_square_times(upper, 1), x)


@njit(nogil=True)
def ext_add(x, y):
    """x + y in the extension."""
    return add(x[0], y[0]), add(x[1], y[1]), add(x[2], y[2])


@njit(nogil=True)
def ext_sub(x, y):
    """x - y in the extension."""
    return sub(x[0], y[0]), sub(x[1], y[1]), sub(x[2], y[2])


@njit(nogil=True)
def ext_scale(x, s):
    """Return the extension element x times the base element s."""
    return mul(x[0], s), mul(x[1], s), mul(x[2], s)


@njit(nogil=True)
def ext_mul(x, y):
    """x * y in the extension: x^3 = x + 1, x^4 = x^2 + x."""
    c3 = add(mul(x[1], y[2]), mul(x[2], y[1]))
    c4 = mul(x[2], y[2])
    return (
        add(mul(x[0], y[0]), c3),
        add(add(mul(x[0], y[1]), mul(x[1], y[0])), add(c3, c4)),
        add(add(mul(x[0], y[2]), mul(x[1], y[1])), add(mul(x[2], y[0]), c4)),
    )


@njit(nogil=True)
def ext_power(x, exponent):
    """x to a uint64 exponent in the extension."""
    result = (_ONE, _ZERO, _ZERO)
    while exponent:
        if exponent & _ONE:
            result = ext_mul(result, x)
        x = ext_mul(x, x)
        exponent >>= _ONE
    return result
