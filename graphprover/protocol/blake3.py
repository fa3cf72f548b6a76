"""BLAKE3 in its default mode with 32-byte digests, of one message or of many.

The package blake3 hashes single messages; many messages of a few blocks are compressed together in NumPy arrays.
Specification: O'Connor, Aumasson, Neves, Wilcox-O'Hearn, "BLAKE3: one function, fast everywhere", 2021.
"""

from collections.abc import Sequence

import blake3
import numpy as np

from graphprover.protocol.digests import DIGEST_WORDS, one_by_one

# The first 32 bits of the fractional parts of the square roots of the first eight primes, as SHA-256's.
IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
MESSAGE_PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
ROUNDS = 7
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8  # flags of a compression
BLOCK_BYTES, CHUNK_BYTES = 64, 1024
BLOCK_WORDS, CHUNK_WORDS = BLOCK_BYTES // 8, CHUNK_BYTES // 8  # words of 64 bits

# Cost model in microseconds (only ratios matter): one separate message, each of its blocks, one joint compression of
# many states, each of its states. It prefers joint compressions for at most three blocks.
_MESSAGE, _BLOCK, _TOGETHER, _STATE = 0.65, 0.05, 380.0, 0.25
_STATES = 8192  # maximum states of a joint compression; beyond, they leave the caches

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
    """Return the digests of the rows of each group; one call for all is faster, because joint compressions are.

    Args:
        groups: uint64 arrays (n, w), whose rows are hashed as little-endian bytes.

    Returns:
        For each group, uint64 (n, 4).
    """
    digests: dict[int, np.ndarray] = {}
    by_words: dict[int, list[int]] = {}
    for i, rows in enumerate(groups):
        by_words.setdefault(rows.shape[1], []).append(i)
    for words, members in by_words.items():
        ends = np.cumsum([len(groups[i]) for i in members])
        rows = np.concatenate([groups[i] for i in members]).astype("<u8", copy=False)
        blocks = max(1, -(-words // BLOCK_WORDS))
        together = blocks * (_TOGETHER + _STATE * len(rows)) < len(rows) * (_MESSAGE + _BLOCK * blocks)
        found = _batched(rows) if together and words <= CHUNK_WORDS else one_by_one(digest, rows)
        digests.update(zip(members, np.split(found, ends[:-1]), strict=True))
    return [digests[i] for i in range(len(groups))]


def _batched(rows: np.ndarray) -> np.ndarray:
    """Return the digests of messages of at most one chunk, hashed by joint compressions."""
    total, words = rows.shape
    digests = np.empty((total, DIGEST_WORDS), dtype="<u8")
    starts = range(0, max(words, 1), BLOCK_WORDS)
    parts = -(-total // _STATES)
    for part in range(parts):
        messages = rows[total * part // parts : total * (part + 1) // parts]
        states = _States(len(messages))
        for start in starts:
            block = messages[:, start : start + BLOCK_WORDS]
            flags = (CHUNK_START if start == starts[0] else 0) | (CHUNK_END | ROOT if start == starts[-1] else 0)
            states.compress(block, flags)
        digests[total * part // parts : total * (part + 1) // parts] = states.values.T.copy().view("<u8")
    return digests


# Message words of four quarter-rounds in step: the first and the second word of the columns, then of the diagonals.
_ORDERS = np.array([order[start : start + 7 : 2] for order in SCHEDULE for start in (0, 1, 8, 9)])
_IV = np.array(IV, dtype=np.uint32)[:, None]


class _States:
    """States of the compression function with scratch memory; a row holds one word of every state.

    The 4 x 4 words have an array for each row of the square. Rows b, c and d have one or two words more, copies of the
    words at their other end, so that the columns and the diagonals of the square are slices.
    """

    def __init__(self, count: int) -> None:
        self.values = np.repeat(_IV, count, axis=1)  # chaining values
        self.a, self.b, self.c, self.d = (np.empty((words, count), dtype=np.uint32) for words in (4, 5, 6, 5))
        self.block = np.zeros((16, count), dtype=np.uint32)
        self.room = np.empty((4, count), dtype=np.uint32)

    def compress(self, block: np.ndarray, flags: int) -> None:
        """Update the chaining values with a block of every message, uint64 (count, words), of the first chunk."""
        a, b, c, d = self.a, self.b, self.c, self.d
        halves = 2 * block.shape[1]
        self.block[:halves] = np.ascontiguousarray(block).view("<u4").T
        self.block[halves:] = 0
        np.copyto(a, self.values[:4])
        np.copyto(b[:4], self.values[4:])
        np.copyto(c[:4], _IV[:4])
        d[1:3] = 0  # the number of the chunk
        d[3], d[4] = 4 * halves, flags
        for i in range(0, len(_ORDERS), 4):
            self._quarter_rounds(b[:4], c[:4], d[1:], i)
            b[4], c[4:], d[0] = b[0], c[:2], d[4]
            self._quarter_rounds(b[1:], c[2:], d[:4], i + 2)
            b[0], c[:2], d[4] = b[4], c[4:], d[0]
        np.bitwise_xor(a, c[:4], out=self.values[:4])
        np.bitwise_xor(b[:4], d[1:], out=self.values[4:])

    def _quarter_rounds(self, b: np.ndarray, c: np.ndarray, d: np.ndarray, order: int) -> None:
        """Apply the quarter-round G to four words of each row, with message words in two orders from ``order`` on."""
        a, room = self.a, self.room
        for words, first, second in ((order, 16, 12), (order + 1, 8, 7)):
            np.take(self.block, _ORDERS[words], axis=0, out=room, mode="clip")
            np.add(a, room, out=a)
            np.add(a, b, out=a)
            np.bitwise_xor(d, a, out=d)
            self._rotate_right(d, first)
            np.add(c, d, out=c)
            np.bitwise_xor(b, c, out=b)
            self._rotate_right(b, second)

    def _rotate_right(self, words: np.ndarray, amount: int) -> None:
        np.left_shift(words, np.uint32(32 - amount), out=self.room)
        np.right_shift(words, np.uint32(amount), out=words)
        np.bitwise_or(words, self.room, out=words)
