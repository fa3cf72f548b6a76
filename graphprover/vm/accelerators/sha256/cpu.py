"""The trace of compressions of SHA-256, from the block and the state."""

import numpy as np

from graphprover.device import Device
from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.cpu import (
    SLOT_D,
    SLOT_MEMORY,
    arrays_of,
    by_call,
    cycle_of,
    further,
    time_before,
    write_rows,
)
from graphprover.vm.accelerators.kernels import CallArrays
from graphprover.vm.accelerators.sha256.compression import (
    SEQUENCE,
    big_a,
    big_e,
    choice,
    finish,
    majority,
    run,
    schedule,
    small_2,
    small_15,
    start,
)
from graphprover.vm.accelerators.sha256.table import (
    BLOCK_END,
    BLOCK_WORDS,
    DELAY,
    END,
    FIRST_ROUND,
    JOINED,
    READ_A0,
    READ_A1,
    READ_A7,
    ROUND_CONSTANTS,
    ROUNDS,
    ROWS,
    SLOT_OF,
    STEPS,
    WORD,
    Sha256,
)
from graphprover.vm.accelerators.table import columns_of

_U = np.uint64
_0, _1, _32 = map(np.uint64, (0, 1, 32))
COLUMNS = columns_of(Sha256())
_ON, _STEP, _TURN, _CLK, _BITS_A, _BITS_E, _BITS_W, _BEFORE_A, _BEFORE_E, _T1, _T2 = (
    COLUMNS[name] for name in ("on", "step", "turn", "clk", "a", "e", "w", "before_a", "before_e", "t1", "t2")
)
_Y, _H, _CARRY_A, _CARRY_E, _CARRY_W, _POINTER, _TIME, _TIME_E = (
    COLUMNS[name] for name in ("y", "h", "carry_a", "carry_e", "carry_w", "pointer", "time", "time_e")
)
_SLOT_OF = np.array(SLOT_OF, dtype=np.uint64)
_CONSTANTS = np.array(ROUND_CONSTANTS, dtype=np.uint64)
_PADDING = 2 * FIRST_ROUND  # words before those of rounds


@njit(nogil=True, cache=True)
def execute(_, words):
    """Apply a call: replace the state, behind the block, by the one after the block."""
    a, e = np.empty(SEQUENCE, dtype=np.uint32), np.empty(SEQUENCE, dtype=np.uint32)
    w = np.empty(ROUNDS, dtype=np.uint32)
    start(words, BLOCK_WORDS, a, e)
    schedule(words, 0, w)
    run(a, e, w)
    finish(a, e, words, BLOCK_WORDS)
    return True


@njit(nogil=True, cache=True)
def _put_bits(x, cells, column):
    for z in range(WORD):
        cells[column + z] = _U(x) >> _U(z) & _1


@njit(nogil=True, cache=True)
def _words(a, e, w, r, cells):
    """Write the bits of a row, and the words that follow from the row before; ``w`` has the row's words at 2 r."""
    for j in range(2):
        _put_bits(a[2 * r + j], cells, _BITS_A + WORD * j)
        _put_bits(e[2 * r + j], cells, _BITS_E + WORD * j)
        _put_bits(w[2 * r + j], cells, _BITS_W + WORD * j)
    if r == 0:
        return
    at = 2 * r
    for j in range(2):
        cells[_BEFORE_A + j], cells[_BEFORE_E + j] = a[at - 2 + j], e[at - 2 + j]
    cells[_T1] = _U(big_e(e[at + 1])) + _U(choice(e[at + 1], e[at], e[at - 1]))
    cells[_T2] = _U(big_a(a[at + 1])) + _U(majority(a[at + 1], a[at], a[at - 1]))
    for m in range(DELAY):
        first = 2 * (r - m - 1)  # the words of the row before the one where the sum began, if that is of the call
        for j in range(2):
            total = _0
            if first >= 0:
                total = _U(w[first + j]) + _U(small_15(w[first + j + 1]))
            if m >= JOINED and first + 2 * JOINED >= 0:
                total += _U(w[first + 2 * JOINED + j + 1])
            cells[_Y + 2 * m + j] = total


