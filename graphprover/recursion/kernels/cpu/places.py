"""Tables that find places (tree, layer, index) by a hash."""

import numpy as np

from graphprover.runtime.numba_cache import njit

_U = np.uint64
HALF_BITS = _U(32)
MIX = _U(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, for hashes


@njit(nogil=True)
def slot_of(slots, places, first, second, third):
    """Return the slot of a place, or the empty one for it."""
    at = np.int64(((first * MIX ^ second) * MIX ^ third) * MIX >> HALF_BITS) & len(slots) - 1
    while slots[at] >= 0:
        entry = slots[at]
        if places[entry, 0] == first and places[entry, 1] == second and places[entry, 2] == third:
            break
        at = at + 1 & len(slots) - 1
    return at


@njit(nogil=True, cache=True)
def table_of(places, slots):
    """Write the number of each place to its slot; return whether all places are different.

    Args:
        places: uint64 (n, 3). Of equal places, the last one counts.
        slots: int64, a power of two above n, all of them -1.
    """
    different = True
    for i in range(len(places)):
        slot = slot_of(slots, places, places[i, 0], places[i, 1], places[i, 2])
        different = different and slots[slot] < 0
        slots[slot] = i
    return different


@njit(nogil=True, cache=True)
def find_places(slots, places, wanted, found):
    """Write the number of each wanted place, uint64 (m, 3), among the places of a table, or -1: int64 (m,)."""
    for i in range(len(wanted)):
        found[i] = slots[slot_of(slots, places, wanted[i, 0], wanted[i, 1], wanted[i, 2])]


@njit(nogil=True, cache=True)
def count_places(slots, places, wanted, counts):
    """Add to the count of each place of a table, uint32 (n,), how often it is wanted: uint64 (m, 3)."""
    for i in range(len(wanted)):
        found = slots[slot_of(slots, places, wanted[i, 0], wanted[i, 1], wanted[i, 2])]
        if found >= 0:
            counts[found] += np.uint32(1)
