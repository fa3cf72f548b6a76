"""Late accesses of a cycle range and their bumps: formats of cpu/bumps.py and cuda/bumps.cu.

Sought accesses are rows of words (FIRST, LAST, ACCESS, SLOT, POINTER, OFFSET): cycles first..last of the cycle range's
order, an access of each by its column in ``tape.py``, and its slot in the cycle. A host call's word has the register
with its operand's address, 0 for a0, and its offset there in words; for others both are 0.

A bump is a column of words (AT, TIME, LOW, HIGH, STEP_LOW, STEP_HIGH): the access's address, the time of the access
before, the limbs of its value, and the halves of the step to right before the access, less 1. Bumps are in the order of
the sought accesses, and then of the cycle range.
"""

from dataclasses import dataclass

import numpy as np

from graphprover.device import Array
from graphprover.vm.accelerators.host_call import MOST_FURTHER
from graphprover.vm.kernels.tape import ACCESSES, Cycles

FIRST, LAST, ACCESS, SLOT, POINTER, OFFSET = range(6)
SOUGHT_WORDS = 6
AT, TIME, LOW, HIGH, STEP_LOW, STEP_HIGH = range(6)
BUMP_WORDS = 6


@dataclass(frozen=True, eq=False)
class Accessed:
    """The accesses of a cycle range: arrays of one device."""

    cycles: Cycles
    old: Array  # uint64, see ``Tape``
    time: Array  # uint64, see ``Tape``
    a_at: Array  # uint64, columns of the program table, by entry
    b_at: Array
    d_at: Array
    offset: Array
    first_clock: int  # of the cycle range's first cycle

    def require(self, sought: np.ndarray) -> None:
        """Raise ValueError for cycles out of range, and for unknown accesses."""
        first, last, access, slot, pointer, _ = sought.T.astype(object)
        cycles = len(self.cycles.order)
        if (first < 0).any() or (first > last).any() or (last > cycles).any():
            raise ValueError(f"sought accesses exceed the {cycles} cycles")
        if (access >= ACCESSES).any() or (slot > 3).any() or (pointer > MOST_FURTHER).any():
            raise ValueError("a sought access does not exist in a cycle")
