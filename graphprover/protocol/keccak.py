"""Keccak-256 with the original padding (as in Ethereum) of one message or of many.

Many short messages are permuted together in NumPy arrays. Specification: Bertoni, Daemen, Peeters, Van Assche, "The
Keccak reference", version 3.0, 2011.
"""

from collections.abc import Sequence

import numpy as np
from Crypto.Hash import keccak

from graphprover.protocol.digests import DIGEST_WORDS, one_by_one

RATE_WORDS = 17
_WORDS = 25  # words of a state

# Cost model in microseconds (only ratios matter): one separate message, each of its permutations, one joint permutation
# of many states, each of its states.
_MESSAGE, _PERMUTATION, _TOGETHER, _STATE = 9.0, 0.6, 600.0, 2.2
_STATES = 4096  # maximum states of a joint permutation; beyond, the overhead of NumPy's calls is negligible


def digest(data: bytes) -> bytes:
    """Return the 32-byte digest of ``data``."""
    return keccak.new(digest_bits=256, data=data).digest()


def calls(words: int) -> int:
    """Return the number of permutations that hash a message of ``words`` 8-byte words."""
    return words // RATE_WORDS + 1


def hash_groups(groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the digests, uint64 (n, 4), of the rows of each uint64 array (n, w), hashed as little-endian bytes.

    One call for all groups is faster, because joint permutations are.
    """
    digests: dict[int, np.ndarray] = {}
    by_blocks: dict[int, list[int]] = {}
    for i, rows in enumerate(groups):
        by_blocks.setdefault(calls(rows.shape[1]), []).append(i)
    for blocks, members in by_blocks.items():
        count = sum(len(groups[i]) for i in members)
        together = blocks * (_TOGETHER + _STATE * count) < count * (_MESSAGE + _PERMUTATION * blocks)
        own = [groups[i] for i in members]
        hashed = _batched(own, blocks) if together else [one_by_one(digest, rows) for rows in own]
        digests.update(zip(members, hashed, strict=True))
    return [digests[i] for i in range(len(groups))]


def _batched(groups: Sequence[np.ndarray], blocks: int) -> list[np.ndarray]:
    """Return the digests of messages of ``blocks`` blocks each, hashed by joint permutations."""
    ends = np.cumsum([len(rows) for rows in groups])
    total = int(ends[-1])
    padded = np.zeros((total, RATE_WORDS * blocks), dtype=np.uint64)  # (messages, words)
    for rows, end in zip(groups, ends, strict=True):
        words = rows.shape[1]
        padded[end - len(rows) : end, :words] = rows
        padded[end - len(rows) : end, words] = _FIRST_PADDING
    padded[:, -1] |= _LAST_PADDING
    digests = np.empty((total, DIGEST_WORDS), dtype=np.uint64)
    chunks = -(-total // _STATES)
    for chunk in range(chunks):
        part = slice(total * chunk // chunks, total * (chunk + 1) // chunks)
        states = _States(part.stop - part.start)
        for first in range(0, RATE_WORDS * blocks, RATE_WORDS):
            states.words[_ROW_OF_WORD[:RATE_WORDS]] ^= padded[part, first : first + RATE_WORDS].T
            states.permute()
        digests[part] = states.words[_ROW_OF_WORD[:DIGEST_WORDS]].T
    return np.split(digests, ends[:-1])


def _round_constants() -> np.ndarray:
    """Return the 24 words of iota, uint64 (24,).

    Bit 2^j - 1 of word i is output j + 7 i of the shift register x^8 + x^6 + x^5 + x^4 + 1.
    """
    register, words = 1, []
    for _ in range(24):
        word = 0
        for j in range(7):
            word |= (register & 1) << ((1 << j) - 1)
            register = (register << 1) ^ (0x171 if register & 0x80 else 0)
        words.append(word)
    return np.array(words, dtype=np.uint64)


def _rho_and_pi() -> tuple[np.ndarray, np.ndarray]:
    """Return, for each place 5 x + y of a state after pi, the place of its word before pi and its rotation by rho."""
    sources, rotations = np.zeros(_WORDS, dtype=np.intp), np.zeros(_WORDS, dtype=np.uint64)
    x, y = 1, 0
    for t in range(24):
        # Rotations are triangular numbers along the orbit of (1, 0) under pi, which maps (x, y) to (y, 2 x + 3 y).
        next_x, next_y = y, (2 * x + 3 * y) % 5
        sources[5 * next_x + next_y], rotations[5 * next_x + next_y] = 5 * x + y, (t + 1) * (t + 2) // 2 % 64
        x, y = next_x, next_y
    return sources, rotations


ROUND_CONSTANTS = _round_constants()
_SOURCES, _ROTATIONS = _rho_and_pi()
# Row 5 x + y of `_States.words` is word x + 5 y of a message.
_ROW_OF_WORD = [5 * (word % 5) + word // 5 for word in range(_WORDS)]
_FIRST_PADDING, _LAST_PADDING = np.uint64(1), np.uint64(1 << 63)
_ONE, _SIXTY_THREE = np.uint64(1), np.uint64(63)


class _States:
    """States of Keccak-f[1600] with scratch memory to permute them: row 5 x + y holds word (x, y) of every state."""

    def __init__(self, count: int) -> None:
        self.words = np.zeros((_WORDS, count), dtype=np.uint64)
        self.moved = np.empty((_WORDS + 10, count), dtype=np.uint64)  # 10 extra rows: x + 1 and x + 2 are slices
        self.parity = np.empty((7, count), dtype=np.uint64)  # column parities of x = -1 ... 5
        self.theta = np.empty((5, count), dtype=np.uint64)
        self.room = np.empty((5, count), dtype=np.uint64)
        # Full arrays: NumPy shifts by an array of the same shape twice as fast as by a broadcast one.
        self.left = np.repeat(_ROTATIONS[:, None], count, axis=1)
        self.right = np.repeat((64 - _ROTATIONS[:, None]) % np.uint64(64), count, axis=1)

    def permute(self) -> None:
        """Apply Keccak-f[1600] to all states in place."""
        a, b, parity, theta, room = self.words, self.moved, self.parity, self.theta, self.room
        planes, moved, before, after = a.reshape(5, 5, -1), b[:_WORDS], parity[:5], parity[2:]
        for constant in ROUND_CONSTANTS:
            # theta
            np.bitwise_xor.reduce(planes, axis=1, out=parity[1:6])
            np.copyto(parity[0], parity[5])
            np.copyto(parity[6], parity[1])
            np.left_shift(after, _ONE, out=theta)
            np.right_shift(after, _SIXTY_THREE, out=room)
            np.bitwise_or(theta, room, out=theta)
            np.bitwise_xor(theta, before, out=theta)
            np.bitwise_xor(planes, theta[:, None], out=planes)
            # rho and pi
            np.take(a, _SOURCES, axis=0, out=moved, mode="clip")
            np.left_shift(moved, self.left, out=a)
            np.right_shift(moved, self.right, out=moved)
            np.bitwise_or(moved, a, out=moved)
            # chi
            np.copyto(b[_WORDS:], b[:10])
            np.invert(b[5:30], out=a)
            np.bitwise_and(a, b[10:], out=a)
            np.bitwise_xor(a, moved, out=a)
            # iota
            np.bitwise_xor(a[0], constant, out=a[0])
