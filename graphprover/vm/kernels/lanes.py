"""The cells of a lane that follow from their names: what a kernel copies to them from the record and the program.

The kernels are cpu/lanes.py and cuda/lanes.cu.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Kind(IntEnum):
    """What a cell of the cycle i is, where entry is its row of the program table."""

    ONE = 0
    CLOCK = 1  # first_clock + i
    ENTRY = 2  # source[entry]
    LOW = 3  # the lower limb of source[i]
    HIGH = 4  # the upper one
    RECENT = 5  # source[i], or now - 1 where that is more than FAR before now, the time of the access at ``slot``
    OLD_LOW = 6  # the lower limb of what the access at the time source[i] left in a register
    OLD_HIGH = 7  # the upper one


@dataclass(frozen=True, eq=False)
class Cell:
    """One cell of all lanes."""

    target: Any  # uint64 (lanes,), a column of a trace or several that lie one behind the other
    kind: Kind
    source: Any = None  # uint64, by cycle or by entry
    slot: int = 0  # of RECENT

    def require(self, lanes: "Lanes") -> None:
        """Raises ValueError for a cell of other lanes, and for arrays that are not contiguous."""
        if self.target.shape != lanes.cycles.shape:
            raise ValueError(f"a cell of {self.target.shape} lanes among {lanes.cycles.shape}")
        if not (self.target.flags.c_contiguous and (self.source is None or self.source.flags.c_contiguous)):
            raise ValueError("a cell or its source is not contiguous")


@dataclass(frozen=True, eq=False)
class Lanes:
    """What the lanes of a table execute, as arrays of one device."""

    cycles: Any  # uint32 (lanes,)
    entries: Any  # uint32 (lanes,)
    values: Sequence[Any]  # uint64, by cycle: rs1, rs2 and rd
    first_clock: int  # of cycle 0
    held: Sequence[Any]  # uint64: times before that clock, and what the accesses at these times left in registers
