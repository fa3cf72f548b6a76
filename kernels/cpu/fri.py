"""FRI: folding of codewords over the extension, and the final polynomial.

A codeword is (3, N), the values on the subgroup of order N in bit-reversed order: neighbours are the values at s and
-s, of which a fold makes (f(s) + f(-s)) / 2 + beta (f(s) - f(-s)) / (2 s). Folding by 2^k at beta is k folds by two, at
beta, beta^2, beta^4, ... Source: ``fold_matrix`` in p3-fri/src/two_adic_pcs.rs, ``commit_phase`` in
p3-fri/src/prover.rs.
"""

from functools import cache, lru_cache, partial

import numpy as np

from graphprover import field
from graphprover.field import Ext
from graphprover.kernels.cpu import domain, pages, simd
from graphprover.kernels.cpu.field import add, ext_add, ext_mul, ext_scale, ext_sub, mul, sub
from graphprover.kernels.cpu.parallel import Threads, split_rows
from graphprover.runtime.numba_cache import njit

_WORDS = 2048  # elements of a codeword folded together, so that the steps between stay in the cache
_INVERSE_OF_TWO = np.uint64(field.inv(2))

_factors = lru_cache(maxsize=8)(domain.fold_factors)


@simd.operation()
def _half(b, x):
    """x / 2 for a canonical x: the even one of x and x + p, halved."""
    odd = b.sub(simd.constant(0), b.and_(x, simd.constant(1)))
    return b.add(b.lshr(x, simd.constant(1)), b.and_(odd, simd.constant(field.inv(2))))


_evens = simd.shuffle(0, 2, 4, 6, 8, 10, 12, 14)
_odds = simd.shuffle(1, 3, 5, 7, 9, 11, 13, 15)


@njit(nogil=True, cache=True)
def _fold_by_two(source, target, count, factors, first, beta):
    """``count`` elements of (3, room) arrays, elements first ... of their codeword; target may be the source."""
    room = source.shape[1]
    whole = count // simd.WIDTH * simd.WIDTH
    for i in range(0, whole, simd.WIDTH):
        a0, a1, a2 = simd.load_rows(source, 2 * i, room, 3)
        b0, b1, b2 = simd.load_rows(source, 2 * i + simd.WIDTH, room, 3)
        low = (_evens(a0, b0), _evens(a1, b1), _evens(a2, b2))
        high = (_odds(a0, b0), _odds(a1, b1), _odds(a2, b2))
        s0, s1, s2 = simd.ext_canonical(simd.ext_add(low, high))
        scaled = simd.ext_scale(simd.ext_sub(low, high), simd.load(factors, first + i))
        folded = simd.ext_add(simd.ext_mul(scaled, beta), (_half(s0), _half(s1), _half(s2)))
        simd.store_rows(target, i, target.shape[1], simd.ext_canonical(folded))
    for i in range(whole, count):
        low = (source[0, 2 * i], source[1, 2 * i], source[2, 2 * i])
        high = (source[0, 2 * i + 1], source[1, 2 * i + 1], source[2, 2 * i + 1])
        scaled = ext_mul(ext_scale(ext_sub(low, high), factors[first + i]), beta)
        target[0, i], target[1, i], target[2, i] = ext_add(ext_scale(ext_add(low, high), _INVERSE_OF_TWO), scaled)


@njit(nogil=True, cache=True)
def _fold(codeword, log_arity, beta, factors, joining, joins, target, first, last):
    arity = 1 << log_arity
    block = max(_WORDS >> log_arity, 1)
    work = np.empty((3, block * arity), dtype=np.uint64)
    for start in range(first, last, block):
        count = min(block, last - start)
        for k in range(3):
            for i in range(count * arity):
                work[k, i] = codeword[k, start * arity + i]
        challenge = beta
        for step in range(log_arity - 1, -1, -1):
            _fold_by_two(work, work, count << step, factors, start << step, challenge)
            challenge = ext_mul(challenge, challenge)
        if joins:
            # challenge is beta^arity by now
            for i in range(count):
                x = (joining[0, start + i], joining[1, start + i], joining[2, start + i])
                y = ext_add((work[0, i], work[1, i], work[2, i]), ext_mul(challenge, x))
                work[0, i], work[1, i], work[2, i] = y
        for k in range(3):
            for i in range(count):
                target[k, start + i] = work[k, i]


