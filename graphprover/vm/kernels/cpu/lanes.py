"""Fills the cells of lanes that are copies."""

from collections.abc import Sequence

import numpy as np

from graphprover.compiled import njit
from graphprover.device import Device
from graphprover.kernels.cpu import simd
from graphprover.vm import clock, limbs
from graphprover.vm.kernels.lanes import Cell, Kind, Lanes

_IN_PLACE = np.zeros(0, dtype=np.uint32)  # where a lane's own is in its own place
# Kernels compute in uint64, which Numba keeps only among numbers of that type.
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_LIMB_BITS, _LIMB_MASK = np.uint64(limbs.LIMB_BITS), np.uint64(limbs.LIMB_MASK)
_FAR, _LOG_SLOTS, _SLOT_MEMORY = np.uint64(clock.FAR), np.uint64(clock.LOG_SLOTS), np.uint64(clock.SLOT_MEMORY)
_KIND_ONE, _KIND_COPY, _KIND_LOW, _KIND_HIGH = map(int, (Kind.ONE, Kind.COPY, Kind.LOW, Kind.HIGH))
_KIND_CLOCK, _KIND_RECENT = int(Kind.CLOCK), int(Kind.RECENT)


@njit(nogil=True, cache=True)
def _recent(t, cycle, slot, first_clock):
    now = ((np.uint64(cycle) + first_clock) << _LOG_SLOTS) + slot
    return now - _ONE if now - t > _FAR else t


@njit(nogil=True, cache=True)
def _fill(kind, slot, source, clocks, at, target, cycles, first_clock, first, last):
    """``source`` is an address of words, ``clocks`` the same of half words; ``at`` may be empty."""
    there = len(at) > 0
    if kind == _KIND_ONE:
        for i in range(first, last):
            simd.store_word(target, i, _ONE)
    elif kind == _KIND_CLOCK:
        for i in range(first, last):
            simd.store_word(target, i, np.uint64(clocks[at[i] if there else i]) + first_clock)
    elif kind == _KIND_COPY:
        for i in range(first, last):
            simd.store_word(target, i, simd.load_word(source, np.int64(at[i]) if there else i))
    elif kind == _KIND_LOW:
        for i in range(first, last):
            simd.store_word(target, i, simd.load_word(source, np.int64(at[i]) if there else i) & _LIMB_MASK)
    elif kind == _KIND_HIGH:
        for i in range(first, last):
            simd.store_word(target, i, simd.load_word(source, np.int64(at[i]) if there else i) >> _LIMB_BITS)
    elif kind == _KIND_RECENT:
        for i in range(first, last):
            t = simd.load_word(source, np.int64(at[i]) if there else i)
            simd.store_word(target, i, _recent(t, cycles[i], slot, first_clock))
    else:
        for i in range(first, last):
            x = np.uint64(clocks[at[i] if there else i])
            t = (x << _LOG_SLOTS) + _SLOT_MEMORY if x else _ZERO
            simd.store_word(target, i, _recent(t, cycles[i], slot, first_clock))


def fill_lanes(device: Device, cells: Sequence[Cell], lanes: Lanes) -> None:
    """See ``graphprover.vm.kernels.fill_lanes``."""
    for cell in cells:
        cell.require(lanes)
    first_clock = np.uint64(lanes.first_clock)

    def fill(first: int, last: int) -> None:
        for cell in cells:
            clocks = cell.source if cell.kind in (Kind.CLOCK, Kind.RECENT_CLOCK) else _IN_PLACE
            source = 0 if cell.source is None else cell.source.ctypes.data
            at = _IN_PLACE if cell.at is None else cell.at
            numbers = int(cell.kind), np.uint64(cell.slot)
            _fill(*numbers, source, clocks, at, cell.target.ctypes.data, lanes.cycles, first_clock, first, last)

    device.split_rows(fill, len(lanes.cycles))
