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
_FAR, _1 = map(np.uint64, (clock.FAR, 1))
LIMB_MASK = np.uint64(2**32 - 1)
A, T_A, T_B = (tape.WIDE.index(name) for name in ("a", "t_a", "t_b"))
B = tape.WIDE.index("b")
LAST = tape.ROW_WORDS - 1


class CompiledCalls(NamedTuple):
    """The arrays of `CallArrays`, for Numba."""

    order: np.ndarray
    rows: np.ndarray
    old: np.ndarray
    time: np.ndarray
    new: np.ndarray
    pc: np.ndarray


def fill_calls(device: Device, accelerator: Accelerator, calls: CallArrays, main: np.ndarray) -> None:
    """Write the rows of calls; see ``kernels.fill_calls``."""
    import_module(f"{__package__}.{accelerator.module}").fill(device, accelerator.table(lanes=1), calls, main)


def arrays_of(calls: CallArrays) -> CompiledCalls:
    """Return the arrays of calls."""
    return CompiledCalls(calls.order, calls.rows, calls.old, calls.time, calls.new, calls.pc)


def by_call(device: Device, calls: CallArrays, function: Callable[[int, int], None]) -> None:
    """Call ``function(first, last)`` over all calls, in parallel."""
    device.split_rows(function, len(calls.order))


@njit(nogil=True, cache=True)
def recent(before, now):
    """Return the time of the access before, or if it is too long ago, of a bump right before ``now``."""
    return now - _1 if now - before > _FAR else before


@njit(nogil=True, cache=True)
def further(calls, at, register):
    """Return the value of a further register of the call with the first access ``at``, and the time before."""
    return calls.new[at + _U(register)], calls.new[at + _U(MOST_FURTHER + register)]


@njit(nogil=True, cache=True)
def write_rows(cells, i, main):
    """Write the rows of the i-th call, (rows, columns), to a trace."""
    rows, columns = cells.shape
    for column in range(columns):
        for r in range(rows):
            main[column, rows * i + r] = cells[r, column]
