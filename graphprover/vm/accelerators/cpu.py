"""The traces of host calls on a CPU: the shared part of all accelerators, compiled."""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import numpy as np

from graphprover.device import Device
from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.host_call import MOST_FURTHER, Accelerator
from graphprover.vm.accelerators.kernels import CallArrays
from graphprover.vm.kernels import tape
from graphprover.vm.tables import clock

_U = np.uint64
_FAR, _SLOTS, _1, _32 = map(np.uint64, (clock.FAR, clock.SLOTS, 1, 32))
LIMB_MASK = np.uint64(2**32 - 1)
# The slots at which calls access words and registers.
SLOT_A, SLOT_B, SLOT_MEMORY, SLOT_D = map(np.uint64, (clock.SLOT_A, clock.SLOT_B, clock.SLOT_MEMORY, clock.SLOT_D))
_A, _B, _T_A, _T_B = (tape.WIDE.index(name) for name in ("a", "b", "t_a", "t_b"))
_LAST = tape.ROW_WORDS - 1


class CompiledCalls(NamedTuple):
    """The arrays of `CallArrays`, for Numba."""

    order: np.ndarray
    rows: np.ndarray
    old: np.ndarray
    time: np.ndarray
    new: np.ndarray
    pc: np.ndarray
    first_clock: np.uint64


class CallCycle(NamedTuple):
    """The cycle of a call, numbers of 64 bits: the twin of ``Cycle`` in calls.cuh. Times are recent ones before."""

    clk: np.uint64
    now: np.uint64  # the time of its first slot
    number: np.uint64  # in a7
    a0: np.uint64
    t_a7: np.uint64
    t_a0: np.uint64
    pc: np.uint64
    at: np.uint64  # its first access


def fill_calls(device: Device, accelerator: Accelerator, calls: CallArrays, main: np.ndarray) -> None:
    """Write the rows of calls; see ``kernels.fill_calls``."""
    import_module(f"{__package__}.{accelerator.module}").fill(device, accelerator.table(lanes=1), calls, main)


def arrays_of(calls: CallArrays) -> CompiledCalls:
    """Return the arrays of calls."""
    arrays = calls.order, calls.rows, calls.old, calls.time, calls.new, calls.pc
    return CompiledCalls(*arrays, np.uint64(calls.first_clock))


def by_call(device: Device, calls: CallArrays, function: Callable[[int, int], None]) -> None:
    """Call ``function(first, last)`` over all calls, in parallel."""
    device.split_rows(function, len(calls.order))


@njit(nogil=True, cache=True)
def recent(before, now):
    """Return the time of the access before, or if it is too long ago, of a bump right before ``now``."""
    return now - _1 if now - before > _FAR else before


@njit(nogil=True, cache=True)
def cycle_of(calls, i):
    """Return the cycle of the i-th call."""
    cycle = calls.order[i]
    row, clk = calls.rows[cycle], _U(cycle) + calls.first_clock
    now, last = _SLOTS * clk, row[_LAST]
    t_a7, t_a0 = recent(row[_T_A], now + SLOT_A), recent(row[_T_B], now + SLOT_B)
    return CallCycle(clk, now, row[_A], row[_B], t_a7, t_a0, calls.pc[last & LIMB_MASK], last >> _32)


@njit(nogil=True, cache=True)
def further(calls, cycle, register):
    """Return the value of a further register, and the time before."""
    time = calls.new[cycle.at + _U(MOST_FURTHER + register)]
    return calls.new[cycle.at + _U(register)], recent(time, cycle.now + SLOT_A)


@njit(nogil=True, cache=True)
def time_before(calls, cycle, access, slot):
    """Return the time before an access of a word, at ``slot``."""
    return recent(calls.time[cycle.at + _U(access)], cycle.now + slot)


@njit(nogil=True, cache=True)
def write_rows(cells, i, main):
    """Write the rows of the i-th call, (rows, columns), to a trace."""
    rows, columns = cells.shape
    for column in range(columns):
        for r in range(rows):
            main[column, rows * i + r] = cells[r, column]
