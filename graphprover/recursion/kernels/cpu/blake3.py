"""The trace of BLAKE3's compressions, and the pairs of bytes that it looks up."""

from functools import partial

import numpy as np

from graphprover.device import Device
from graphprover.kernels.cpu.parallel import counted_apart
from graphprover.protocol.blake3 import IV, MESSAGE_PERMUTATION
from graphprover.recursion.kernels.compressions import Compressions
from graphprover.recursion.tables.blake3 import FIRST_COLUMNS, WIDTH, CallUse
from graphprover.recursion.tables.places import LANES, LAST, PLACES, ROWS
from graphprover.runtime.numba_cache import njit

_U, _U32 = np.uint64, np.uint32
_POSITION, _FINAL, _ODD, _NUMBER, _NODE, _PART, _CHAIN, _M, _A, _D, _C, _HIGH, _LOW = (
    FIRST_COLUMNS[name]
    for name in (
        "position", "final", "odd", "number", "node", "part", "chain", "m", "a", "d", "c", "high", "low",
    )
)  # fmt: skip
_USE_NODE, _USE_PART, _USE_CHAIN = map(int, (CallUse.NODE, CallUse.PART, CallUse.CHAIN))
_HALF = 16  # columns of a half of G in a family
_IV = np.array(IV, dtype=np.uint32)
_PERMUTATION = np.array(MESSAGE_PERMUTATION, dtype=np.int64)
_PLACES = np.array(PLACES, dtype=np.int64)
# Words of a lane in each half of its G: the operands of its xors, and the words of its cells.
_OLD_B, _OLD_D, _NEW_A, _NEW_C, _XOR_B, _XOR_D = range(6)
_WORDS = 6
_XOR, _XOR_4, _XOR_7 = range(3)  # rows of the counts


@njit(nogil=True, cache=True)
def turned(word, bits):
    """Rotate to the right."""
    return _U32(word >> _U32(bits) | word << _U32(32 - bits))


@njit(nogil=True, cache=True)
def _mix(v, lane, ia, ib, ic, id, m0, m1, words):
    """Apply G to words of the state, and write the words of its lane, (2, LANES, _WORDS)."""
    a, b, c, d = v[ia], v[ib], v[ic], v[id]
    for half in range(2):
        found = words[half, lane]
        found[_OLD_B], found[_OLD_D] = b, d
        a = _U32(a + b + (m0 if half == 0 else m1))
        found[_NEW_A], found[_XOR_D] = a, d ^ a
        d = turned(d ^ a, 16 if half == 0 else 8)
        c = _U32(c + d)
        found[_NEW_C], found[_XOR_B] = c, b ^ c
        b = turned(b ^ c, 12 if half == 0 else 7)
    v[ia], v[ib], v[ic], v[id] = a, b, c, d


@njit(nogil=True, cache=True)
def _run(value, block, parameters, words):
    """Write the words of all rows of a call, (ROWS, 2, LANES, _WORDS); row 0 has the state before."""
    v, m, permuted = np.empty(16, dtype=np.uint32), block.copy(), np.empty(16, dtype=np.uint32)
    v[:8] = value
    v[8:12] = _IV[:4]
    v[12:] = parameters
    words[0] = _U32(0)
    for lane in range(LANES):  # as if diagonals had led there
        found = words[0, 1, lane]
        found[_NEW_A], found[_NEW_C] = v[-lane & 3], v[8 + (2 - lane & 3)]
        found[_XOR_B] = turned(v[4 + (1 - lane & 3)], 25)
        found[_XOR_D] = turned(v[12 + (3 - lane & 3)], 24)
    for row in range(1, LAST, 2):
        for i in range(4):
            _mix(v, i, i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1], words[row])
        for i in range(4):
            ib, ic, id = 4 + (i + 1 & 3), 8 + (i + 2 & 3), 12 + (i + 3 & 3)
            _mix(v, -i & 3, i, ib, ic, id, m[8 + 2 * i], m[9 + 2 * i], words[row + 1])
        for k in range(16):
            permuted[k] = m[_PERMUTATION[k]]
        m, permuted = permuted, m
    for lane in range(LANES):
        a, b, c, d = v[lane], v[4 + lane], v[8 + lane], v[12 + lane]
        found = words[LAST, 0, lane]
        found[_OLD_B], found[_OLD_D], found[_NEW_A], found[_XOR_D] = b, d, b, b ^ d
        found[_XOR_B] = turned(a, 20)
        found[_NEW_C] = b ^ found[_XOR_B]
        found = words[LAST, 1, lane]
        found[_OLD_B], found[_OLD_D] = a, turned(b ^ d, 16)
        found[_NEW_A], found[_XOR_D], found[_NEW_C], found[_XOR_B] = _U32(0), found[_OLD_D], c, a ^ c


