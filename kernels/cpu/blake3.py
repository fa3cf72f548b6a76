"""BLAKE3 of sixteen messages at a time.

A message is a sequence of 64-bit words, hashed as their little-endian bytes; a digest is four words.
Specification: O'Connor, Aumasson, Neves, Wilcox-O'Hearn, "BLAKE3: one function, fast everywhere", 2021.
"""

from collections.abc import Sequence

import numpy as np

from graphprover.kernels.cpu import simd
from graphprover.kernels.cpu.compression import BLOCK_ROOM, LANES, STATE_ROOM, compress, initial_value, join, split
from graphprover.kernels.cpu.field import swap_bytes
from graphprover.kernels.cpu.messages import (
    PAIR,
    clamped_rows,
    group_columns,
    message_groups,
    nonce_mask,
    pair_addresses,
    row_columns,
    store_digests,
)
from graphprover.protocol.blake3 import (
    BLOCK_BYTES,
    BLOCK_WORDS,
    CHUNK_END,
    CHUNK_START,
    CHUNK_WORDS,
    PARENT,
    ROOT,
)
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.runtime.numba_cache import njit

_WIDTH = simd.WIDTH
# Places in the memory of a kernel: the initial value, a block, then chaining values of subtrees from left to right.
_INITIAL, _BLOCK, _STACK = 0, STATE_ROOM, STATE_ROOM + BLOCK_ROOM
_AHEAD = BLOCK_WORDS  # columns between a prefetch and its load: more would not fit the ways of a cache
_ONLY = CHUNK_START | CHUNK_END | ROOT  # flags of the compression of a message of one block


@njit(nogil=True, cache=True)
def _memory(values):
    """Return memory with room for ``values`` chaining values, aligned to the lines of a cache."""
    words = _STACK + STATE_ROOM * values
    memory = np.empty(words + _WIDTH, dtype=np.uint64)
    start = -(memory.ctypes.data >> 3) % _WIDTH
    memory = memory[start : start + words]
    simd.store_rows(memory, _INITIAL, _WIDTH, initial_value())
    return memory


@njit(nogil=True, cache=True)
def _compress(memory, target, state, block, counter, length, flags):
    compress(memory, target, state, block, counter, length, flags)


@njit(nogil=True, cache=True)
def _store_word(memory, word, low_rows, high_rows):
    """Write a 64-bit word of sixteen messages to the block."""
    simd.store_rows(memory, _BLOCK + 2 * _WIDTH * word, _WIDTH, split(low_rows, high_rows))


@njit(nogil=True, cache=True)
def _clear_from(memory, word):
    """Clear the words of the block from a 64-bit word on."""
    memory[_BLOCK + 2 * _WIDTH * word : _BLOCK + BLOCK_ROOM] = 0


@njit(nogil=True, cache=True)
def _store_digests(memory, place, target, first, last):
    """Write the digests of sixteen messages to the rows from ``first`` of ``target`` below ``last``."""
    halves = simd.load_rows(memory, place, _WIDTH, 8)
    x0, y0 = join(halves[0], halves[1])
    x1, y1 = join(halves[2], halves[3])
    x2, y2 = join(halves[4], halves[5])
    x3, y3 = join(halves[6], halves[7])
    store_digests((x0, x1, x2, x3), target, first, last)
    if first + _WIDTH < last:
        store_digests((y0, y1, y2, y3), target, first + _WIDTH, last)