def fold(threads: Threads, codeword: np.ndarray, log_arity: int, beta: Ext, joining: np.ndarray | None) -> np.ndarray:
    """Return the fold of a codeword (3, N) by 2^k at beta, plus beta^(2^k) times ``joining``: uint64 (3, N / 2^k).

    Raises ValueError for shapes that do not agree.
    """
    target = pages.empty((3, codeword.shape[1] >> log_arity))
    factors = _factors(codeword.shape[1].bit_length() - 1)
    split_rows(threads, partial(fold_groups, codeword, log_arity, beta, factors, joining, target), target.shape[1])
    return target


def fold_groups(
    codeword: np.ndarray,
    log_arity: int,
    beta: Ext,
    factors: np.ndarray,
    joining: np.ndarray | None,
    target: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Folds by 2^k, k = log_arity: elements [first, last) of the fold at beta, plus beta^(2^k) times ``joining``.

    ``codeword`` is (3, N), ``target`` and ``joining`` are (3, N / 2^k), ``factors`` is
    ``domain.fold_factors`` of N or more; all C-contiguous uint64, canonical. Raises ValueError for other shapes.
    """
    size = codeword.shape[1] >> log_arity
    shapes = [codeword.shape, target.shape, target.shape if joining is None else joining.shape]
    if shapes != [(3, size << log_arity), (3, size), (3, size)] or not 0 <= first <= last <= size:
        raise ValueError(f"a fold by {1 << log_arity} of rows {first} to {last} does not fit {shapes}")
    if 2 * len(factors) < codeword.shape[1]:
        raise ValueError(f"{len(factors)} factors are too few for a codeword of {codeword.shape[1]}")
    challenge = tuple(map(np.uint64, beta))
    other = target if joining is None else joining
    _fold(codeword, log_arity, challenge, factors, other, joining is not None, target, first, last)


def final_polynomial(codeword: np.ndarray, log_length: int) -> tuple[Ext, ...]:
    """Return the 2^log_length coefficients of a codeword (3, N) of that degree bound, from its first 2^log_length
    values.

    They lie on the subgroup of that order, in bit-reversed order. Raises ValueError for a shorter codeword.
    """
    length = 1 << log_length
    if codeword.shape[1] < length:
        raise ValueError(f"a codeword of {codeword.shape[1]} has no final polynomial of {length} coefficients")
    coefficients = codeword[:, :length].copy()
    _interpolate(coefficients, _inverse_roots(log_length), np.uint64(field.inv(length)))
    return tuple(zip(*coefficients.tolist(), strict=True))


@cache
def _inverse_roots(log_length: int) -> np.ndarray:
    return np.array([field.inv(field.root_of_unity(log)) for log in range(1, log_length + 1)], dtype=np.uint64)


@njit(nogil=True, cache=True)
def _interpolate(words, roots, scale):
    """Transform columns of values in bit-reversed order to coefficients in natural order, in place.

    ``roots[k]``, of order 2^(k + 1), and ``scale`` belong to the inverse transform. Compiles fast: a polynomial is
    short, and a GPU's proof needs no other transform by a CPU.
    """
    for level in range(len(roots)):
        half, power = 1 << level, np.uint64(1)
        for k in range(half):
            for i in range(k, words.shape[1], 2 * half):
                for column in range(words.shape[0]):
                    low, high = words[column, i], mul(words[column, i + half], power)
                    words[column, i], words[column, i + half] = add(low, high), sub(low, high)
            power = mul(power, roots[level])
    for column in range(words.shape[0]):
        for i in range(words.shape[1]):
            words[column, i] = mul(words[column, i], scale)
