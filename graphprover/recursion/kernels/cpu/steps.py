"""The rows of steps in a trace, and the memory cells that they look up."""

from functools import partial

import numpy as np

from graphprover.device import Device
from graphprover.field import P
from graphprover.kernels.cpu.parallel import counted_apart
from graphprover.recursion.kernels.steps import FROM_MEMORY, GATE, USES_B, USES_D, RunSteps
from graphprover.recursion.tables.steps import COLUMNS, FLAGS
from graphprover.runtime.numba_cache import njit

_U = np.uint64
_P, _SIGN = _U(P), _U(63)
_FLAGS = len(FLAGS)
_ON, _PC, _FRAME, _FIRST_FLAG = COLUMNS.on, COLUMNS.pc, COLUMNS.frame, getattr(COLUMNS, FLAGS[0])
_K, _L, _OFFSET_B, _OFFSET_D, _AT, _A, _ASKED = (
    COLUMNS.k, COLUMNS.l, COLUMNS.offset_b, COLUMNS.offset_d, COLUMNS.at[0], COLUMNS.a[0], COLUMNS.asked,
)  # fmt: skip


@njit(nogil=True)
def _moved(base, offset):
    """Return an address plus an offset mod p, which can be negative."""
    return base + offset - (_P if offset >> _SIGN else _U(0))


@njit(nogil=True)
def _addresses(fields, pc, frame, cells, found):
    """Write the addresses of the four operands; return the flags."""
    flags, base = fields[0, pc], _U(frame)
    for i in range(4):
        found[i] = _moved(base, fields[3 + i, pc])
    if flags & _U(GATE):
        found[1] = _moved(cells[1, found[0]], fields[4, pc])
    if flags & _U(FROM_MEMORY):
        found[3] = _moved(cells[0, found[0]], fields[6, pc])
    return flags


@njit(nogil=True)
def _uses(flags, operand):
    """Return whether a step looks up an operand."""
    return operand % 2 == 0 or flags & _U(USES_B if operand == 1 else USES_D) != 0


@njit(nogil=True, cache=True)
def _fill(fields, pcs, frames, asked, cells, main, first, last):
    """Write the rows first..last."""
    found = np.empty(4, dtype=np.uint64)
    for row in range(first, last):
        pc = pcs[row]
        flags = _addresses(fields, pc, frames[row], cells, found)
        main[_ON, row], main[_PC, row], main[_FRAME, row], main[_ASKED, row] = _U(1), pc, frames[row], asked[row]
        for i in range(_FLAGS):
            main[_FIRST_FLAG + i, row] = flags >> _U(i) & _U(1)
        main[_K, row], main[_L, row] = fields[1, pc], fields[2, pc]
        main[_OFFSET_B, row], main[_OFFSET_D, row] = fields[4, pc], fields[6, pc]
        for operand in range(4):
            main[_AT + operand, row] = found[operand]
            for k in range(3):
                main[_A + 3 * operand + k, row] = cells[k, found[operand]] if _uses(flags, operand) else _U(0)


@njit(nogil=True, cache=True)
def _count(fields, pcs, frames, cells, counts, first, last):
    found = np.empty(4, dtype=np.uint64)
    for step in range(first, last):
        flags = _addresses(fields, pcs[step], frames[step], cells, found)
        for operand in range(4):
            if _uses(flags, operand):
                counts[found[operand]] += _U(1)


def fill_steps(device: Device, steps: RunSteps, main: np.ndarray) -> None:
    """Write the rows of steps; see ``graphprover.recursion.kernels.fill_steps``."""
    of = steps
    device.split_rows(partial(_fill, of.fields, of.pcs, of.frames, of.asked, of.cells, main), len(of.pcs))


def count_operands(device: Device, steps: RunSteps, counts: np.ndarray) -> None:
    """Count lookups in memory; see ``graphprover.recursion.kernels.count_operands``."""
    of = steps
    counted_apart(device.split_rows, len(of.pcs), counts, partial(_count, of.fields, of.pcs, of.frames, of.cells))
