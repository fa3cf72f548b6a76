"""The computations of the host calls on memory (``program.host_calls``), compiled."""

import numpy as np

from graphprover.kernels.cpu.keccak import permute_one
from graphprover.runtime.numba_cache import njit
from graphprover.vm.executor import sha256
from graphprover.vm.executor.integers import (
    PRIMES,
    ZERO,
    ZERO_WIDE,
    add,
    less,
    load,
    load_as,
    modular,
    multiply_add_fp2,
    slope,
    store,
    words_of,
)
from graphprover.vm.program import fields
from graphprover.vm.program.host_calls import BLOCK_WORDS, NUMBER_WORDS, POINT_WORDS, RATE_WORDS
from graphprover.vm.program.io import (
    FP2_BLS12_381,
    FP2_BN254,
    KECCAK_ABSORB,
    KECCAK_F,
    MODULAR,
    MODULAR_384,
    MODULAR_384_QUOTIENT,
    MODULAR_QUOTIENT,
    POINT,
    SHA256,
)
from graphprover.vm.program.sha256 import ROUNDS

_BN254, _BLS12_381 = (words_of(field.p, field.words) for field in (fields.BN254, fields.BLS12_381))


@njit(nogil=True, cache=True)
def change(number, words):
    """Apply a host call to the words of its accesses, in place; return whether it has a result.

    ``words``: uint64, in the order of the accesses, with room for the most of a call.
    """
    if number == np.uint64(KECCAK_F):
        permute_one(words)
        return True
    if number == np.uint64(KECCAK_ABSORB):
        absorb(words)
        return True
    if number == np.uint64(MODULAR) or number == np.uint64(MODULAR_QUOTIENT):
        return _modular(words, ZERO, number == np.uint64(MODULAR_QUOTIENT))
    if number == np.uint64(MODULAR_384) or number == np.uint64(MODULAR_384_QUOTIENT):
        return _modular(words, ZERO_WIDE, number == np.uint64(MODULAR_384_QUOTIENT))
    if number == np.uint64(FP2_BN254):
        _fp2(words, _BN254)
        return True
    if number == np.uint64(FP2_BLS12_381):
        _fp2(words, _BLS12_381)
        return True
    if number == np.uint64(SHA256):
        _compress(words)
        return True
    kind = np.int64(number - np.uint64(POINT))
    return _point(words, kind // 2, kind % 2 == 1)


@njit(nogil=True, cache=True)
def absorb(words):
    """Xor the block into the state behind it, and permute this."""
    state = words[RATE_WORDS:]
    for k in range(RATE_WORDS):
        state[k] ^= words[k]
    permute_one(state)


@njit(nogil=True, cache=True)
def _compress(words):
    """Replace the state, behind the block, by the one after the block."""
    a, e = np.empty(sha256.SEQUENCE, dtype=np.uint32), np.empty(sha256.SEQUENCE, dtype=np.uint32)
    w = np.empty(ROUNDS, dtype=np.uint32)
    sha256.start(words, BLOCK_WORDS, a, e)
    sha256.schedule(words, 0, w)
    sha256.run(a, e, w)
    sha256.finish(a, e, words, BLOCK_WORDS)


@njit(nogil=True, cache=True)
def _modular(words, zero, with_quotient):
    """Compute r, and q behind it, of the operands a, b, m, c, with as many words each as ``zero``."""
    size = len(zero)
    a, b = load_as(zero, words, 0), load_as(zero, words, size)
    m, c = load_as(zero, words, 2 * size), load_as(zero, words, 3 * size)
    fits, q, r = modular(a, b, c, m)
    if not fits:
        return False
    store(r, words, 4 * size)
    if with_quotient:
        store(q, words, 5 * size)
    return True


@njit(nogil=True, cache=True)
def _element(p, words, first):
    """Return an element of Fp2: its real part and its factor of u, of as many words as p."""
    return load_as(p, words, first), load_as(p, words, first + len(p))


@njit(nogil=True, cache=True)
def _fp2(words, p):
    """Compute a b + c in Fp2 of the operands a, b, c."""
    size = 2 * len(p)
    a, b, c = _element(p, words, 0), _element(p, words, size), _element(p, words, 2 * size)
    real, other = multiply_add_fp2(a, b, c, p)
    store(real, words, 3 * size)
    store(other, words, 3 * size + len(p))


@njit(nogil=True, cache=True)
def _point(words, curve, double):
    """Replace the first point by its sum with the second one, or by its double."""
    p = load(PRIMES[curve], 0)
    first, second = (load(words, 0), load(words, NUMBER_WORDS)), (ZERO, ZERO)
    if not double:
        second = load(words, POINT_WORDS), load(words, POINT_WORDS + NUMBER_WORDS)
    if not (less(first[0], p) and less(first[1], p) and less(second[0], p) and less(second[1], p)):
        return False
    exists, line = slope(curve, double, first, second)
    if exists:
        x, y = add(curve, double, first, second, line)
        store(x, words, 0)
        store(y, words, NUMBER_WORDS)
    return exists
