"""Keccak-f[1600] on words of 64 bits, which the tables of rounds, planes and digits prove."""

from functools import reduce

import numpy as np

from graphprover.protocol import keccak
from graphprover.vm.tables.limbs import limbs

WORDS = 25  # of the state: word x + 5 y is lane A[x, y] of the standard
ROUND_CONSTANTS = tuple(map(int, keccak.ROUND_CONSTANTS))
ROUNDS = len(ROUND_CONSTANTS)
ROTATIONS = (0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14)
# Word x + 5 y after rho and pi is this word, rotated by this word's rotation.
SOURCES = tuple((x + 3 * y) % 5 + 5 * x for y in range(5) for x in range(5))

_SOURCE_ROTATIONS = np.array(ROTATIONS, dtype=np.uint64)[list(SOURCES), None]


def rounds(states: np.ndarray) -> np.ndarray:
    """Return the states before each round and after the last: uint64 (25 words, n) to (25 states, 25 words, n)."""
    found = [states]
    for constant in ROUND_CONSTANTS:
        found.append(after_theta(found[-1] ^ np.tile(flips(found[-1]), (5, 1)), constant))
    return np.stack(found)


def after_theta(states: np.ndarray, constant: int) -> np.ndarray:
    """Apply rho, pi, chi and iota: uint64 (25, n) to (25, n)."""
    b = after_rho(states).reshape(5, 5, -1)
    a = (b ^ ~np.roll(b, -1, axis=1) & np.roll(b, -2, axis=1)).reshape(states.shape)
    a[0] ^= np.uint64(constant)
    return a


def after_rho(states: np.ndarray) -> np.ndarray:
    """Apply rho and pi: uint64 (25, n) to (25, n)."""
    return rotated(states[list(SOURCES)], _SOURCE_ROTATIONS)


def before_rho(states: np.ndarray) -> np.ndarray:
    """Return the states that rho, pi and chi lead from to these: uint64 (25, n) to (25, n)."""
    after = states.reshape(5, 5, -1)
    one, two, three, four = (np.roll(after, -i, axis=1) for i in range(1, 5))
    b = after ^ ~one & (two ^ ~three & (four ^ ~after & (one ^ ~two & three)))
    found = np.empty_like(states)
    found[list(SOURCES)] = rotated(b.reshape(states.shape), np.uint64(64) - _SOURCE_ROTATIONS & np.uint64(63))
    return found


def parities(states: np.ndarray) -> np.ndarray:
    """Return C of each state, the parities of its columns: uint64 (25, n) to (5, n)."""
    found: np.ndarray = reduce(np.bitwise_xor, states.reshape(5, 5, -1))
    return found


def flips(states: np.ndarray) -> np.ndarray:
    """Return D of each state, the words that theta xors into all words of a column: uint64 (25, n) to (5, n)."""
    parity = parities(states)
    return np.roll(parity, 1, axis=0) ^ rotated(np.roll(parity, -1, axis=0), np.uint64(1))


def rotated(words: np.ndarray, bits: np.ndarray | np.uint64) -> np.ndarray:
    """Rotate words to the left."""
    return words << bits | words >> (np.uint64(64) - bits & np.uint64(63))


def stacked_limbs(words: np.ndarray) -> np.ndarray:
    """Return uint64 words of shape (..., rows) as limbs of shape (..., 2, rows)."""
    return np.stack(limbs(words), axis=-2)