@njit(nogil=True, cache=True)
def _put(number, use, block, words, cells):
    """Write the cells of a call, (WIDTH, ROWS)."""
    cells[:_M] = _U(0)
    cells[_NUMBER] = number
    cells[_NODE] = _U(use & _USE_NODE != 0)
    cells[_PART] = _U(use & _USE_PART != 0)
    cells[_CHAIN] = _U(use & _USE_CHAIN != 0)
    cells[_FINAL, LAST] = _U(1)
    for row in range(ROWS):
        cells[_POSITION, row], cells[_ODD, row] = _U(row), _U(row & 1)
        for k in range(16):
            cells[_M + _PLACES[row, k], row] = _U(block[k])
        for half in range(2):
            low_bits = _U32(4 if half == 0 else 7)
            low_mask = _U32((1 << low_bits) - 1)
            for lane in range(LANES):
                found = words[row, half, lane]
                for q in range(4):
                    at, shift = _HALF * half + 4 * lane + q, _U32(8 * q)
                    b = found[_XOR_B] >> shift & _U32(255)
                    cells[_A + at, row] = _U(found[_NEW_A] >> shift & _U32(255))
                    cells[_C + at, row] = _U(found[_NEW_C] >> shift & _U32(255))
                    cells[_D + at, row] = _U(found[_XOR_D] >> shift & _U32(255))
                    cells[_HIGH + at, row], cells[_LOW + at, row] = _U(b >> low_bits), _U(b & low_mask)


@njit(nogil=True, cache=True)
def _count(words, times, counts):
    """Count the lookups of a call ``times`` times: of all its rows but the first."""
    for row in range(1, ROWS):
        for half in range(2):
            for lane in range(LANES):
                found = words[row, half, lane]
                for q in range(4):
                    shift = _U32(8 * q)
                    b, d = found[_OLD_B] >> shift & _U32(255), found[_OLD_D] >> shift & _U32(255)
                    a, c = found[_NEW_A] >> shift & _U32(255), found[_NEW_C] >> shift & _U32(255)
                    counts[_XOR, d << _U32(8) | a] += times
                    counts[_XOR_4 if half == 0 else _XOR_7, b << _U32(8) | c] += times


@njit(nogil=True, cache=True)
def _fill_rows(values, blocks, parameters, uses, main, first, last):
    """Write the calls of the rows first..last, whole calls. Cells go through memory of a cache's size: columns lie a
    power of two apart, so that all cells of a row would have the same few places in the first cache.
    """
    words = np.empty((ROWS, 2, LANES, _WORDS), dtype=np.uint32)
    cells = np.empty((WIDTH, ROWS), dtype=np.uint64)
    none = np.zeros(16, dtype=np.uint32)
    idle = False  # whether `cells` has an idle call
    for number in range(first // ROWS, last // ROWS):
        if number < len(uses):
            _run(values[number], blocks[number], parameters[number], words)
            _put(_U(number), uses[number], blocks[number], words, cells)
        elif not idle:
            _run(_IV, none, none[:4], words)
            _put(_U(number), _U32(0), none, words, cells)
            idle = True
        cells[_NUMBER] = _U(number)
        start = ROWS * number
        for column in range(WIDTH):
            for row in range(ROWS):
                main[column, start + row] = cells[column, row]


@njit(nogil=True, cache=True)
def _count_calls(values, blocks, parameters, counts, first, last):
    words = np.empty((ROWS, 2, LANES, _WORDS), dtype=np.uint32)
    for number in range(first, last):
        _run(values[number], blocks[number], parameters[number], words)
        _count(words, _U(1), counts)


@njit(nogil=True, cache=True)
def _count_idle(times, counts):
    words = np.empty((ROWS, 2, LANES, _WORDS), dtype=np.uint32)
    none = np.zeros(16, dtype=np.uint32)
    _run(_IV, none, none[:4], words)
    _count(words, _U(times), counts)


def fill_blake3(device: Device, calls: Compressions, main: np.ndarray) -> None:
    """Write a trace; see ``graphprover.recursion.kernels.fill_blake3``."""

    def fill(first: int, last: int) -> None:
        # Pieces are cut anywhere: a call belongs to the piece that has its first row.
        first, last = (-(-row // ROWS) * ROWS for row in (first, last))
        _fill_rows(calls.values, calls.blocks, calls.parameters, calls.uses, main, first, last)

    device.split_rows(fill, main.shape[1])


def count_xors(device: Device, calls: Compressions, rows: int, counts: np.ndarray) -> None:
    """Count lookups; see ``graphprover.recursion.kernels.count_xors``."""
    count = partial(_count_calls, calls.values, calls.blocks, calls.parameters)
    counted_apart(device.split_rows, len(calls), counts, count)
    idle = rows // ROWS - len(calls)
    if idle:
        _count_idle(idle, counts)