@njit(nogil=True, cache=True)
def _hash_rows(columns, stride, target, first, last):
    words = len(columns)
    chunks = max(1, -(-words // CHUNK_WORDS))
    depth = 1
    while 1 << depth - 1 < chunks:
        depth += 1
    memory = _memory(depth)
    for row in range(first, last, LANES):
        whole = stride == 1 and row + LANES <= last
        low_places = simd.wrapping_mul(clamped_rows(row, last), stride)
        high_places = simd.wrapping_mul(clamped_rows(row + _WIDTH, last), stride)
        top = _STACK
        for chunk in range(chunks):
            end = min(words, (chunk + 1) * CHUNK_WORDS)
            word, state, flags = chunk * CHUNK_WORDS, _INITIAL, CHUNK_START
            while True:
                count = min(BLOCK_WORDS, end - word)
                for i in range(word, word + count):
                    # Columns lie a power of two of bytes apart and, when many, are no streams that a processor would
                    # foresee.
                    ahead, place = i + _AHEAD, row * stride
                    if ahead >= words:
                        ahead, place = ahead - words, (row + LANES) * stride
                    if ahead < words:
                        simd.prefetch(columns[ahead], place)
                        simd.prefetch(columns[ahead], place + _WIDTH * stride)
                    if whole:
                        _store_word(memory, i - word, simd.load(columns[i], row), simd.load(columns[i], row + _WIDTH))
                    else:
                        low = simd.gather(columns[i], low_places)
                        _store_word(memory, i - word, low, simd.gather(columns[i], high_places))
                _clear_from(memory, count)
                word += count
                if word == end:
                    flags |= CHUNK_END
                    if chunks == 1:
                        flags |= ROOT
                _compress(memory, top, state, _BLOCK, chunk, 8 * count, flags)
                if word == end:
                    break
                state, flags = top, 0
            top += STATE_ROOM
            # As many subtrees are complete as the number of chunks is divisible by 2; the last chunk completes all.
            subtrees = chunk + 1
            while top > _STACK + STATE_ROOM and (end == words or subtrees & 1 == 0):
                top -= 2 * STATE_ROOM
                flags = PARENT | ROOT if end == words and top == _STACK else PARENT
                _compress(memory, top, _INITIAL, top, 0, BLOCK_BYTES, flags)
                top += STATE_ROOM
                subtrees >>= 1
        _store_digests(memory, _STACK, target, row, last)


def hash_rows(matrices: Sequence[np.ndarray], target: np.ndarray, first: int, last: int) -> None:
    """Write the leaves of a tree: digest i is the hash of row i of the first matrix, then of the second, and so on.

    ``matrices`` are C-contiguous uint64 arrays of shape (columns, n), n the same for all, of canonical words; columns
    may be none. ``target`` is uint64 (n, 4), of which the rows [first, last) are written. Raises ValueError otherwise.
    """
    columns = row_columns(matrices, target, first, last)
    _hash_rows(columns, 1, target.ctypes.data, first, last)


@njit(nogil=True, cache=True)
def _hash_messages(groups, most, target):
    columns = np.empty(most, dtype=np.int64)
    done = 0
    for group in range(len(groups)):
        address, count, words = groups[group, 0], groups[group, 1], groups[group, 2]
        for i in range(words):
            columns[i] = address + 8 * i
        _hash_rows(columns[:words], words, target + 8 * DIGEST_WORDS * done, 0, count)
        done += count


def hash_messages(groups: Sequence[np.ndarray], target: np.ndarray) -> None:
    """Write the digests of the rows of some matrices, uint64 (n, words), one matrix after another, to (sum of n, 4).

    All are C-contiguous. Raises ValueError otherwise.
    """
    given, address = message_groups(groups, target)
    _hash_messages(given, max((messages.shape[1] for messages in groups), default=0), address)


def hash_groups(codeword: np.ndarray, size: int, target: np.ndarray, first: int, last: int) -> None:
    """Write the leaves of a FRI layer: digest i is the hash of elements i size ... (i + 1) size - 1 of a codeword.

    ``codeword`` is C-contiguous uint64 (3, n), hashed element by element, the three coordinates of each together;
    ``target`` is uint64 (n / size, 4), of which the rows [first, last) are written. Raises ValueError otherwise.
    """
    columns = group_columns(codeword, size, target, first, last)
    _hash_rows(columns, size, target.ctypes.data, first, last)


@njit(nogil=True, cache=True)
def _hash_pairs(layer, joining, target, first, last):
    memory = _memory(1)
    for row in range(first, last, LANES):
        if row + LANES <= last:
            x = simd.transpose(simd.load_rows(layer, PAIR * row, PAIR, _WIDTH))
            y = simd.transpose(simd.load_rows(layer, PAIR * (row + _WIDTH), PAIR, _WIDTH))
            for i in range(PAIR):
                _store_word(memory, i, x[i], y[i])
        else:
            low_places = simd.wrapping_mul(clamped_rows(row, last), PAIR)
            high_places = simd.wrapping_mul(clamped_rows(row + _WIDTH, last), PAIR)
            for i in range(PAIR):
                low = simd.gather(layer, simd.wrapping_add(low_places, i))
                _store_word(memory, i, low, simd.gather(layer, simd.wrapping_add(high_places, i)))
        # The digests, once hashed, are the first half of a joined block.
        _compress(memory, _STACK, _INITIAL, _BLOCK, 0, BLOCK_BYTES, _ONLY)
        if joining:
            simd.store_rows(memory, _BLOCK, _WIDTH, simd.load_rows(memory, _STACK, _WIDTH, 8))
            low_places = simd.wrapping_mul(clamped_rows(row, last), DIGEST_WORDS)
            high_places = simd.wrapping_mul(clamped_rows(row + _WIDTH, last), DIGEST_WORDS)
            for i in range(DIGEST_WORDS):
                low = simd.gather(joining, simd.wrapping_add(low_places, i))
                _store_word(memory, DIGEST_WORDS + i, low, simd.gather(joining, simd.wrapping_add(high_places, i)))
            _compress(memory, _STACK, _INITIAL, _BLOCK, 0, BLOCK_BYTES, _ONLY)
        _store_digests(memory, _STACK, target, row, last)


def hash_pairs(layer: np.ndarray, joining: np.ndarray | None, target: np.ndarray, first: int, last: int) -> None:
    """Write the nodes [first, last) of a layer: the hash of two children, hashed once more with a joining digest.

    target[i] = H(layer[2 i] || layer[2 i + 1]), or H of that digest || joining[i]. ``layer`` is uint64 (2 n, 4),
    ``joining`` (n, 4) or None, ``target`` (n, 4), all C-contiguous. Raises ValueError otherwise.
    """
    _hash_pairs(*pair_addresses(layer, joining, target, first, last), first, last)


@njit(nogil=True, cache=True)
def _smallest_nonce(seed, mask, start, stop):
    # The digest's last word is in memory order, the bits to test are counted from its last byte.
    mask = swap_bytes(mask)
    memory = _memory(1)
    _clear_from(memory, DIGEST_WORDS + 1)
    for i in range(DIGEST_WORDS):
        _store_word(memory, i, simd.splat(seed[i]), simd.splat(seed[i]))
    for first in range(start, stop, LANES):
        nonces = simd.wrapping_add(simd.iota(), first)
        _store_word(memory, DIGEST_WORDS, nonces, simd.wrapping_add(nonces, _WIDTH))
        _compress(memory, _STACK, _INITIAL, _BLOCK, 0, 8 * (DIGEST_WORDS + 1), _ONLY)
        place = _STACK + 2 * _WIDTH * (DIGEST_WORDS - 1)
        low, high = join(simd.load(memory, place), simd.load(memory, place + _WIDTH))
        found = simd.equal(simd.bit_and(low, mask), 0) | simd.equal(simd.bit_and(high, mask), 0) << _WIDTH
        if found:
            for i in range(min(LANES, stop - first)):
                if found >> i & 1:
                    return first + i
    return -1


def smallest_nonce(seed: np.ndarray, bits: int, first: int, last: int) -> int:
    """Return the smallest nonce in [first, last) that the challenger accepts after ``seed``, or -1.

    It accepts a nonce if the last word of H(seed || nonce as 8 little-endian bytes), read big-endian because the
    challenger pops bytes off the end, has its lowest ``bits`` bits zero: ``check_witness`` of Plonky3's
    SerializingChallenger64 with nothing else pending. ``seed`` is uint64 (4,), a digest; 0 <= bits < 64 and 0 <= first,
    last < 2^63. Raises ValueError otherwise.
    """
    mask = nonce_mask(seed, bits, first, last)
    return int(_smallest_nonce(np.ascontiguousarray(seed), mask, first, last))
