"""The compression of SHA-256 by Python's integers."""

import struct
from collections.abc import Sequence

MASK = 0xFFFFFFFF


def _fractions(root: int, count: int) -> tuple[int, ...]:
    """Return the first 32 bits of the fractions of the roots of the first primes."""
    primes = [x for x in range(2, 312) if all(x % p for p in range(2, x))][:count]
    return tuple(int(p ** (1 / root) % 1 * 2**32) for p in primes)


START = _fractions(2, 8)
CONSTANTS = _fractions(3, 64)


def rotated(x: int, count: int) -> int:
    return (x >> count | x << 32 - count) & MASK


def words_of(block: bytes) -> list[int]:
    """Return the message words of the 64 rounds."""
    w = list(struct.unpack(">16I", block))
    for i in range(16, 64):
        x, y = w[i - 15], w[i - 2]
        w.append(w[i - 16] + (rotated(x, 7) ^ rotated(x, 18) ^ x >> 3) + w[i - 7] & MASK)
        w[i] = w[i] + (rotated(y, 17) ^ rotated(y, 19) ^ y >> 10) & MASK
    return w


def compress(state: Sequence[int], block: bytes, constants: Sequence[int] = CONSTANTS) -> list[int]:
    """Return the state after a block."""
    a, b, c, d, e, f, g, h = state
    for k, w in zip(constants, words_of(block), strict=True):
        t1 = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + (e & f ^ ~e & MASK & g) + k + w
        t2 = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + (a & b ^ a & c ^ b & c)
        a, b, c, d, e, f, g, h = t1 + t2 & MASK, a, b, c, d + t1 & MASK, e, f, g
    return [x + y & MASK for x, y in zip(state, (a, b, c, d, e, f, g, h), strict=True)]


def padded(message: bytes) -> bytes:
    """Return the blocks of a message."""
    return message + b"\x80" + bytes(-(len(message) + 9) % 64) + (8 * len(message)).to_bytes(8, "big")


def digest(message: bytes) -> bytes:
    state, blocks = START, padded(message)
    for at in range(0, len(blocks), 64):
        state = compress(state, blocks[at : at + 64])
    return struct.pack(">8I", *state)
