"""Finds the accesses of a window that come too late, and makes their bumps."""

from typing import NamedTuple

import numpy as np

from graphprover.compiled import njit
from graphprover.device import Device
from graphprover.vm import clock
from graphprover.vm.kernels import bumps as columns
from graphprover.vm.kernels import tape
from graphprover.vm.kernels.bumps import ACCESS, FIRST, LAST, SLOT, Accessed
from graphprover.vm.limbs import LIMB_MASK

_U = np.uint64
_A, _IN_PLACE, _B, _D, _M2, _WORD = tape.A, tape.A_IN_PLACE, tape.B, tape.D, tape.M2, tape.WORD
_SLOTS, _SLOT_M, _FAR = map(np.uint64, (clock.SLOTS, clock.SLOT_MEMORY, clock.FAR))
_0, _2, _7, _8, _16, _32 = map(np.uint64, (0, 2, 7, 8, 16, 32))
_LIMB, _HALF = np.uint64(LIMB_MASK), np.uint64(2**16 - 1)


class _Accessed(NamedTuple):
    """See `Accessed`."""

    order: np.ndarray
    entry: np.ndarray
    at: np.ndarray
    a: np.ndarray
    b: np.ndarray
    d: np.ndarray
    t_a: np.ndarray
    t_b: np.ndarray
    t_d: np.ndarray
    old: np.ndarray
    clock: np.ndarray
    a_at: np.ndarray
    b_at: np.ndarray
    d_at: np.ndarray
    offset: np.ndarray


@njit(nogil=True, cache=True)
def _fill_bumps(run, first_clock, sought, bumps):
    """Gives how many there are; writes no more than there is room for."""
    count = 0
    for k in range(len(sought)):
        access, slot = np.int64(sought[k, ACCESS]), sought[k, SLOT]
        word = access - _WORD if access >= _WORD else np.int64(access == _M2)
        for row in range(np.int64(sought[k, FIRST]), np.int64(sought[k, LAST])):
            cycle = run.order[row]
            if access in (_A, _IN_PLACE):
                before = run.t_a[cycle]
            elif access == _B:
                before = run.t_b[cycle]
            elif access == _D:
                before = run.t_d[cycle]
            else:
                before = _SLOTS * _U(run.clock[run.at[cycle] + word])
                before += _SLOT_M if before != _0 else _0
            now = _SLOTS * (_U(cycle) + first_clock) + slot
            if now - before <= _FAR:
                continue
            if count < bumps.shape[1]:
                entry = run.entry[cycle]
                if access in (_A, _IN_PLACE):
                    at, value = run.a_at[entry], run.a[cycle]
                elif access == _B:
                    at, value = run.b_at[entry], run.b[cycle]
                elif access == _D:
                    at, value = run.d_at[entry], run.d[cycle]
                else:
                    base = run.b[cycle] if access >= _WORD else (run.a[cycle] + run.offset[entry]) & ~_7
                    at, value = base + _8 * _U(word), run.old[run.at[cycle] + word]
                step = now - _2 - before
                bumps[columns.AT, count] = at
                bumps[columns.TIME, count] = before
                bumps[columns.LOW, count] = value & _LIMB
                bumps[columns.HIGH, count] = value >> _32
                bumps[columns.STEP_LOW, count] = step & _HALF
                bumps[columns.STEP_HIGH, count] = step >> _16
            count += 1
    return count


def fill_bumps(device: Device, accessed: Accessed, sought: np.ndarray, bumps: np.ndarray) -> None:
    """See ``graphprover.vm.kernels.fill_bumps``."""
    cycles = accessed.cycles
    run = _Accessed(*(getattr(accessed if hasattr(accessed, name) else cycles, name) for name in _Accessed._fields))
    found = _fill_bumps(run, np.uint64(accessed.first_clock), sought, bumps)
    assert found == bumps.shape[1]
