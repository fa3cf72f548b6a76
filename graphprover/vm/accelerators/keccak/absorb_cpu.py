"""The trace of calls that absorb a block, from the state and the block."""

import numpy as np

from graphprover.device import Device
from graphprover.kernels.cpu.keccak import permute_one
from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.cpu import (
    LIMB_MASK,
    SLOT_B,
    SLOT_MEMORY,
    arrays_of,
    by_call,
    cycle_of,
    further,
    time_before,
    write_rows,
)
from graphprover.vm.accelerators.keccak.absorb import PLANE_WORDS, RATE_WORDS, Absorb
from graphprover.vm.accelerators.keccak.permutation import WORDS
from graphprover.vm.accelerators.keccak.planes import PLANES
from graphprover.vm.accelerators.kernels import CallArrays
from graphprover.vm.accelerators.table import columns_of

_U = np.uint64
_0, _1, _8, _32, _BYTE = map(np.uint64, (0, 1, 8, 32, 255))
COLUMNS = columns_of(Absorb())
_ON, _WITHIN, _CLK, _STATE, _BLOCK, _REGISTER, _T_PC = (
    COLUMNS[name] for name in ("on", "within", "clk", "state", "block", "register", "t_pc")
)
_OLD, _ADDED, _BOTH, _NEW, _OLD_T, _ADDED_T = (
    COLUMNS[name] for name in ("old", "added", "both", "new", "old_t", "added_t")
)


@njit(nogil=True, cache=True)
def execute(_, words):
    """Apply a call: xor the block into the state behind it, and permute this."""
    state = words[RATE_WORDS:]
    for k in range(RATE_WORDS):
        state[k] ^= words[k]
    permute_one(state)
    return True


@njit(nogil=True, cache=True)
def _bytes(word, cells, column):
    """Write the bytes of a word."""
    for i in range(8):
        cells[column + i] = word >> _8 * _U(i) & _BYTE


@njit(nogil=True, cache=True)
def _words(calls, cycle, words, cells):
    """Write the words of the state and of the block, and their times; ``words``: uint64 (RATE_WORDS + WORDS,)."""
    for k in range(RATE_WORDS + WORDS):
        words[k] = calls.old[cycle.at + _U(k)]
    execute(0, words)
    for k in range(WORDS):
        row, i = cells[k // PLANE_WORDS], k % PLANE_WORDS
        old, new, added = calls.old[cycle.at + _U(RATE_WORDS + k)], words[RATE_WORDS + k], _0
        if k < RATE_WORDS:
            added = words[k]
            row[_ADDED_T + i] = time_before(calls, cycle, k, SLOT_B)
        _bytes(old, row, _OLD + 8 * i)
        _bytes(added, row, _ADDED + 8 * i)
        _bytes(old & added, row, _BOTH + 8 * i)
        row[_NEW + 2 * i], row[_NEW + 2 * i + 1] = new & LIMB_MASK, new >> _32
        row[_OLD_T + i] = time_before(calls, cycle, RATE_WORDS + k, SLOT_MEMORY)


@njit(nogil=True, cache=True)
def _call(calls, cycle, words, cells):
    """Write the rows of one call, (PLANES, columns)."""
    cells[:] = _0
    block, block_time = further(calls, cycle, 0)
    for r in range(PLANES):
        cells[r, _ON], cells[r, _CLK], cells[r, _STATE], cells[r, _BLOCK] = _1, cycle.clk, cycle.a0, block
        for k in range(r, PLANES - 1):
            cells[r, _WITHIN + k] = _1
    cells[0, _REGISTER], cells[1, _REGISTER], cells[2, _REGISTER] = cycle.number, block, cycle.a0
    cells[0, _T_PC], cells[1, _T_PC], cells[2, _T_PC] = cycle.t_a7, block_time, cycle.t_a0
    cells[3, _T_PC] = cycle.pc
    _words(calls, cycle, words, cells)


@njit(nogil=True, cache=True)
def _fill(calls, first, last, main):
    cells = np.empty((PLANES, len(main)), dtype=np.uint64)
    words = np.empty(RATE_WORDS + WORDS, dtype=np.uint64)
    for i in range(first, last):
        _call(calls, cycle_of(calls, i), words, cells)
        write_rows(cells, i, main)


def fill(device: Device, _table: Absorb, calls: CallArrays, main: np.ndarray) -> None:
    """Write the rows of calls that absorb a block."""
    arrays = arrays_of(calls)
    by_call(device, calls, lambda first, last: _fill(arrays, first, last, main))
