"""The computations of the host calls on memory (``program.host_calls``), compiled."""

import numpy as np

from graphprover.kernels.cpu import keccak
from graphprover.runtime.numba_cache import njit
from graphprover.vm.executor import sha256
from graphprover.vm.executor.integers import LIMBS, PRIMES, add, join, less, limbs, modular, slope
from graphprover.vm.program.host_calls import BLOCK_WORDS, NUMBER_WORDS, POINT_WORDS
from graphprover.vm.program.io import KECCAK_F, MODULAR, MODULAR_QUOTIENT, POINT, SHA256
from graphprover.vm.program.sha256 import ROUNDS
from graphprover.vm.tables.keccak_f import WORDS

_STATES = keccak.STATE // WORDS  # states that the kernel permutes at once, of which one is used here


@njit(nogil=True, cache=True)
def change(number, words):
    """Apply a host call to the words of its accesses, in place; return whether it has a result.

    ``words``: uint64, in the order of the accesses, with room for the most of a call.
    """
    if number == np.uint64(KECCAK_F):
        _permute(words)
        return True
    if number == np.uint64(MODULAR) or number == np.uint64(MODULAR_QUOTIENT):
        return _modular(words, number == np.uint64(MODULAR_QUOTIENT))
    if number == np.uint64(SHA256):
        _compress(words)
        return True
    kind = np.int64(number - np.uint64(POINT))
    return _point(words, kind // 2, kind % 2 == 1)


@njit(nogil=True, cache=True)
def _permute(words):
    states = np.zeros(keccak.STATE, dtype=np.uint64)
    for k in range(WORDS):
        states[_STATES * k] = words[k]
    keccak.permute(states)
    for k in range(WORDS):
        words[k] = states[_STATES * k]


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
def _modular(words, with_quotient):
    """Compute r, and q behind it, of the operands a, b, m, c."""
    numbers = np.empty((4, LIMBS), dtype=np.uint64)
    for i in range(4):
        limbs(words, NUMBER_WORDS * i, numbers[i])
    q, r = np.empty(LIMBS, dtype=np.uint64), np.empty(LIMBS, dtype=np.uint64)
    if not modular(numbers[0], numbers[1], numbers[3], numbers[2], q, r):
        return False
    join(r, words, 4 * NUMBER_WORDS)
    if with_quotient:
        join(q, words, 5 * NUMBER_WORDS)
    return True


@njit(nogil=True, cache=True)
def _point(words, curve, double):
    """Replace the first point by its sum with the second one, or by its double."""
    first, second = np.empty(2 * LIMBS, dtype=np.uint64), np.zeros(2 * LIMBS, dtype=np.uint64)
    limbs(words, 0, first)
    if not double:
        limbs(words, POINT_WORDS, second)
    p = PRIMES[curve]
    for coordinate in (first[:LIMBS], first[LIMBS:], second[:LIMBS], second[LIMBS:]):
        if not less(coordinate, p):
            return False
    line, result = np.empty(LIMBS, dtype=np.uint64), np.empty(2 * LIMBS, dtype=np.uint64)
    if not slope(curve, double, first, second, line):
        return False
    add(curve, double, first, second, line, result)
    join(result, words, 0)
    return True
