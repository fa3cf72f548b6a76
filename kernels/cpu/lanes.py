"""Fills the cells of lanes that are copies, each source gathered once and written where it belongs."""

from collections.abc import Callable, Sequence

import numpy as np

from graphprover.compiled import njit
from graphprover.kernels.cpu import simd
from graphprover.kernels.lanes import FAR, Cell, Kind, Lanes

_BLOCK = 2048  # lanes whose cycles and entries stay in the innermost cache
_ONE, _TWO, _THREE, _HALF = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_FAR, _B, _D = np.uint64(FAR), np.uint64(1), np.uint64(3)  # slots of rs2 and rd, as in graphprover/vm/buses.py
_ONE_CELL, _CLOCK, _ENTRY = int(Kind.ONE), int(Kind.CLOCK), int(Kind.ENTRY)
_LOWER, _UPPER, _RECENT, _OLD_LOW = int(Kind.LOW), int(Kind.HIGH), int(Kind.RECENT), int(Kind.OLD_LOW)


@njit(nogil=True, cache=True)
def _old(t, values):
    """What the access at the time t left in a register; 0 for the time 0."""
    if t == 0:
        return t
    a, b, c = values  # addresses: to pass arrays on would count references
    cycle, slot = np.int64(t >> _TWO) - 1, t & _THREE
    return simd.load_word(c if slot == _D else b if slot == _B else a, cycle)


@njit(nogil=True, cache=True)
def _fill(kinds, slots, sources, targets, cycles, entries, values, first, last):
    for start in range(first, last, _BLOCK):
        stop = min(start + _BLOCK, last)
        for k in range(len(kinds)):
            kind, source, target = kinds[k], sources[k], targets[k]
            if kind == _ONE_CELL:
                for i in range(start, stop):
                    simd.store_word(target, i, _ONE)
            elif kind == _CLOCK:
                for i in range(start, stop):
                    simd.store_word(target, i, np.uint64(cycles[i]) + _ONE)
            elif kind == _ENTRY:
                for i in range(start, stop):
                    simd.store_word(target, i, simd.load_word(source, np.int64(entries[i])))
            elif kind == _LOWER:
                for i in range(start, stop):
                    simd.store_word(target, i, simd.load_word(source, np.int64(cycles[i])) & _LOW)
            elif kind == _UPPER:
                for i in range(start, stop):
                    simd.store_word(target, i, simd.load_word(source, np.int64(cycles[i])) >> _HALF)
            elif kind == _RECENT:
                for i in range(start, stop):
                    t = simd.load_word(source, np.int64(cycles[i]))
                    now = ((np.uint64(cycles[i]) + _ONE) << _TWO) + slots[k]
                    simd.store_word(target, i, now - _ONE if now - t > _FAR else t)
            else:
                for i in range(start, stop):
                    old = _old(simd.load_word(source, np.int64(cycles[i])), values)
                    simd.store_word(target, i, old & _LOW if kind == _OLD_LOW else old >> _HALF)


def fill_lanes(cells: Sequence[Cell], lanes: Lanes) -> Callable[[int, int], None]:
    """What writes the cells of some lanes, called with the first and the one after the last.

    Raises ValueError for a cell of other lanes, and for arrays that are not contiguous.
    """
    for cell in cells:
        if cell.target.shape != lanes.cycles.shape:
            raise ValueError(f"a cell of {cell.target.shape} lanes among {lanes.cycles.shape}")
        if not (cell.target.flags.c_contiguous and (cell.source is None or cell.source.flags.c_contiguous)):
            raise ValueError("a cell or its source is not contiguous")
    kinds = np.array([cell.kind for cell in cells], dtype=np.int64)
    slots = np.array([cell.slot for cell in cells], dtype=np.uint64)
    sources = np.array([0 if cell.source is None else cell.source.ctypes.data for cell in cells], dtype=np.int64)
    targets = np.array([cell.target.ctypes.data for cell in cells], dtype=np.int64)
    values = tuple(each.ctypes.data for each in lanes.values)

    def fill(first: int, last: int) -> None:
        _fill(kinds, slots, sources, targets, lanes.cycles, lanes.entries, values, first, last)

    return fill
