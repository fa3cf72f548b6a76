"""BLAKE3 of sixteen messages at a time.

A message is a sequence of 64-bit words, hashed as their little-endian bytes; a digest is four words.
Specification: O'Connor, Aumasson, Neves, Wilcox-O'Hearn, "BLAKE3: one function, fast everywhere", 2021.
"""

from collections.abc import Sequence

import numpy as np

from graphprover.kernels.absorption import is_last_piece
from graphprover.kernels.cpu import simd
from graphprover.kernels.cpu.compression import (
    BLOCK_ROOM,
    LANES,
    STATE_ROOM,
    compress,
    initial_value,
    join,
    load_block,
    split,
    store_values,
)
from graphprover.kernels.cpu.field import swap_bytes
from graphprover.kernels.cpu.messages import (
    PAIR,
    check_first,
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
GRAIN = BLOCK_WORDS  # columns of one compression
# Places in the memory of a kernel: the initial value, a block, then chaining values of subtrees from left to right.
_INITIAL, _BLOCK, _STACK = 0, STATE_ROOM, STATE_ROOM + BLOCK_ROOM
_GROUPS = 8  # of sixteen rows, whose blocks are compressed in turn: a prefetch is as many compressions ahead
_ONLY = CHUNK_START | CHUNK_END | ROOT  # flags of the compression of a message of one block


def _memory(values: int) -> np.ndarray:
    """Return memory for a kernel, aligned to a cache's lines, with room for this number of chaining values.

    Kernels take addresses of arrays: counting references to arrays, atomically, would wait for all stores before it.
    """
    words = _STACK + STATE_ROOM * values
    memory = np.empty(words + _WIDTH, dtype=np.uint64)
    start = -(memory.ctypes.data // 8) % _WIDTH
    return memory[start : start + words]


@njit(nogil=True, cache=True)
def _compress_int64(memory, target, state, block, counter, length, flags):
    simd.align_stack()
    compress(memory, target, state, block, counter, length, flags)


@njit(nogil=True, cache=True)
def _compress(memory, target, state, block, counter, length, flags):
    # One compiled function for literals and variables is compiled once, and stays in the caches of instructions.
    _compress_int64(
        memory,
        np.int64(target),
        np.int64(state),
        np.int64(block),
        np.int64(counter),
        np.int64(length),
        np.int64(flags),
    )


@njit(nogil=True, cache=True)
def _store_word(memory, word, low_rows, high_rows):
    """Write a 64-bit word of sixteen messages to the block."""
    simd.store_rows(memory, _BLOCK + 2 * _WIDTH * word, _WIDTH, split(low_rows, high_rows))


@njit(nogil=True, cache=True)
def _clear_from(memory, word):
    """Clear the words of the block from a 64-bit word on."""
    for place in range(_BLOCK + 2 * _WIDTH * word, _BLOCK + BLOCK_ROOM, _WIDTH):
        simd.store(memory, place, 0)


@njit(nogil=True, cache=True)
def _store_digests(memory, place, target, first, last):
    """Write the digests of sixteen messages to the rows from ``first`` of ``target`` below ``last``."""
    halves = simd.load_rows(memory, place, _WIDTH, 8)
    if first + LANES <= last:
        store_values(target + 8 * DIGEST_WORDS * first, halves)
        return
    x0, y0 = join(halves[0], halves[1])
    x1, y1 = join(halves[2], halves[3])
    x2, y2 = join(halves[4], halves[5])
    x3, y3 = join(halves[6], halves[7])
    store_digests((x0, x1, x2, x3), target, first, last)
    if first + _WIDTH < last:
        store_digests((y0, y1, y2, y3), target, first + _WIDTH, last)


@njit(nogil=True, cache=True)
def _load_rows(memory, source, index, stride):
    """Load a block of eight adjacent words of sixteen rows, which lie ``stride`` words apart."""
    simd.store_rows(memory, _BLOCK, _WIDTH, load_block(source + 8 * index, 8 * stride))


@njit(nogil=True, cache=True)
def _depth(words):
    """Return the most subtrees of a message without their parent, and the chunk after them."""
    depth = 1
    while CHUNK_WORDS << depth - 1 < words:
        depth += 1
    return depth


@njit(nogil=True, cache=True)
def _load_words(memory, columns, count, stride, row, last):
    """Load a block of at most eight words of the sixteen rows from ``row`` below ``last``; its rest is zero."""
    whole = row + LANES <= last
    if whole and stride == 1:
        for i in range(count):
            column = simd.load_word(columns, i)
            _store_word(memory, i, simd.load(column, row), simd.load(column, row + _WIDTH))
    elif whole and count == BLOCK_WORDS and simd.load_word(columns, 7) - simd.load_word(columns, 0) == 7 * 8:
        _load_rows(memory, simd.load_word(columns, 0), stride * row, stride)
    else:
        low_places = simd.wrapping_mul(clamped_rows(row, last), stride)
        high_places = simd.wrapping_mul(clamped_rows(row + _WIDTH, last), stride)
        for i in range(count):
            column = simd.load_word(columns, i)
            _store_word(memory, i, simd.gather(column, low_places), simd.gather(column, high_places))
    if count < BLOCK_WORDS:
        _clear_from(memory, count)


@njit(nogil=True, cache=True)
def _prefetch_words(columns, count, row):
    for i in range(count):
        column = simd.load_word(columns, i)
        simd.prefetch(column, row)
        simd.prefetch(column, row + _WIDTH)


@njit(nogil=True, cache=True)
def _subtrees(chunk):
    """Return the number of complete subtrees of the chunks before this one: the bits of its number."""
    count = 0
    while chunk:
        count += chunk & 1
        chunk >>= 1
    return count


@njit(nogil=True, cache=True)
def _copy_values(source, target, words):
    for place in range(0, words, _WIDTH):
        simd.store(target, place, simd.load(source, place))


@njit(nogil=True, cache=True)
def _hash_rows(memory, columns, words, stride, target, first, last, states, begin, stop):
    """Hash rows of ``words`` words; or absorb the words [begin, stop) of them, at the addresses ``columns``.

    A piece that does not begin the rows reads the chaining values of each sixteen rows at the address ``states``, and
    one that does not end them writes them there.
    """
    chunks = max(1, -(-words // CHUNK_WORDS))
    room = STATE_ROOM * _depth(words)
    simd.store_rows(memory, _INITIAL, _WIDTH, initial_value())
    first_chunk, last_chunk = begin // CHUNK_WORDS, chunks if stop == words else -(-stop // CHUNK_WORDS)
    columns -= 8 * begin
    for row in range(first, last, _GROUPS * LANES):
        groups = min(_GROUPS, -(-(last - row) // LANES))
        top = _STACK + STATE_ROOM * _subtrees(first_chunk)
        kept = states + 8 * room * (row // LANES)
        if begin:
            _copy_values(kept, memory + 8 * _STACK, room * groups)
        for chunk in range(first_chunk, last_chunk):
            end = min(words, (chunk + 1) * CHUNK_WORDS)
            word = max(begin, chunk * CHUNK_WORDS)
            flags = 0 if word % CHUNK_WORDS else CHUNK_START
            while True:
                following = min(word + BLOCK_WORDS, end)
                starts = flags == CHUNK_START
                if following == end:
                    flags |= CHUNK_END | ROOT if chunks == 1 else CHUNK_END
                # Columns lie a power of two of bytes apart and, when many, are no streams that a processor would
                # foresee. Their lines of more than two blocks would not fit the ways of its first cache.
                ahead, rows_ahead = (following, 0) if following < stop else (begin, _GROUPS * LANES)
                foreseen = min(stop - ahead, BLOCK_WORDS) if stride == 1 else 0
                for group in range(groups):
                    rows, place = row + LANES * group, top + room * group
                    _load_words(memory, columns + 8 * word, following - word, stride, rows, last)
                    _prefetch_words(columns + 8 * ahead, foreseen, rows + rows_ahead)
                    state = _INITIAL if starts else place
                    _compress(memory, place, state, _BLOCK, chunk, 8 * (following - word), flags)
                if following in (end, stop):
                    break
                word, flags = following, 0
            if following < end:
                break  # the piece ends inside of a chunk
            top += STATE_ROOM
            # As many subtrees are complete as the number of chunks is divisible by 2; the last chunk completes all.
            subtrees = chunk + 1
            while top > _STACK + STATE_ROOM and (end == words or subtrees & 1 == 0):
                top -= 2 * STATE_ROOM
                flags = PARENT | ROOT if end == words and top == _STACK else PARENT
                for group in range(groups):
                    place = top + room * group
                    _compress(memory, place, _INITIAL, place, 0, BLOCK_BYTES, flags)
                top += STATE_ROOM
                subtrees >>= 1
        if stop < words:
            _copy_values(memory + 8 * _STACK, kept, room * groups)
            continue
        for group in range(groups):
            _store_digests(memory, _STACK + room * group, target, row + LANES * group, last)


def hash_rows(matrices: Sequence[np.ndarray], target: np.ndarray, first: int, last: int) -> None:
    """Write the leaves of a tree: digest i is the hash of row i of the first matrix, then of the second, and so on.

    ``matrices`` are C-contiguous uint64 arrays of shape (columns, n), n the same for all, of canonical words; columns
    may be none. ``target`` is uint64 (n, 4), of which the rows [first, last) are written. Raises ValueError otherwise.
    """
    _hash_columns(row_columns(matrices, target, first, last), 1, target, first, last)


def _hash_columns(columns: np.ndarray, stride: int, target: np.ndarray, first: int, last: int) -> None:
    words, memory = len(columns), _memory(_GROUPS * _depth(len(columns)))
    _hash_rows(
        memory.ctypes.data, columns.ctypes.data, words, stride, target.ctypes.data, first, last, 0, 0, words,
    )  # fmt: skip


def row_states(rows: int, columns: int) -> np.ndarray:
    """Return unwritten states of ``absorb_rows`` for rows of a number of columns."""
    return np.empty((-(-rows // LANES), STATE_ROOM * _depth(columns)), dtype=np.uint64)


def absorb_rows(
    matrices: Sequence[np.ndarray],
    states: np.ndarray,
    begin: int,
    columns: int,
    target: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Do a piece of ``hash_rows``: absorb the columns from ``begin`` on, of ``columns`` in all.

    ``states``, from `row_states`, carry the rows from one piece to the next; the last piece writes the digests. Pieces
    begin at multiples of `GRAIN` columns, and ``first`` is a multiple of 16. Raises ValueError otherwise.
    """
    addresses = row_columns(matrices, target, first, last)
    is_last_piece(len(addresses), begin, columns, GRAIN)
    check_first(first)
    memory = _memory(_GROUPS * _depth(columns))
    _hash_rows(
        memory.ctypes.data, addresses.ctypes.data, columns, 1, target.ctypes.data, first, last,
        states.ctypes.data, begin, begin + len(addresses),
    )  # fmt: skip


@njit(nogil=True, cache=True)
def _hash_messages(memory, groups, columns, target):
    for group in range(len(groups)):
        address, count, words = groups[group, 0], groups[group, 1], groups[group, 2]
        for i in range(words):
            columns[i] = address + 8 * i
        _hash_rows(memory, columns.ctypes.data, words, words, target, 0, count, 0, 0, words)
        target += 8 * DIGEST_WORDS * count


def hash_messages(groups: Sequence[np.ndarray], target: np.ndarray) -> None:
    """Write the digests of the rows of some matrices, uint64 (n, words), one matrix after another, to (sum of n, 4).

    All are C-contiguous. Raises ValueError otherwise.
    """
    given, address = message_groups(groups, target)
    most = max((messages.shape[1] for messages in groups), default=0)
    memory = _memory(_GROUPS * _depth(most))
    _hash_messages(memory.ctypes.data, given, np.empty(most, dtype=np.int64), address)


def hash_groups(codeword: np.ndarray, size: int, target: np.ndarray, first: int, last: int) -> None:
    """Write the leaves of a FRI layer: digest i is the hash of elements i size ... (i + 1) size - 1 of a codeword.

    ``codeword`` is C-contiguous uint64 (3, n), hashed element by element, the three coordinates of each together;
    ``target`` is uint64 (n / size, 4), of which the rows [first, last) are written. Raises ValueError otherwise.
    """
    _hash_columns(group_columns(codeword, size, target, first, last), size, target, first, last)


@njit(nogil=True, cache=True)
def _hash_pairs(memory, layer, joining, target, first, last):
    simd.store_rows(memory, _INITIAL, _WIDTH, initial_value())
    for row in range(first, last, LANES):
        if row + LANES <= last:
            _load_rows(memory, layer, PAIR * row, PAIR)
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
    memory = _memory(1)
    _hash_pairs(memory.ctypes.data, *pair_addresses(layer, joining, target, first, last), first, last)


@njit(nogil=True, cache=True)
def _smallest_nonce(memory, seed, mask, start, stop):
    # The digest's last word is in memory order, the bits to test are counted from its last byte.
    mask = swap_bytes(mask)
    simd.store_rows(memory, _INITIAL, _WIDTH, initial_value())
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
    memory = _memory(1)
    return int(_smallest_nonce(memory.ctypes.data, np.ascontiguousarray(seed), mask, first, last))
