"""Proof of work for the challenger; the twin of ``graphprover.kernels.cpu.grind``."""

import cupy
import numpy as np

from graphprover.kernels.cuda.launch import blocks_for, kernels_of, launch, multiprocessors, to_host
from graphprover.protocol.digests import DIGEST_WORDS

THREADS = 128
_BLOCKS_PER_MULTIPROCESSOR = 5  # blocks that run at once
_EXPECTED = 8  # times the expected number of nonces in one launch: a second is needed once in e^8


def grind(seed: bytes, bits: int) -> int:
    """Return the smallest nonce that the challenger accepts after ``seed``, a digest; 0 for no bits. Waits for it.

    Accepted is what gives Keccak-256(seed || nonce as 8 little-endian bytes) a last word that, read big-endian, has
    its lowest ``bits`` bits zero. Raises ValueError unless 0 <= bits < 60, and for another seed.
    """
    words = np.frombuffer(seed, dtype="<u8").tolist()
    if len(words) != DIGEST_WORDS:
        raise ValueError("the seed is a digest of four words")
    if not 0 <= bits < 60:
        raise ValueError(f"cannot grind {bits} bits")
    if bits == 0:
        return 0
    mask = int.from_bytes(((1 << bits) - 1).to_bytes(8, "big"), "little")
    resident = multiprocessors(cupy.cuda.runtime.getDevice()) * _BLOCKS_PER_MULTIPROCESSOR
    start, count = 0, max(_EXPECTED << bits, THREADS)
    while True:
        found = cupy.asarray(np.array([2**64 - 1, 0], dtype=np.uint64))
        blocks = min(blocks_for(count, THREADS), resident)
        launch(kernels_of("grind.cu"), "grind", blocks, THREADS, *words, mask, start, start + count, found)
        nonce = int(to_host(found)[0])
        if nonce < start + count:
            return nonce
        start += count
