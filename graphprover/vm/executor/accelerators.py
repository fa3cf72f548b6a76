"""Host calls that work on memory: each changes a fixed number of words from the address in a0, a multiple of 8.

To add one: its number in io.py, a branch in both functions here, its C declaration in examples/guests/sdk, its table.
"""

import numpy as np

from graphprover.kernels.cpu import keccak
from graphprover.runtime.numba_cache import njit
from graphprover.vm.program.io import KECCAK_F
from graphprover.vm.tables.keccak_f import WORDS

_STATES = keccak.STATE // WORDS  # states that the kernel permutes at once, of which one is used here


@njit(nogil=True, cache=True)
def words_of(number):
    """Return how many words the host call changes; 0 for an unknown number."""
    if number == np.uint64(KECCAK_F):
        return WORDS
    return 0


@njit(nogil=True, cache=True)
def change(number, words):
    """Apply the host call to its words, uint64 (words_of(number),), in place."""
    if number == np.uint64(KECCAK_F):
        states = np.zeros(keccak.STATE, dtype=np.uint64)
        for k in range(WORDS):
            states[_STATES * k] = words[k]
        keccak.permute(states)
        for k in range(WORDS):
            words[k] = states[_STATES * k]
