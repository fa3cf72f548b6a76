"""Batch inversion by Montgomery's trick (Mathematics of Computation 48, 1987), eight lanes of four chains at a time.

An extension element a with adjugate c has the base norm a c, so that 1/a = c / norm: nine products, and the norms are
inverted together. An inverse of zero does not exist: it is reported, never given a value.
"""

import numpy as np

from graphprover.kernels.cpu import simd
from graphprover.kernels.cpu.field import inverse as inverse_word
from graphprover.kernels.cpu.field import mul
from graphprover.runtime.numba_cache import njit

BLOCK = 2048  # rows whose words are inverted together: they fit the innermost cache
_CHAINS = 4  # independent chains, so that a product need not wait for the one before
_STRIDE = _CHAINS * simd.WIDTH
_ONE = np.uint64(1)


@njit(nogil=True, cache=True)
def invert(words, prefix, count):
    """Replace the first ``count`` of ``words`` by their inverses; -1, or the index of the first zero among them.

    Both arrays are flat uint64 with room for ``count`` rounded up to 32 words; ``prefix`` is scratch. With a zero, the
    words are as they were.
    """
    padded = (count + _STRIDE - 1) // _STRIDE * _STRIDE
    for i in range(count, padded):
        words[i] = _ONE
    a, b, c, d = simd.load_rows(words, 0, simd.WIDTH, _CHAINS)
    simd.store_rows(prefix, 0, simd.WIDTH, (a, b, c, d))
    for i in range(_STRIDE, padded, _STRIDE):
        v, w, x, y = simd.load_rows(words, i, simd.WIDTH, _CHAINS)
        a, b, c, d = simd.mul(a, v), simd.mul(b, w), simd.mul(c, x), simd.mul(d, y)
        simd.store_rows(prefix, i, simd.WIDTH, (a, b, c, d))

    ends = np.empty(2 * _STRIDE, dtype=np.uint64)  # the chains' products, and the products of those
    simd.store_rows(ends, 0, simd.WIDTH, (a, b, c, d))
    product = _ONE
    for i in range(_STRIDE):
        ends[_STRIDE + i] = product
        product = mul(product, ends[i])
    if product == 0:
        for i in range(count):
            if words[i] == 0:
                return i
    product = inverse_word(product)
    for i in range(_STRIDE - 1, -1, -1):
        end = ends[i]
        ends[i] = mul(product, ends[_STRIDE + i])
        product = mul(product, end)

    a, b, c, d = simd.load_rows(ends, 0, simd.WIDTH, _CHAINS)
    for i in range(padded - _STRIDE, 0, -_STRIDE):
        v, w, x, y = simd.load_rows(prefix, i - _STRIDE, simd.WIDTH, _CHAINS)
        v, w, x, y = simd.mul(a, v), simd.mul(b, w), simd.mul(c, x), simd.mul(d, y)
        e, f, g, h = simd.load_rows(words, i, simd.WIDTH, _CHAINS)
        a, b, c, d = simd.mul(a, e), simd.mul(b, f), simd.mul(c, g), simd.mul(d, h)
        v, w, x, y = simd.canonical(v), simd.canonical(w), simd.canonical(x), simd.canonical(y)
        simd.store_rows(words, i, simd.WIDTH, (v, w, x, y))
    a, b, c, d = simd.canonical(a), simd.canonical(b), simd.canonical(c), simd.canonical(d)
    simd.store_rows(words, 0, simd.WIDTH, (a, b, c, d))
    return -1


@simd.operation(results=4)
def adjugate(b, x):
    """(c0, c1, c2, norm), canonical: the product of x and c is the base element norm, zero for x = 0 only.

    The columns of the matrix of multiplication by x are x, x X, x X^2; c is the first row of cofactors.
    """
    x0, x1, x2 = (simd.emit_canonical(b, coordinate) for coordinate in x)
    s, t = simd.emit_add_canonical(b, x0, x2), simd.emit_add_canonical(b, x1, x2)

    def difference(p, q, r, v):
        return simd.emit_canonical(b, simd.emit_sub(b, simd.emit_mul(b, p, q), simd.emit_mul(b, r, v)))

    c0, c1, c2 = difference(s, s, x1, t), difference(x2, t, x1, s), difference(x1, x1, x2, s)
    norm = simd.emit_mul(b, x0, c0)
    for p, q in ((x2, c1), (x1, c2)):
        norm = simd.emit_add(b, norm, simd.emit_mul(b, p, q))
    return [c0, c1, c2, simd.emit_canonical(b, norm)]


@njit(nogil=True, cache=True)
def _inverse(source, target, first, last):
    words = np.empty(BLOCK, dtype=np.uint64)
    prefix = np.empty(BLOCK, dtype=np.uint64)
    for start in range(first, last, BLOCK):
        count = min(BLOCK, last - start)
        for i in range(count):
            words[i] = source[start + i]
        zero = invert(words, prefix, count)
        if zero >= 0:
            return start + zero
        for i in range(count):
            target[start + i] = words[i]
    return -1


@njit(nogil=True, cache=True)
def _ext_inverse(source, target, first, last):
    block = np.empty((3, BLOCK), dtype=np.uint64)
    norms = np.empty(BLOCK, dtype=np.uint64)
    prefix = np.empty(BLOCK, dtype=np.uint64)
    for start in range(first, last, BLOCK):
        count = min(BLOCK, last - start)
        for k in range(3):
            for i in range(count):
                block[k, i] = source[k, start + i]
        for i in range(0, count, simd.WIDTH):
            c0, c1, c2, norm = adjugate(simd.load_rows(block, i, BLOCK, 3))
            simd.store_rows(block, i, BLOCK, (c0, c1, c2))
            simd.store(norms, i, norm)
        zero = invert(norms, prefix, count)
        if zero >= 0:
            return start + zero
        for i in range(0, count, simd.WIDTH):
            scaled = simd.ext_scale(simd.load_rows(block, i, BLOCK, 3), simd.load(norms, i))
            simd.store_rows(block, i, BLOCK, simd.ext_canonical(scaled))
        for k in range(3):
            for i in range(count):
                target[k, start + i] = block[k, i]
    return -1


def inverse(source: np.ndarray, target: np.ndarray, first: int, last: int) -> None:
    """target[i] = 1 / source[i] for i in [first, last); uint64 of shape (n,), canonical, possibly the same array.

    Raises ZeroDivisionError, naming the index, for the first zero; what ``target`` holds then is undefined.
    """
    _raise_for_zero(_inverse(source, target, first, last))


def inverse_or_zero(source: np.ndarray) -> np.ndarray:
    """1 / x for each word x of ``source``, uint64 (n,), canonical; 0 for 0."""
    zero = source == 0
    target = np.where(zero, _ONE, source)
    inverse(target, target, 0, len(target))
    target[zero] = 0
    return target


def ext_inverse(source: np.ndarray, target: np.ndarray, first: int, last: int) -> None:
    """Return the inverses of the extension elements [first, last) of ``source``; both (3, n), otherwise as
    ``inverse``.
    """
    _raise_for_zero(_ext_inverse(source, target, first, last))


def _raise_for_zero(index: int) -> None:
    if index >= 0:
        raise ZeroDivisionError(f"element {index} is zero and has no inverse")