@njit(nogil=True, cache=True)
def _sums(a, e, w, r, before, cells):
    """Write the carries of a row; ``before``: the cells of the row before."""
    for j in range(2):
        at = 2 * r + j
        if FIRST_ROUND <= r < END:
            x = e[at - 1]
            t1 = _U(big_e(x)) + _U(choice(x, e[at - 2], e[at - 3])) + _U(e[at - 4]) + _CONSTANTS[at - _PADDING]
            t1 += _U(w[at])
            t2 = _U(big_a(a[at - 1])) + _U(majority(a[at - 1], a[at - 2], a[at - 3]))
            cells[_CARRY_A + j], cells[_CARRY_E + j] = (t1 + t2) >> _32, (t1 + _U(a[at - 4])) >> _32
        elif r >= END:
            first = at - 2 * END  # of the state before
            cells[_CARRY_A + j] = (_U(a[at - 4]) + _U(a[first])) >> _32
            cells[_CARRY_E + j] = (_U(e[at - 4]) + _U(e[first])) >> _32
        if BLOCK_END <= r < END:
            cells[_CARRY_W + j] = (_U(small_2(w[at - 2])) + before[_Y + 2 * (DELAY - 1) + j]) >> _32


@njit(nogil=True, cache=True)
def _accesses(calls, cycle, cells):
    """Write the accesses, addresses and the instruction of a call."""
    block, block_time = further(calls, cycle, 0)
    for r in range(ROWS):
        cells[r, _ON], cells[r, _CLK] = _1, cycle.clk
        if r % STEPS < STEPS - 1:
            cells[r, _STEP + r % STEPS] = _1
        if r // STEPS < STEPS - 1:
            cells[r, _TURN + r // STEPS] = _1
        cells[r, _POINTER] = block if r < READ_A7 else (cycle.number if r == READ_A7 else cycle.a0)
        if FIRST_ROUND <= r < BLOCK_END:
            cells[r, _TIME] = time_before(calls, cycle, r - FIRST_ROUND, SLOT_MEMORY)
        else:
            cells[r, _TIME] = cycle.now + _SLOT_OF[r // STEPS] - _1
        cells[r, _TIME_E] = cycle.now + SLOT_D - _1
    cells[0, _T1] = cycle.pc
    cells[READ_A1, _TIME], cells[READ_A7, _TIME], cells[READ_A0, _TIME] = block_time, cycle.t_a7, cycle.t_a0
    for i in range(2):
        state = BLOCK_WORDS + 1 - i  # the earlier row has the later word
        cells[END + i, _TIME] = time_before(calls, cycle, state, SLOT_D)
        cells[END + i, _TIME_E] = time_before(calls, cycle, state + 2, SLOT_D)


@njit(nogil=True, cache=True)
def _call(calls, cycle, a, e, w, cells):
    """Write the rows of one call, (ROWS, columns)."""
    cells[:] = _0
    at = np.int64(cycle.at)
    start(calls.old, at + BLOCK_WORDS, a, e)
    schedule(calls.old, at, w[_PADDING : _PADDING + ROUNDS])
    run(a, e, w[_PADDING : _PADDING + ROUNDS])
    for r in range(ROWS):
        _words(a, e, w, r, cells[r])
        _sums(a, e, w, r, cells[r - 1], cells[r])
        if r > 0:
            for i in range(4):
                kept = i ^ 2 if r == ROWS - 1 else i
                cells[r, _H + i], cells[r, _H + 4 + i] = a[3 - kept], e[3 - kept]
    _accesses(calls, cycle, cells)


@njit(nogil=True, cache=True)
def _fill(calls, first, last, main):
    cells = np.empty((ROWS, len(main)), dtype=np.uint64)
    a, e = np.empty(SEQUENCE, dtype=np.uint32), np.empty(SEQUENCE, dtype=np.uint32)
    w = np.zeros(SEQUENCE, dtype=np.uint32)  # of all rows: 0 in those without rounds
    for i in range(first, last):
        _call(calls, cycle_of(calls, i), a, e, w, cells)
        write_rows(cells, i, main)


def fill(device: Device, _table: Sha256, calls: CallArrays, main: np.ndarray) -> None:
    """Write the rows of compressions, 36 each; idle rows stay as they are."""
    arrays = arrays_of(calls)
    by_call(device, calls, lambda first, last: _fill(arrays, first, last, main))
