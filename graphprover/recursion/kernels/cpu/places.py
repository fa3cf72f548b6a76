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
    """Write the number of each place to its slot.

    Args:
        places: uint64 (n, 3). Of equal places, the last one counts.
        slots: int64, a power of two above n, all of them -1.
    """
    for i in range(len(places)):
        slots[slot_of(slots, places, places[i, 0], places[i, 1], places[i, 2])] = i


@njit(nogil=True, cache=True)
def find_places(slots, places, wanted, found):
    """Write the number of each wanted place, uint64 (m, 3), among the places of a table, or -1: int64 (m,)."""
    for i in range(len(wanted)):
        found[i] = slots[slot_of(slots, places, wanted[i, 0], wanted[i, 1], wanted[i, 2])]
