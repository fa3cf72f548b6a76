"""Proof of work for the challenger: the smallest nonce, so that a proof is a function of its statement."""

import numpy as np

from graphprover.compiled import njit
from graphprover.kernels.cpu import simd
from graphprover.kernels.cpu.field import swap_bytes
from graphprover.kernels.cpu.keccak import DIGEST, STATE, finish

_LANES = simd.LANES


@njit(nogil=True, cache=True)
def _grind(seed, mask, start, stop):
    # The digest's last word is in memory order, the bits to test are counted from its last byte.
    mask = swap_bytes(mask)
    state = np.empty(STATE, dtype=np.uint64)
    for first in range(start, stop, _LANES):
        for i in range(DIGEST):
            simd.store(state, _LANES * i, simd.splat(seed[i]))
        simd.store(state, _LANES * DIGEST, simd.wrapping_add(simd.iota(), first))
        state[_LANES * (DIGEST + 1) :] = 0
        finish(state, DIGEST + 1)
        found = simd.equal(simd.bit_and(simd.load(state, _LANES * (DIGEST - 1)), mask), 0)
        if found:
            for i in range(min(_LANES, stop - first)):
                if found >> i & 1:
                    return first + i
    return -1


def grind(seed: np.ndarray, bits: int, start: int, stop: int) -> int:
    """The smallest nonce in [start, stop) that the challenger accepts after ``seed``, or -1.

    Accepted is what gives Keccak-256(seed || nonce as 8 little-endian bytes) a last word that, read big-endian (the
    challenger pops bytes off the end), has its lowest ``bits`` bits zero: ``check_witness`` of Plonky3's
    SerializingChallenger64 with nothing else pending. ``seed`` is uint64 (4,), a digest; 0 <= bits < 64 and
    0 <= start, stop < 2^63. Raises ValueError otherwise.
    """
    if seed.shape != (DIGEST,) or seed.dtype != np.uint64:
        raise ValueError("the seed is a digest of four uint64 words")
    if not 0 <= bits < 64 or not 0 <= start < 1 << 63 or not 0 <= stop < 1 << 63:
        raise ValueError(f"cannot grind {bits} bits over [{start}, {stop})")
    return int(_grind(np.ascontiguousarray(seed), np.uint64((1 << bits) - 1), start, stop))
