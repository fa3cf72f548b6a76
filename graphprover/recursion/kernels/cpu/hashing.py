"""The hashes of opened rows on the host: chaining values and digests of their segments."""

import numpy as np

from graphprover.protocol.blake3 import BLOCK_BYTES, CHUNK_END, CHUNK_START, IV, MESSAGE_PERMUTATION, PARENT, ROOT
from graphprover.recursion.kernels.cpu.compress import turned
from graphprover.recursion.kernels.segments import Kind
from graphprover.runtime.numba_cache import njit

_U32 = np.uint32
_PARENT, _WHOLE = int(Kind.PARENT), int(Kind.WHOLE)
_IV = np.array(IV, dtype=np.uint32)
_PERMUTATION = np.array(MESSAGE_PERMUTATION, dtype=np.int64)
_ROUNDS = 7
_WORD_BYTES = 8


@njit(nogil=True, cache=True)
def _mix(v, a, b, c, d, first, second):
    v[a] = _U32(v[a] + v[b] + first)
    v[d] = turned(v[d] ^ v[a], 16)
    v[c] = _U32(v[c] + v[d])
    v[b] = turned(v[b] ^ v[c], 12)
    v[a] = _U32(v[a] + v[b] + second)
    v[d] = turned(v[d] ^ v[a], 8)
    v[c] = _U32(v[c] + v[d])
    v[b] = turned(v[b] ^ v[c], 7)


@njit(nogil=True, cache=True)
def _compress(value, block, parameters):
    """Replace a chaining value, (8,), by the one after a block, (16,)."""
    v, m, permuted = np.empty(16, dtype=np.uint32), block.copy(), np.empty(16, dtype=np.uint32)
    v[:8], v[8:12], v[12:] = value, _IV[:4], parameters
    for _ in range(_ROUNDS):
        for i in range(4):
            _mix(v, i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1])
        for i in range(4):
            _mix(v, i, 4 + (i + 1 & 3), 8 + (i + 2 & 3), 12 + (i + 3 & 3), m[8 + 2 * i], m[9 + 2 * i])
        for k in range(16):
            permuted[k] = m[_PERMUTATION[k]]
        m, permuted = permuted, m
    for k in range(8):
        value[k] = v[k] ^ v[8 + k]


@njit(nogil=True, cache=True)
def hash_segments(halves, owners, firsts, numbers, children, values, parameters, digests):
    """Compress all blocks in their order.

    Args:
        halves: uint32 (blocks, 16): the words of blocks; a parent's words are written.
        owners: See `Segments`, like ``firsts`` and ``numbers``.
        firsts: See above.
        numbers: See above.
        children: int64 (segments, 2): of a parent, both segments below, which are earlier ones.
        values: uint32 (blocks, 8): the chaining value before each block is written.
        parameters: uint32 (blocks, 4): counter (low, high), length and flags of each block are written.
        digests: uint32 (segments, 8): the digest of each segment is written.
    """
    value = np.empty(8, dtype=np.uint32)
    for block in range(len(owners)):
        segment = owners[block]
        kind, counter, absent = numbers[segment, 0], numbers[segment, 1], numbers[segment, 3]
        if kind & _PARENT:
            counter, absent = _U32(0), _U32(0)
        begins = firsts[segment] == block
        ends = block + 1 == len(owners) or owners[block + 1] != segment
        flags = 0
        if kind & _PARENT:
            halves[block, :8], halves[block, 8:] = digests[children[segment, 0]], digests[children[segment, 1]]
            flags = PARENT
        else:
            flags = (CHUNK_START if begins else 0) | (CHUNK_END if ends else 0)
        if ends and kind & _WHOLE:
            flags |= ROOT
        if begins:
            value[:] = _IV
        values[block] = value
        parameters[block, 0], parameters[block, 1] = counter, 0
        parameters[block, 2] = BLOCK_BYTES - _WORD_BYTES * (absent if ends else 0)
        parameters[block, 3] = flags
        _compress(value, halves[block], parameters[block])
        if ends:
            digests[segment] = value
