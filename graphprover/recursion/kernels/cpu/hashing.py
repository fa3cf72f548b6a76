"""The calls that hash the segments of opened rows, and the digests of segments."""

import numpy as np

from graphprover.device import Device
from graphprover.protocol.blake3 import BLOCK_BYTES, CHUNK_END, CHUNK_START, IV, MESSAGE_PERMUTATION, PARENT, ROOT
from graphprover.recursion.kernels.compressions import Compressions
from graphprover.recursion.kernels.cpu.blake3 import turned
from graphprover.recursion.kernels.segments import RowSegments, SegmentKind
from graphprover.recursion.tables.blake3 import CallUse
from graphprover.runtime.numba_cache import njit

_U32 = np.uint32
_PARENT, _WHOLE = int(SegmentKind.PARENT), int(SegmentKind.WHOLE)
_PART, _CHAIN = int(CallUse.PART), int(CallUse.CHAIN)
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
def _hash(words, owners, firsts, numbers, children, values, blocks, parameters, uses, digests):
    """Compress all blocks in their order."""
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
            blocks[block, :8], blocks[block, 8:] = digests[children[segment, 0]], digests[children[segment, 1]]
            flags = PARENT
        else:
            blocks[block] = words[block]
            flags = (CHUNK_START if begins else 0) | (CHUNK_END if ends else 0)
        if ends and kind & _WHOLE:
            flags |= ROOT
        if begins:
            value[:] = _IV
        values[block] = value
        parameters[block, 0], parameters[block, 1] = counter, 0
        parameters[block, 2] = BLOCK_BYTES - _WORD_BYTES * (absent if ends else 0)
        parameters[block, 3] = flags
        uses[block] = _PART if ends else _PART | _CHAIN
        _compress(value, blocks[block], parameters[block])
        if ends:
            digests[segment] = value


def hash_segments(device: Device, segments: RowSegments, calls: Compressions, digests: np.ndarray) -> None:
    """Write the calls of segments; see ``graphprover.recursion.kernels.hash_segments``."""
    of, halves = segments, segments.words.view(np.uint32)
    written = calls.values, calls.blocks, calls.parameters, calls.uses
    _hash(halves, of.owners, of.firsts, of.numbers, of.children, *written, digests)
