"""Finds the late accesses of a cycle range, and makes their bumps."""

from typing import NamedTuple

import numpy as np

from graphprover.device import Device
from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.host_call import MOST_FURTHER
from graphprover.vm.accelerators.registry import FIRST_NUMBER, FURTHER_OF, WORDS_OF
from graphprover.vm.kernels import bumps as columns
from graphprover.vm.kernels import tape
from graphprover.vm.kernels.bumps import ACCESS, FIRST, LAST, OFFSET, POINTER, SLOT, Accessed
from graphprover.vm.program.isa import A1
from graphprover.vm.tables import clock
from graphprover.vm.tables.buses import REGISTER_BASE
from graphprover.vm.tables.limbs import LIMB_MASK

_U = np.uint64
_D, _M2, _FURTHER, _WORD = tape.D, tape.M2, tape.FURTHER, tape.WORD  # registers up to D
_VALUES = tuple(map(tape.WIDE.index, ("a", "a", "b", "d")))  # columns of rows, by the access of a register
_TIMES = tuple(map(tape.WIDE.index, ("t_a", "t_a", "t_b", "t_d")))
_A, _B = _VALUES[0], _VALUES[2]
_LAST = tape.ROW_WORDS - 1
_SLOTS, _FAR = map(np.uint64, (clock.SLOTS, clock.FAR))
_0, _2, _7, _8, _16, _32 = map(np.uint64, (0, 2, 7, 8, 16, 32))
_LIMB, _HALF = np.uint64(LIMB_MASK), np.uint64(2**16 - 1)


class _Accessed(NamedTuple):
    """The arrays of `Accessed`, for Numba."""

    order: np.ndarray
    rows: np.ndarray
    old: np.ndarray
    new: np.ndarray
    time: np.ndarray
    registers_at: tuple[np.ndarray, ...]  # by the access
    offset: np.ndarray


@njit(nogil=True, cache=True)
def _has(number, access):
    """Return whether the host call of this number makes an access; calls of one chip may differ."""
    listed = number - _U(FIRST_NUMBER)
    if access < _WORD:
        return access - _FURTHER < FURTHER_OF[listed]
    return access - _WORD < WORDS_OF[listed]


@njit(nogil=True, cache=True)
def _fill_bumps(run, first_clock, sought, bumps):
    """Return how many bumps there are; write no more than fit."""
    count = 0
    for k in range(len(sought)):
        access, slot = np.int64(sought[k, ACCESS]), sought[k, SLOT]
        of_register = access <= _D
        further = _FURTHER <= access < _WORD
        register = access if of_register else 0
        word = access - _WORD if access >= _WORD else np.int64(access == _M2)
        pointer, offset = np.int64(sought[k, POINTER]), sought[k, OFFSET]
        for i in range(np.int64(sought[k, FIRST]), np.int64(sought[k, LAST])):
            row, clk = run.rows[run.order[i]], _U(run.order[i]) + first_clock
            if access >= _FURTHER and not _has(row[_A], access):
                continue
            first = row[_LAST] >> _32  # access of the cycle
            at = first + _U(word)
            if of_register:
                before = row[_TIMES[register]]
            elif further:
                before = run.new[first + _U(MOST_FURTHER + access - _FURTHER)]
            else:
                before = run.time[at]
            now = _SLOTS * clk + slot
            if now - before <= _FAR:
                continue
            if count < bumps.shape[1]:
                entry = row[_LAST] & _LIMB
                if of_register:
                    address, value = run.registers_at[register][entry], row[_VALUES[register]]
                elif further:
                    address = _U(REGISTER_BASE + A1 + access - _FURTHER)
                    value = run.new[first + _U(access - _FURTHER)]
                elif access >= _WORD:
                    base = row[_B] if pointer == 0 else run.new[first + _U(pointer - 1)]
                    address, value = base + _8 * offset, run.old[at]
                else:
                    base = (row[_A] + run.offset[entry]) & ~_7
                    address, value = base + _8 * _U(word), run.old[at]
                step = now - _2 - before
                bumps[columns.AT, count] = address
                bumps[columns.TIME, count] = before
                bumps[columns.LOW, count] = value & _LIMB
                bumps[columns.HIGH, count] = value >> _32
                bumps[columns.STEP_LOW, count] = step & _HALF
                bumps[columns.STEP_HIGH, count] = step >> _16
            count += 1
    return count


def fill_bumps(device: Device, accessed: Accessed, sought: np.ndarray, bumps: np.ndarray) -> None:
    """Write bumps; see ``graphprover.vm.kernels.fill_bumps``."""
    registers_at = accessed.a_at, accessed.a_at, accessed.b_at, accessed.d_at
    cycles = accessed.cycles
    run = _Accessed(cycles.order, cycles.rows, accessed.old, cycles.new, accessed.time, registers_at, accessed.offset)
    found = _fill_bumps(run, np.uint64(accessed.first_clock), sought, bumps)
    assert found == bumps.shape[1]
