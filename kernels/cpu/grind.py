"""Proof of work for the challenger: the smallest nonce, so that a proof is a function of its statement."""

import numpy as np

from graphprover.kernels.cpu.hashes import KERNELS
from graphprover.kernels.cpu.parallel import Threads

_NONCES = 1 << 14  # of a piece
_PIECES = 64  # of a parallel loop, for each thread


def grind(threads: Threads, seed: bytes, bits: int, hash: str) -> int:
    """Return the smallest nonce that the challenger accepts after ``seed``, a digest; 0 for no bits.

    Each hash's ``smallest_nonce`` states which it accepts.
    """
    if bits == 0:
        return 0
    words = np.frombuffer(seed, dtype="<u8").astype(np.uint64)
    stop, start = _PIECES * _NONCES * threads.count, 0
    while True:
        found: list[int] = []

        def piece(first: int, last: int, start: int = start, found: list[int] = found) -> None:
            if any(nonce < start + first for nonce in found):
                return
            nonce = KERNELS[hash].smallest_nonce(words, bits, start + first, start + last)
            if nonce >= 0:
                found.append(nonce)

        threads.split(piece, stop, _NONCES)
        if found:
            return min(found)
        start += stop
