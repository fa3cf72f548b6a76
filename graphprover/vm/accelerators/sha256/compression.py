"""The compression of SHA-256, compiled.

The working variables are two sequences of words a and e: a round appends one to each, and b, c, d and f, g, h are the
three before. They begin with the state from its last word on, and end with the state after: d, c, b, a and h, g, f, e.
"""

import numpy as np

from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.sha256.table import ROUND_CONSTANTS, ROUNDS

HALF = 4  # words of the state in each sequence
SEQUENCE = ROUNDS + 2 * HALF  # words: the state before, one a round, the state after

_U = np.uint32
_CONSTANTS = np.array(ROUND_CONSTANTS, dtype=np.uint32)


@njit(nogil=True, cache=True)
def rotate(x, count):
    """Return a word with its bits moved down, the lowest ones to the top."""
    return _U(x >> _U(count) | x << _U(32 - count))  # Numba shifts in 64 bits


@njit(nogil=True, cache=True)
def swap(x):
    """Return a word with its bytes in the opposite order."""
    return rotate(x, 8) & _U(0xFF00FF00) | rotate(x, 24) & _U(0x00FF00FF)


@njit(nogil=True, cache=True)
def big_a(a):
    """Return a's rotations in a round."""
    return rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)


@njit(nogil=True, cache=True)
def big_e(e):
    """Return e's rotations in a round."""
    return rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)


@njit(nogil=True, cache=True)
def small_15(w):
    """Return the rotations and the shift of the message word 15 before."""
    return rotate(w, 7) ^ rotate(w, 18) ^ w >> _U(3)


@njit(nogil=True, cache=True)
def small_2(w):
    """Return the rotations and the shift of the message word 2 before."""
    return rotate(w, 17) ^ rotate(w, 19) ^ w >> _U(10)


@njit(nogil=True, cache=True)
def choice(x, y, z):
    """Return y's bits where x has 1, and z's elsewhere."""
    return z ^ x & (y ^ z)


@njit(nogil=True, cache=True)
def majority(x, y, z):
    """Return the bits that two of three words have."""
    return x & y | z & (x | y)


@njit(nogil=True, cache=True)
def start(words, at, a, e):
    """Write the state at ``words[at]``, words of 64 bits, to the sequences' beginnings."""
    for i in range(HALF):
        a[HALF - 1 - i] = _U(words[at + i // 2] >> np.uint64(32 * (i % 2)))
        e[HALF - 1 - i] = _U(words[at + HALF // 2 + i // 2] >> np.uint64(32 * (i % 2)))


@njit(nogil=True, cache=True)
def schedule(words, at, w):
    """Write the message words of the block at ``words[at]``, words of 64 bits."""
    for i in range(ROUNDS):
        if i < 16:
            w[i] = swap(_U(words[at + i // 2] >> np.uint64(32 * (i % 2))))
        else:
            w[i] = w[i - 16] + small_15(w[i - 15]) + w[i - 7] + small_2(w[i - 2])


@njit(nogil=True, cache=True)
def run(a, e, w):
    """Continue the sequences by all rounds and the state after."""
    for i in range(ROUNDS):
        t1 = e[i] + big_e(e[i + 3]) + choice(e[i + 3], e[i + 2], e[i + 1]) + _CONSTANTS[i] + w[i]
        t2 = big_a(a[i + 3]) + majority(a[i + 3], a[i + 2], a[i + 1])
        a[i + HALF] = t1 + t2
        e[i + HALF] = a[i] + t1
    for i in range(HALF):
        a[i + HALF + ROUNDS] = a[i + ROUNDS] + a[i]
        e[i + HALF + ROUNDS] = e[i + ROUNDS] + e[i]


@njit(nogil=True, cache=True)
def finish(a, e, words, at):
    """Write the sequences' ends to the state at ``words[at]``, words of 64 bits."""
    last = SEQUENCE - 1
    for i in range(HALF // 2):
        words[at + i] = np.uint64(a[last - 2 * i]) | np.uint64(a[last - 1 - 2 * i]) << np.uint64(32)
        words[at + HALF // 2 + i] = np.uint64(e[last - 2 * i]) | np.uint64(e[last - 1 - 2 * i]) << np.uint64(32)
