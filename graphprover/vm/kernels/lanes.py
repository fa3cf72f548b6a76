"""The cells of a lane that follow from their names: what a kernel copies to them from the run and the program.

The kernels are cpu/lanes.py and cuda/lanes.cu.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Kind(IntEnum):
    """What the cell of a lane is, where x is what it has of the source."""

    ONE = 0  # no source
    COPY = 1  # x
    LOW = 2  # the lower limb of x
    HIGH = 3  # the upper one
    CLOCK = 4  # x + first_clock, for a cycle x
    RECENT = 5  # the time x, or now - 1 where that is more than FAR before now, the time of the access at ``slot``
    RECENT_CLOCK = 6  # the same of the time of an access of memory at the clock x, which is 0 where x is


@dataclass(frozen=True, eq=False)
class Cell:
    """One cell of all lanes."""

    target: Any  # uint64 (lanes,), a column of a trace or several that lie one behind the other
    kind: Kind
    source: Any = None  # uint64, of CLOCK and RECENT_CLOCK uint32
    at: Any = None  # uint32 (lanes,), where a lane finds its own in the source; in its own place, if there are none
    slot: int = 0  # of RECENT and RECENT_CLOCK

    def require(self, lanes: "Lanes") -> None:
        """Raises ValueError for a cell of other lanes, and for arrays that are not contiguous or of another dtype."""
        if self.target.shape != lanes.cycles.shape:
            raise ValueError(f"a cell of {self.target.shape} lanes among {lanes.cycles.shape}")
        if not all(array is None or array.flags.c_contiguous for array in (self.target, self.source, self.at)):
            raise ValueError("a cell, its source or its places are not contiguous")
        wide = "uint32" if self.kind in (Kind.CLOCK, Kind.RECENT_CLOCK) else "uint64"
        if self.source is not None and self.source.dtype != wide:
            raise ValueError(f"a source of {self.source.dtype}, not {wide}")
        if self.at is not None and (self.at.dtype != "uint32" or self.at.shape != lanes.cycles.shape):
            raise ValueError(f"places {self.at.dtype} {self.at.shape} of {lanes.cycles.shape} lanes")


@dataclass(frozen=True, eq=False)
class Lanes:
    """What the lanes of a table execute."""

    cycles: Any  # uint32 (lanes,), on their device
    first_clock: int  # of cycle 0
