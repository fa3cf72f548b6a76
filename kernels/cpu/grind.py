"""Proof of work for the challenger: the smallest nonce, so that a proof is a function of its statement."""

import numpy as np

from graphprover.kernels.cpu import simd
from graphprover.kernels.cpu.field import swap_bytes
from graphprover.kernels.cpu.keccak import STATE, finish
from graphprover.kernels.cpu.parallel import Threads
from graphprover.protocol.hashing import DIGEST_WORDS
from graphprover.runtime.numba_cache import njit

_WIDTH = simd.WIDTH
_NONCES = 1 << 14  # of a piece


@njit(nogil=True, cache=True)
def _grind(seed, mask, start, stop):
    # The digest's last word is in memory order, the bits to test are counted from its last byte.
    mask = swap_bytes(mask)
    state = np.empty(STATE, dtype=np.uint64)
    for first in range(start, stop, _WIDTH):
        for i in range(DIGEST_WORDS):
            simd.store(state, _WIDTH * i, simd.splat(seed[i]))
        simd.store(state, _WIDTH * DIGEST_WORDS, simd.wrapping_add(simd.iota(), first))
        state[_WIDTH * (DIGEST_WORDS + 1) :] = 0
        finish(state, DIGEST_WORDS + 1)
        found = simd.equal(simd.bit_and(simd.load(state, _WIDTH * (DIGEST_WORDS - 1)), mask), 0)
        if found:
            for i in range(min(_WIDTH, stop - first)):
                if found >> i & 1:
                    return first + i
    return -1


def grind(threads: Threads, seed: bytes, bits: int) -> int:
    """Return the smallest nonce that the challenger accepts after ``seed``, a digest; 0 for no bits. As
    `smallest_nonce`.
    """
    if bits == 0:
        return 0
    words = np.frombuffer(seed, dtype="<u8").astype(np.uint64)
    start = 0
    while True:
        # The smallest nonce of a round of pieces is the smallest of all: earlier rounds had none.
        found: list[int] = []
        stop = start + _NONCES * threads.count

        def piece(first: int, last: int, start: int = start, found: list[int] = found) -> None:
            nonce = smallest_nonce(words, bits, start + first, start + last)
            if nonce >= 0:
                found.append(nonce)

        threads.split(piece, stop - start, _NONCES)
        if found:
            return min(found)
        start = stop


def smallest_nonce(seed: np.ndarray, bits: int, first: int, last: int) -> int:
    """Return the smallest nonce in [first, last) that the challenger accepts after ``seed``, or -1.

    It accepts a nonce if the last word of Keccak-256(seed || nonce as 8 little-endian bytes), read big-endian because
    the challenger pops bytes off the end, has its lowest ``bits`` bits zero: ``check_witness`` of Plonky3's
    SerializingChallenger64 with nothing else pending. ``seed`` is uint64 (4,), a digest; 0 <= bits < 64 and 0 <= first,
    last < 2^63. Raises ValueError otherwise.
    """
    if seed.shape != (DIGEST_WORDS,) or seed.dtype != np.uint64:
        raise ValueError("the seed is a digest of four uint64 words")
    if not 0 <= bits < 64 or not 0 <= first < 1 << 63 or not 0 <= last < 1 << 63:
        raise ValueError(f"cannot grind {bits} bits over [{first}, {last})")
    return int(_grind(np.ascontiguousarray(seed), np.uint64((1 << bits) - 1), first, last))
