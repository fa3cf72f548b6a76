"""Keccak-256 (the original padding 0x01, as in Ethereum and Plonky3, not SHA3-256) of eight messages at a time.

A state is 25 vectors of eight lanes in memory, word x + 5 y of message l at index 8 (x + 5 y) + l; a round lives in
registers. A message is a sequence of 64-bit words, hashed as their little-endian bytes; a digest is four words.
Specification: Bertoni, Daemen, Peeters, Van Assche, "The Keccak reference", version 3.0, 2011.
"""

from collections.abc import Sequence

import numpy as np

from graphprover.kernels.cpu import simd
from graphprover.protocol.hashing import DIGEST_WORDS, RATE_WORDS, ROUND_CONSTANTS
from graphprover.runtime.numba_cache import njit

STATE = 25 * simd.WIDTH  # words of a state in memory
_WIDTH = simd.WIDTH


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


@simd.operation(results=25)
def _round(b, a, constant):
    """One round of Keccak-f[1600]: theta, rho, pi, chi, iota."""
    parity = [b.xor(b.xor(b.xor(a[x], a[x + 5]), b.xor(a[x + 10], a[x + 15])), a[x + 20]) for x in range(5)]
    theta = [b.xor(parity[x - 1], simd.emit_rotate(b, parity[(x + 1) % 5], 1)) for x in range(5)]
    moved = [None] * 25
    for x in range(5):
        for y in range(5):
            word = x + 5 * y
            moved[y + 5 * ((2 * x + 3 * y) % 5)] = simd.emit_rotate(b, b.xor(a[word], theta[x]), _ROTATIONS[word])
    result = [
        b.xor(moved[x + y], b.and_(b.not_(moved[(x + 1) % 5 + y]), moved[(x + 2) % 5 + y]))
        for y in range(0, 25, 5)
        for x in range(5)
    ]
    result[0] = b.xor(result[0], constant)
    return result


@njit(nogil=True, cache=True)
def permute(state):
    """Keccak-f[1600] of the eight states at the address or in the array ``state``."""
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
def clamped_rows(first, last):
    """first, first + 1, ... for eight lanes, none above last - 1: the lanes of an incomplete group repeat its end."""
    rows = simd.wrapping_add(simd.iota(), first)
    return simd.select(simd.less(rows, last), rows, simd.splat(last - 1))


@njit(nogil=True, cache=True)
def store_digests(state, target, first, last):
    """Write the digests of eight states to the rows from ``first`` of ``target``, uint64 (rows, 4), below ``last``."""
    digests = simd.load_rows(state, 0, _WIDTH, DIGEST_WORDS)
    if last - first >= _WIDTH:
        simd.store_rows(target, DIGEST_WORDS * first, _WIDTH, simd.interleave(digests))
    else:
        places = simd.shift_left(clamped_rows(first, last), 2)
        for i in range(DIGEST_WORDS):
            simd.scatter(target, simd.wrapping_add(places, i), simd.load(state, _WIDTH * i))


@njit(nogil=True, cache=True)
def _hash_rows(columns, stride, target, first, last):
    state = np.empty(STATE, dtype=np.uint64)
    for row in range(first, last, _WIDTH):
        state[:] = 0
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
        finish(state, word)
        store_digests(state, target, row, last)


def _check_target(target: np.ndarray, rows: int, first: int, last: int) -> None:
    if target.dtype != np.uint64 or target.shape != (rows, DIGEST_WORDS) or not target.flags.c_contiguous:
        raise ValueError(f"digests of {rows} rows are a C-contiguous uint64 array of shape ({rows}, {DIGEST_WORDS})")
    if not 0 <= first <= last <= rows:
        raise ValueError(f"rows [{first}, {last}) of {rows}")


def _column_addresses(matrix: np.ndarray) -> np.ndarray:
    if matrix.dtype != np.uint64 or matrix.ndim != 2 or not matrix.flags.c_contiguous:
        raise ValueError("columns are hashed from C-contiguous uint64 arrays of shape (columns, rows)")
    columns, rows = matrix.shape
    return matrix.ctypes.data + 8 * rows * np.arange(columns, dtype=np.int64)


def hash_rows(matrices: Sequence[np.ndarray], target: np.ndarray, first: int, last: int) -> None:
    """Return the leaves of a tree: digest i is the hash of row i of the first matrix, then of the second, and so on.

    ``matrices`` are C-contiguous uint64 arrays of shape (columns, n), n the same for all, of canonical words; columns
    may be none. ``target`` is uint64 (n, 4), of which the rows [first, last) are written. Raises ValueError otherwise.
    """
    rows = target.shape[0]
    if any(matrix.shape[1:] != (rows,) for matrix in matrices):
        raise ValueError(f"matrices of shapes {[matrix.shape for matrix in matrices]} have not {rows} rows each")
    _check_target(target, rows, first, last)
    columns = np.concatenate([np.empty(0, dtype=np.int64), *map(_column_addresses, matrices)])
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
    """Return the digests of the rows of some matrices, uint64 (n, words), one matrix after another, as uint64 (sum of
    n, 4).

    All are C-contiguous. Raises ValueError otherwise.
    """
    _check_target(target, sum(map(len, groups)), 0, 0)
    if any(array.dtype != np.uint64 or array.ndim != 2 or not array.flags.c_contiguous for array in groups):
        raise ValueError("messages are rows of C-contiguous uint64 arrays")
    # Not by ``ctypes``, which takes as long as hashing a few messages.
    addresses = [array.__array_interface__["data"][0] for array in (target, *groups)]
    given = [(address, *messages.shape) for address, messages in zip(addresses[1:], groups, strict=True)]
    most = max((messages.shape[1] for messages in groups), default=0)
    _hash_messages(np.array(given, dtype=np.int64).reshape(-1, 3), most, addresses[0])


def hash_groups(codeword: np.ndarray, size: int, target: np.ndarray, first: int, last: int) -> None:
    """Return the leaves of a FRI layer: digest i is the hash of elements i size ... (i + 1) size - 1 of an extension
    vector.

    ``codeword`` is C-contiguous uint64 (3, n), hashed element by element, the three coordinates of each together;
    ``target`` is uint64 (n / size, 4), of which the rows [first, last) are written. Raises ValueError otherwise.
    """
    rows = target.shape[0]
    if codeword.shape != (3, rows * size):
        raise ValueError(f"a codeword of shape {codeword.shape} is not {rows} groups of {size}")
    _check_target(target, rows, first, last)
    elements = 8 * np.arange(size, dtype=np.int64)
    columns = (elements[:, None] + _column_addresses(codeword)[None, :]).reshape(-1)
    _hash_rows(columns, size, target.ctypes.data, first, last)
