"""Proof of work for the challenger; the twin of ``graphprover.kernels.cpu.grind``."""

from collections.abc import Sequence

import cupy
import numpy as np

from graphprover.kernels.cuda.launch import blocks_for, copied, hashing_kernels, launch, multiprocessors, to_host
from graphprover.kernels.cuda.tape import taped
from graphprover.protocol.digests import DIGEST_WORDS

THREADS = 128
KECCAK_RESIDENT, BLAKE3_RESIDENT = 5, 8
_RESIDENT = {"keccak": KECCAK_RESIDENT, "blake3": BLAKE3_RESIDENT}  # blocks that a multiprocessor runs at once
_EXPECTED = 8  # times the expected number of nonces in one launch: a second is needed once in e^8
_TAKES = 8  # in which all warps together have as many nonces as are expected, if they are many
_NOTHING = np.array([2**64 - 1, 0], dtype=np.uint64)  # no nonce found, none taken
_MOST = 16  # nonces of a lane in one take: enough that the counter is no bottleneck


def grind(seed: bytes, bits: int, hash: str) -> int:
    """Return the smallest nonce that the challenger accepts after ``seed``, a digest; 0 for no bits. Waits for it.

    Accepted is what gives H(seed || nonce as 8 little-endian bytes) a last word that, read big-endian, has its lowest
    ``bits`` bits zero. ``hash`` is the name of H. Raises ValueError unless 0 <= bits < 60, and for another seed.
    """
    words = np.frombuffer(seed, dtype="<u8").tolist()
    if len(words) != DIGEST_WORDS:
        raise ValueError("the seed is a digest of four words")
    if not 0 <= bits < 60:
        raise ValueError(f"cannot grind {bits} bits")
    if bits == 0:
        return 0
    mask = int.from_bytes(((1 << bits) - 1).to_bytes(8, "big"), "little")
    resident = multiprocessors(cupy.cuda.runtime.getDevice()) * _RESIDENT[hash]
    start, count = 0, max(_EXPECTED << bits, THREADS)
    blocks = min(blocks_for(count, THREADS), resident)
    take = min(max((1 << bits) // (_TAKES * blocks * THREADS), 1), _MOST)
    while True:
        stop = start + count
        given = [np.array([*words, mask, start, stop], dtype=np.uint64), _NOTHING]
        # How many searches there are depends on the seed.
        found = _search(blocks, take, hash, given) if start else taped(_search, blocks, take, hash, words=given)
        nonce = int(to_host(found)[0])
        if nonce < stop:
            return nonce
        start = stop


def _search(blocks: int, take: int, hash: str, words: Sequence[np.ndarray]) -> cupy.ndarray:
    """Return a vector with the smallest nonce; ``words`` has the kernel's first arguments, and the vector before."""
    given, before = words
    (found,) = copied(before)
    launch(hashing_kernels("grind.cu", hash), "grind", blocks, THREADS, given, take, found)
    return found
