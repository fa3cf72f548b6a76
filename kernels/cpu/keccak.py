"""Keccak-256 (the original padding 0x01, as in Ethereum and Plonky3, not SHA3-256) of eight messages at a time.

A state is 25 vectors of eight lanes in memory, word x + 5 y of message l at index 8 (x + 5 y) + l; a round lives in
registers. A message is a sequence of 64-bit words, hashed as their little-endian bytes; a digest is four words.
Specification: Bertoni, Daemen, Peeters, Van Assche, "The Keccak reference", version 3.0, 2011.
"""

from collections.abc import Callable, Sequence

import numpy as np
from llvmlite import ir
from llvmlite.ir import IRBuilder as Builder
from llvmlite.ir import Value
from numba import types
from numba.core import cgutils

from graphprover.kernels.absorption import is_last_piece
from graphprover.kernels.cpu import simd
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
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.protocol.keccak import RATE_WORDS, ROUND_CONSTANTS
from graphprover.runtime.numba_cache import intrinsic, njit

STATE = 25 * simd.WIDTH  # words of a state in memory
_WIDTH = simd.WIDTH
GRAIN = RATE_WORDS  # columns that a state absorbs between permutations


def _rotations() -> list[int]:
    """Return the rotation of rho for each word x + 5 y: triangular numbers along the orbit of (1, 0) under pi."""
    rotations = [0] * 25
    x, y = 1, 0
    for t in range(24):
        rotations[x + 5 * y] = (t + 1) * (t + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    return rotations


_ROTATIONS = _rotations()
_FIRST_PADDING = np.uint64(0x01)
_LAST_PADDING = np.uint64(1 << 63)


def _emit_round(b: Builder, a: Sequence[Value], constant: Value, rotate: Callable) -> list[Value]:
    """Write one round of Keccak-f[1600]: theta, rho, pi, chi, iota."""
    parity = [b.xor(b.xor(b.xor(a[x], a[x + 5]), b.xor(a[x + 10], a[x + 15])), a[x + 20]) for x in range(5)]
    theta = [b.xor(parity[x - 1], rotate(b, parity[(x + 1) % 5], 1)) for x in range(5)]
    moved: dict[int, Value] = {}
    for x in range(5):
        for y in range(5):
            word = x + 5 * y
            moved[y + 5 * ((2 * x + 3 * y) % 5)] = rotate(b, b.xor(a[word], theta[x]), _ROTATIONS[word])
    result = [
        b.xor(moved[x + y], b.and_(b.not_(moved[(x + 1) % 5 + y]), moved[(x + 2) % 5 + y]))
        for y in range(0, 25, 5)
        for x in range(5)
    ]
    result[0] = b.xor(result[0], constant)
    return result


@simd.operation(results=25)
def _round(b, a, constant):
    """Apply a round to eight states."""
    return _emit_round(b, a, constant, simd.emit_rotate)


@intrinsic
def _round_of_one(_context, words, constant):
    """Apply a round to one state, a tuple of its words."""

    def rotate(b, x, bits):
        return b.or_(b.shl(x, x.type(bits)), b.lshr(x, x.type(64 - bits))) if bits else x

    def codegen(context, b, signature, arguments):
        found = _emit_round(b, cgutils.unpack_tuple(b, arguments[0], 25), arguments[1], rotate)
        return context.make_tuple(b, signature.return_type, found)

    state = types.UniTuple(types.uint64, 25)
    return state(state, types.uint64), codegen


@intrinsic
def _load_one(_context, words):
    """Return the first 25 words of a contiguous array."""

    def codegen(context, b, signature, arguments):
        data = context.make_array(signature.args[0])(context, b, arguments[0]).data
        found = [b.load(b.gep(data, [ir.IntType(64)(k)])) for k in range(25)]
        return context.make_tuple(b, signature.return_type, found)

    return types.UniTuple(types.uint64, 25)(words), codegen


@njit(nogil=True, cache=True)
def permute_one(words):
    """Keccak-f[1600] of the state in the first 25 words of a contiguous array."""
    state = _load_one(words)
    for i in range(24):
        state = _round_of_one(state, ROUND_CONSTANTS[i])
    for k in range(25):
        words[k] = state[k]


@njit(nogil=True, cache=True)
def permute(state):
    """Keccak-f[1600] of the eight states at the address or in the array ``state``."""
    simd.align_stack()
    words = simd.load_rows(state, 0, _WIDTH, 25)
    for i in range(24):
        words = _round(words, ROUND_CONSTANTS[i])
    simd.store_rows(state, 0, _WIDTH, words)


@njit(nogil=True, cache=True)
def finish(state, words):
    """Pad after fewer than RATE_WORDS words of the last block, the others of which are zero, and permutes."""
    simd.store(state, _WIDTH * words, simd.xor(simd.load(state, _WIDTH * words), _FIRST_PADDING))
    last = _WIDTH * (RATE_WORDS - 1)
    simd.store(state, last, simd.xor(simd.load(state, last), _LAST_PADDING))
    permute(state)


@njit(nogil=True, cache=True)
def _store_digests(state, target, first, last):
    """Write the digests of eight states to the rows from ``first`` of ``target``, uint64 (rows, 4), below ``last``."""
    store_digests(simd.load_rows(state, 0, _WIDTH, DIGEST_WORDS), target, first, last)


@njit(nogil=True, cache=True)
def _copy_state(source, target):
    for place in range(0, STATE, _WIDTH):
        simd.store(target, place, simd.load(source, place))


@njit(nogil=True, cache=True)
def _hash_rows(columns, stride, target, first, last, states, begins, ends):
    """Hash rows whose columns are a whole message, or a piece of it.

    A piece that does not begin the message reads the state of each eight rows at the address ``states``, and one that
    does not end it writes it there.
    """
    state = np.empty(STATE, dtype=np.uint64)
    for row in range(first, last, _WIDTH):
        kept = states + 8 * STATE * (row // _WIDTH)
        if begins:
            state[:] = 0
        else:
            _copy_state(kept, state)
        whole = stride == 1 and row + _WIDTH <= last
        places = simd.wrapping_mul(clamped_rows(row, last), stride)
        word = 0
        for i in range(len(columns)):
            # Columns lie a power of two of bytes apart and, when many, are no streams that a processor would foresee.
            ahead = i + RATE_WORDS
            if ahead < len(columns):
                simd.prefetch(columns[ahead], row * stride)
            elif len(columns) > RATE_WORDS:
                simd.prefetch(columns[ahead - len(columns)], (row + _WIDTH) * stride)
            x = simd.load(columns[i], row) if whole else simd.gather(columns[i], places)
            simd.store(state, _WIDTH * word, simd.xor(simd.load(state, _WIDTH * word), x))
            word += 1
            if word == RATE_WORDS:
                permute(state)
                word = 0
        if ends:
            finish(state, word)
            _store_digests(state, target, row, last)
        else:
            _copy_state(state, kept)


def hash_rows(matrices: Sequence[np.ndarray], target: np.ndarray, first: int, last: int) -> None:
    """Write the leaves of a tree: digest i is the hash of row i of the first matrix, then of the second, and so on.

    ``matrices`` are C-contiguous uint64 arrays of shape (columns, n), n the same for all, of canonical words; columns
    may be none. ``target`` is uint64 (n, 4), of which the rows [first, last) are written. Raises ValueError otherwise.
    """
    columns = row_columns(matrices, target, first, last)
    _hash_rows(columns, 1, target.ctypes.data, first, last, 0, True, True)


def row_states(rows: int, columns: int) -> np.ndarray:
    """Return unwritten states of ``absorb_rows`` for rows of a number of columns."""
    return np.empty((-(-rows // _WIDTH), STATE), dtype=np.uint64)


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
    ends = is_last_piece(len(addresses), begin, columns, GRAIN)
    check_first(first)
    _hash_rows(addresses, 1, target.ctypes.data, first, last, states.ctypes.data, begin == 0, ends)


@njit(nogil=True, cache=True)
def _hash_messages(groups, most, target):
    columns = np.empty(most, dtype=np.int64)
    done = 0
    for group in range(len(groups)):
        address, count, words = groups[group, 0], groups[group, 1], groups[group, 2]
        for i in range(words):
            columns[i] = address + 8 * i
        _hash_rows(columns[:words], words, target + 8 * DIGEST_WORDS * done, 0, count, 0, True, True)
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
    _hash_rows(columns, size, target.ctypes.data, first, last, 0, True, True)


@njit(nogil=True, cache=True)
def _absorb_pairs(state, layer, row, last):
    """Return the states after hashing words 8 i ... 8 i + 7 of ``layer`` for the eight nodes i from ``row`` below
    ``last``.
    """
    state[_WIDTH * PAIR :] = 0
    if row + _WIDTH <= last:
        pairs = simd.load_rows(layer, PAIR * row, PAIR, _WIDTH)
        simd.store_rows(state, 0, _WIDTH, simd.transpose(pairs))
    else:
        places = simd.wrapping_mul(clamped_rows(row, last), PAIR)
        for i in range(PAIR):
            simd.store(state, _WIDTH * i, simd.gather(layer, simd.wrapping_add(places, i)))
    finish(state, PAIR)


@njit(nogil=True, cache=True)
def _hash_pairs(layer, joining, target, first, last):
    state = np.empty(STATE, dtype=np.uint64)
    for row in range(first, last, _WIDTH):
        _absorb_pairs(state, layer, row, last)
        if joining:
            places = simd.wrapping_mul(clamped_rows(row, last), DIGEST_WORDS)
            for i in range(DIGEST_WORDS):
                digest = simd.gather(joining, simd.wrapping_add(places, i))
                simd.store(state, _WIDTH * (DIGEST_WORDS + i), digest)
            state[_WIDTH * PAIR :] = 0
            finish(state, PAIR)
        _store_digests(state, target, row, last)


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
    state = np.empty(STATE, dtype=np.uint64)
    for first in range(start, stop, _WIDTH):
        for i in range(DIGEST_WORDS):
            simd.store(state, _WIDTH * i, simd.splat(seed[i]))
        simd.store(state, _WIDTH * DIGEST_WORDS, simd.wrapping_add(simd.iota(), first))
        state[_WIDTH * (DIGEST_WORDS + 1) :] = 0
        finish(state, DIGEST_WORDS + 1)
        found = simd.equal(simd.bit_and(simd.load(state, _WIDTH * (DIGEST_WORDS - 1)), mask), 0)
        if found:
            for i in range(min(_WIDTH, stop - first)):
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
