"""BLAKE3 of one message or of many."""

from collections.abc import Sequence

import numpy as np
from blake3 import blake3

from graphprover.protocol.digests import DIGEST_WORDS

BLOCK_WORDS = 8
CHUNK_WORDS = 128


def digest(data: bytes) -> bytes:
    """Return the 32-byte digest of ``data``."""
    return blake3(data).digest()


def calls(words: int) -> int:
    """Return the number of compressions that hash a message of ``words`` 8-byte words."""
    return max(-(-words // BLOCK_WORDS), 1) + max(-(-words // CHUNK_WORDS) - 1, 0)


def hash_groups(groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the digests, uint64 (n, 4), of the rows of each uint64 array (n, w), hashed as little-endian bytes."""
    found = []
    for rows in groups:
        messages = np.ascontiguousarray(rows, dtype="<u8")
        digests = b"".join([digest(message.tobytes()) for message in messages])
        found.append(np.frombuffer(digests, dtype="<u8").reshape(-1, DIGEST_WORDS))
    return found
