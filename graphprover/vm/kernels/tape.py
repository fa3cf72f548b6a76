"""A cycle range of a run as it is recorded, and what replaying it gives: formats of cpu/tape.py and cuda/tape.cu.

Each interval is replayed by itself, from its snapshot on. A loaded value is a part of the words before the access, so
that no memory is needed.

A *step* of an instruction that goes some way (``ways``) is the entry that it meets, in the low 32 bits, and its group
above; or NO_STEP, where no table proves it. A group are the cycles of one kind of instruction, one outcome and one
chip; groups are numbered in the order of the partition.
"""

from dataclasses import dataclass

from graphprover.device import Array, Device
from graphprover.vm.executor.record import INTERVAL

NO_STEP = 2**64 - 1

# The columns of what comes late: rs1, rs1 where that is rd and accessed as such, rs2, rd, the word and the second word
# of a load or store, and from WORD on the words of a host call.
A, A_IN_PLACE, B, D, M, M2, WORD = range(7)
ACCESSES = WORD + 25

# The columns of a cycle's row. Words: values of rs1 (of a7 for ecall) and rs2 (of a0), what is written to rd or SINK,
# and what was there before, each 0 where there is none; times of the accesses before, where rs1 = rs2 that at SLOT_A,
# where rd is rs1 or rs2 that at SLOT_A or SLOT_B. Halves of the last word: the row of the program table that the cycle
# meets, and its first access in `Tape.old`, 0 where it has none.
WIDE = ("a", "b", "c", "d", "t_a", "t_b", "t_d")
NARROW = ("entry", "at")
ROW_WORDS = 8
FIRST_NARROW = 2 * len(WIDE)

UNPROVED, UNREACHED = range(2)  # the smallest cycles that are refused: nothing proves it, no bump reaches so far


@dataclass(frozen=True, eq=False)
class Tape:
    """A cycle range of a run on a device: the intervals that it begins, lies and ends in."""

    code: Array  # uint64 (instructions + 1,), `interpreter.predecode`'s
    code_base: int
    old: Array  # uint64 (accesses,), words before each access of memory, from the first snapshot on
    clock: Array  # uint32 (accesses,), of the access before; 0 where there was none
    index: Array  # uint32 (n,), the instruction about to run
    at: Array  # uint32 (n,), how many of these accesses came before
    values: Array  # uint64 (n, REGISTERS), of the registers
    times: Array  # uint64 (n, REGISTERS), of their last accesses
    start: int  # the cycle of the first snapshot, a multiple of INTERVAL
    first: int  # the cycle range's first cycle, before start + INTERVAL
    last: int  # behind its last one

    def require(self) -> None:
        """Raises ValueError for another number of snapshots than there are intervals."""
        starts = range(self.start, self.last, INTERVAL)
        if self.start % INTERVAL or not self.start <= self.first < self.start + INTERVAL or not self.first < self.last:
            raise ValueError(f"no cycle range: cycles {self.first} to {self.last} from {self.start} on")
        if any(len(column) != len(starts) for column in (self.index, self.at, self.values, self.times)):
            raise ValueError(f"{len(self.index)} snapshots for {len(starts)} intervals")


@dataclass(frozen=True, eq=False)
class Cycles:
    """What the cycles of a cycle range were: arrays of one device, by cycle, counted from the cycle range's first.

    Times are of the previous access, and 0 where there is none.
    """

    order: Array  # uint32 (cycles,), the cycles in the order of the partition
    rows: Array  # uint64 (cycles, ROW_WORDS), contiguous: side by side what a cycle's reader wants, by WIDE and NARROW
    new: Array  # uint64 (accesses,), words after the accesses of stores; others are not written

    @property
    def halves(self) -> Array:
        """The rows as uint32 (cycles, 2 ROW_WORDS)."""
        return self.rows.view("uint32")

    def __getattr__(self, name: str) -> Array:
        """A column of the rows: uint64 (cycles,) or uint32."""
        if name in WIDE:
            return self.rows[:, WIDE.index(name)]
        if name in NARROW:
            return self.halves[:, FIRST_NARROW + NARROW.index(name)]
        raise AttributeError(name)


def empty_cycles(device: Device, cycles: int, accesses: int) -> Cycles:
    """Room for so many cycles with so many accesses; words after accesses that are no stores' stay 0."""
    arrays = device.arrays
    order, rows = arrays.empty(cycles, dtype="uint32"), arrays.empty((cycles, ROW_WORDS), dtype="uint64")
    return Cycles(order, rows, arrays.zeros(accesses, dtype="uint64"))
