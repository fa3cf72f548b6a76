"""BLAKE3 in its default mode with 32-byte digests, of one message or of many.

Specification: O'Connor, Aumasson, Neves, Wilcox-O'Hearn, "BLAKE3: one function, fast everywhere", 2021.
"""

from collections.abc import Sequence

import blake3
import numpy as np

from graphprover.protocol.digests import DIGEST_WORDS

# The first 32 bits of the fractional parts of the square roots of the first eight primes, as SHA-256's.
IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
MESSAGE_PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
ROUNDS = 7
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8  # flags of a compression
BLOCK_BYTES, CHUNK_BYTES = 64, 1024
BLOCK_WORDS, CHUNK_WORDS = BLOCK_BYTES // 8, CHUNK_BYTES // 8  # words of 64 bits
# State words (a, b, c, d) of a round's quarter-rounds G: the columns of the 4 x 4 state, then its diagonals.
COLUMNS = tuple((i, 4 + i, 8 + i, 12 + i) for i in range(4))
DIAGONALS = tuple((i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4))


def _schedule() -> tuple[tuple[int, ...], ...]:
    """Return for each round the message words in the order in which its quarter-rounds take them."""
    rounds = [tuple(range(16))]
    while len(rounds) < ROUNDS:
        rounds.append(tuple(rounds[-1][i] for i in MESSAGE_PERMUTATION))
    return tuple(rounds)


SCHEDULE = _schedule()


def digest(data: bytes) -> bytes:
    """Return the 32-byte digest of ``data``."""
    return blake3.blake3(data).digest()


def calls(words: int) -> int:
    """Return the number of compressions that hash a message of ``words`` 8-byte words."""
    chunks = max(1, -(-words // CHUNK_WORDS))
    return max(1, -(-words // BLOCK_WORDS)) + chunks - 1


def hash_groups(groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the digests, uint64 (n, 4), of the rows of each uint64 array (n, w), hashed as little-endian bytes."""
    found = []
    for rows in groups:
        messages = np.ascontiguousarray(rows, dtype="<u8")
        digests = b"".join([digest(message.tobytes()) for message in messages])
        found.append(np.frombuffer(digests, dtype="<u8").reshape(-1, DIGEST_WORDS))
    return found
