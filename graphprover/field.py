"""Goldilocks and its cubic extension in Python integers and NumPy: the arithmetic that prover and verifier agree on.

An element of the base field is an ``int`` in [0, P); an element of the extension F[x]/(x^3 - x - 1) is a tuple of
three of them, lowest power first. The compiled kernels live in ``graphprover.kernels``; this module is the plain one,
which the verifier uses and which imports nothing but NumPy.
"""

from collections.abc import Iterable, Sequence

import numpy as np

P = 0xFFFFFFFF00000001
GENERATOR = 7
TWO_ADICITY = 32
ROOT_OF_UNITY = 0x185629DCDA58878C  # of order 2^32: 7^((p - 1) / 2^32)

Ext = tuple[int, int, int]
ZERO: Ext = (0, 0, 0)
ONE: Ext = (1, 0, 0)


def inv(a: int) -> int:
    """1/a mod p; raises ZeroDivisionError for 0."""
    if a % P == 0:
        raise ZeroDivisionError("inverse of zero in the field")
    return pow(a, P - 2, P)


def root_of_unity(log_order: int) -> int:
    """The primitive 2^log_order-th root of unity that Plonky3 calls ``two_adic_generator``."""
    if not 0 <= log_order <= TWO_ADICITY:
        raise ValueError(f"no root of unity of order 2^{log_order} in Goldilocks")
    return pow(ROOT_OF_UNITY, 1 << (TWO_ADICITY - log_order), P)


def reverse_bits(index: int, bits: int) -> int:
    """The lowest ``bits`` bits of ``index`` in reverse order."""
    result = 0
    for _ in range(bits):
        result = result << 1 | index & 1
        index >>= 1
    return result


def ext(a: int) -> Ext:
    """The base element a as an extension element."""
    return (a % P, 0, 0)


def ext_add(a: Ext, b: Ext) -> Ext:
    return ((a[0] + b[0]) % P, (a[1] + b[1]) % P, (a[2] + b[2]) % P)


def ext_sub(a: Ext, b: Ext) -> Ext:
    return ((a[0] - b[0]) % P, (a[1] - b[1]) % P, (a[2] - b[2]) % P)


def ext_neg(a: Ext) -> Ext:
    return (-a[0] % P, -a[1] % P, -a[2] % P)


def ext_mul(a: Ext, b: Ext) -> Ext:
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
    """a times the base element s."""
    return (a[0] * s % P, a[1] * s % P, a[2] * s % P)


def ext_inv(a: Ext) -> Ext:
    """1/a, by the adjugate of the matrix of multiplication by a; raises ZeroDivisionError for 0."""
    a0, a1, a2 = a
    # Columns of the matrix are a, a*x, a*x^2; the first column of its inverse is 1/a.
    c0 = (a0 + a2) * (a0 + a2) - a1 * (a1 + a2)
    c1 = a2 * (a1 + a2) - a1 * (a0 + a2)
    c2 = a1 * a1 - a2 * (a0 + a2)
    norm = inv(a0 * c0 + a2 * c1 + a1 * c2)
    return (c0 * norm % P, c1 * norm % P, c2 * norm % P)


def ext_pow(a: Ext, exponent: int) -> Ext:
    result = ONE
    while exponent:
        if exponent & 1:
            result = ext_mul(result, a)
        a = ext_mul(a, a)
        exponent >>= 1
    return result


def ext_powers(a: Ext, count: int) -> list[Ext]:
    """[1, a, a^2, ...], ``count`` of them."""
    powers = [ONE] * min(count, 1)
    while len(powers) < count:
        powers.append(ext_mul(powers[-1], a))
    return powers


def ext_sum(values: Iterable[Ext]) -> Ext:
    total = [0, 0, 0]
    for value in values:
        for i in range(3):
            total[i] += value[i]
    return (total[0] % P, total[1] % P, total[2] % P)


def ext_batch_inv(values: Sequence[Ext]) -> list[Ext]:
    """The inverses of all values with one inversion (Montgomery's trick); raises ZeroDivisionError for a zero."""
    prefix = [ONE]
    for value in values:
        prefix.append(ext_mul(prefix[-1], value))
    inverse = ext_inv(prefix[-1])
    result = [ONE] * len(values)
    for i in range(len(values) - 1, -1, -1):
        result[i] = ext_mul(prefix[i], inverse)
        inverse = ext_mul(inverse, values[i])
    return result


# NumPy, element by element, on uint64 arrays of canonical words.

_P = np.uint64(P)
_EPSILON = np.uint64(0xFFFFFFFF)  # 2^64 mod p
_HALF = np.uint64(32)


def array_add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b mod p."""
    total = a + b
    return np.where((total < a) | (total >= _P), np.subtract(total, _P), total)


def array_sub(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a - b mod p."""
    return np.where(a >= b, a - b, a - b + _P)


def array_mul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a * b mod p: four 32-bit products, then 2^64 = 2^32 - 1 and 2^96 = -1."""
    al, ah, bl, bh = a & _EPSILON, a >> _HALF, b & _EPSILON, b >> _HALF
    ll, lh, hl, hh = al * bl, al * bh, ah * bl, ah * bh
    t = hl + (ll >> _HALF)
    u = lh + (t & _EPSILON)
    high = hh + (t >> _HALF) + (u >> _HALF)
    low = (u << _HALF) | (ll & _EPSILON)
    top, middle = high >> _HALF, high & _EPSILON
    s = low - top
    s = np.where(low < top, s - _EPSILON, s)
    m = (middle << _HALF) - middle
    r = s + m
    r = np.where(r < m, r + _EPSILON, r)
    return np.where(r >= _P, r - _P, r)


def array_sum(a: np.ndarray, axis: int = -1) -> np.ndarray:
    """The sum mod p along one axis of at most 2^32 elements."""
    # Keeping the axis keeps arrays arrays: NumPy warns when a scalar wraps around.
    low = (a & _EPSILON).sum(axis=axis, dtype=np.uint64, keepdims=True)
    high = (a >> _HALF).sum(axis=axis, dtype=np.uint64, keepdims=True)
    # high * 2^32 + low, with high < 2^64: the product reduces, then the sum does.
    return array_add(array_mul(high % _P, np.full(1, 1 << 32, dtype=np.uint64)), low % _P).squeeze(axis)
