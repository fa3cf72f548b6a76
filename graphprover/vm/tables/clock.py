"""Time in a run: the time of each access, and the longest time between two accesses of one address.

The cycle i = 0, 1, ... has the clock i + 1. Its accesses happen at time SLOTS * clock + slot, one slot for each kind.
Initial values of registers and memory have time 0.
"""

from typing import Any

from graphprover.vm.tables.limbs import HALF

MAX_CYCLES = 1 << 32  # of a run: its record counts them in 32 bits

SLOT_A, SLOT_B, SLOT_MEMORY, SLOT_D = range(4)  # slots of a cycle: rs1 is read, rs2 is read, memory, rd is written
SLOTS = 4

# The longest time between two accesses of an address: less 1 it is a half, which one lookup checks. Accesses that are
# further apart have a bump in between.
FAR = HALF


def clock_of(cycle: Any) -> Any:
    """Return the clock of a cycle: of integers, or of arrays of them."""
    return cycle + 1


def time_of(clock: Any, slot: Any = 0) -> Any:
    """Return the time of the access at ``slot`` of a clock: of integers, arrays or expressions."""
    return SLOTS * clock + slot
