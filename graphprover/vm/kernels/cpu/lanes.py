"""Fills the cells of lanes that are copies, each source gathered once and written where it belongs."""

from collections.abc import Sequence

import numpy as np

from graphprover.compiled import njit
from graphprover.device import Device
from graphprover.kernels.cpu import simd
from graphprover.vm import clock, limbs
from graphprover.vm.kernels.lanes import Cell, Kind, Lanes

_BLOCK = 2048  # lanes whose cycles and entries stay in the innermost cache
# Kernels compute in uint64, which Numba keeps only among numbers of that type.
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_LIMB_BITS, _LIMB_MASK = np.uint64(limbs.LIMB_BITS), np.uint64(limbs.LIMB_MASK)
_FAR, _LOG_SLOTS, _SLOT_MASK = np.uint64(clock.FAR), np.uint64(clock.LOG_SLOTS), np.uint64(clock.SLOTS - 1)
_SLOT_B, _SLOT_D = np.uint64(clock.SLOT_B), np.uint64(clock.SLOT_D)
_KIND_ONE, _KIND_CLOCK, _KIND_ENTRY = int(Kind.ONE), int(Kind.CLOCK), int(Kind.ENTRY)
_KIND_LOW, _KIND_HIGH, _KIND_RECENT, _KIND_OLD_LOW = map(int, (Kind.LOW, Kind.HIGH, Kind.RECENT, Kind.OLD_LOW))


@njit(nogil=True, cache=True)
def _clock(cycle, first_clock):
    return np.uint64(cycle) + first_clock


@njit(nogil=True, cache=True)
def _old(t, values, first_clock, held, count):
    """What the access at the time t left in a register."""
    if (t >> _LOG_SLOTS) < first_clock:
        times, left = held
        for i in range(count):
            if simd.load_word(times, i) == t:
                return simd.load_word(left, i)
        return _ZERO
    a, b, d = values  # addresses: to pass arrays on would count references
    cycle, slot = np.int64((t >> _LOG_SLOTS) - first_clock), t & _SLOT_MASK
    return simd.load_word(d if slot == _SLOT_D else b if slot == _SLOT_B else a, cycle)


@njit(nogil=True, cache=True)
def _fill(kinds, slots, sources, targets, cycles, entries, values, first_clock, held, count, first, last):
    for start in range(first, last, _BLOCK):
        stop = min(start + _BLOCK, last)
        for k in range(len(kinds)):
            kind, source, target = kinds[k], sources[k], targets[k]
            if kind == _KIND_ONE:
                for i in range(start, stop):
                    simd.store_word(target, i, _ONE)
            elif kind == _KIND_CLOCK:
                for i in range(start, stop):
                    simd.store_word(target, i, _clock(cycles[i], first_clock))
            elif kind == _KIND_ENTRY:
                for i in range(start, stop):
                    simd.store_word(target, i, simd.load_word(source, np.int64(entries[i])))
            elif kind == _KIND_LOW:
                for i in range(start, stop):
                    simd.store_word(target, i, simd.load_word(source, np.int64(cycles[i])) & _LIMB_MASK)
            elif kind == _KIND_HIGH:
                for i in range(start, stop):
                    simd.store_word(target, i, simd.load_word(source, np.int64(cycles[i])) >> _LIMB_BITS)
            elif kind == _KIND_RECENT:
                for i in range(start, stop):
                    t = simd.load_word(source, np.int64(cycles[i]))
                    now = (_clock(cycles[i], first_clock) << _LOG_SLOTS) + slots[k]
                    simd.store_word(target, i, now - _ONE if now - t > _FAR else t)
            else:
                for i in range(start, stop):
                    old = _old(simd.load_word(source, np.int64(cycles[i])), values, first_clock, held, count)
                    simd.store_word(target, i, old & _LIMB_MASK if kind == _KIND_OLD_LOW else old >> _LIMB_BITS)


def fill_lanes(device: Device, cells: Sequence[Cell], lanes: Lanes) -> None:
    """See ``graphprover.vm.kernels.fill_lanes``."""
    for cell in cells:
        cell.require(lanes)
    kinds = np.array([cell.kind for cell in cells], dtype=np.int64)
    slots = np.array([cell.slot for cell in cells], dtype=np.uint64)
    sources = np.array([0 if cell.source is None else cell.source.ctypes.data for cell in cells], dtype=np.int64)
    targets = np.array([cell.target.ctypes.data for cell in cells], dtype=np.int64)
    values, held = (tuple(column.ctypes.data for column in columns) for columns in (lanes.values, lanes.held))
    begun = np.uint64(lanes.first_clock), held, len(lanes.held[0])

    def fill(first: int, last: int) -> None:
        _fill(kinds, slots, sources, targets, lanes.cycles, lanes.entries, values, *begun, first, last)

    device.split_rows(fill, len(lanes.cycles))
