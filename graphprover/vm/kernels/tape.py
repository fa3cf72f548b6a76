"""A cycle range of a run as recorded, and the results of its replay: formats of cpu/tape.py and cuda/tape.cu.

Each interval is replayed independently, from its snapshot on. A loaded value is a part of the words before the access,
so that no memory is needed.

A *step* of an instruction that goes some way is the entry that it looks up, in the low 32 bits, and its group above; or
NO_STEP, if no table proves it. The array of all steps is laid out by ``traces.ways.laid_out``. A group is the cycles of
one kind of instruction, one outcome and one chip; groups are numbered in the order of the partition.

The steps belong to the program. A run that drops chips has *redirects*: uint64 (groups,), added to the steps of each
group mod 2^64. The sum is the step with the group and the entry that take the cycle over.
"""

from dataclasses import dataclass

from graphprover.device import Array, Device
from graphprover.vm.accelerators.host_call import MOST_FURTHER
from graphprover.vm.accelerators.registry import MOST_WORDS
from graphprover.vm.executor.record import INTERVAL

NO_STEP = 2**64 - 1

# The columns of late accesses: rs1, rs1 if it is rd and accessed as such, rs2, rd, the word and the second word of a
# load or store, from FURTHER on the further registers of a host call, and from WORD on the words of one.
A, A_IN_PLACE, B, D, M, M2, FURTHER = range(7)
WORD = FURTHER + MOST_FURTHER
ACCESSES = WORD + MOST_WORDS

# The columns of a cycle's row. Words: values of rs1 (of a7 for ecall) and rs2 (of a0), the value written to rd or SINK,
# and the value before, each 0 for none; times of the accesses before: for rs1 = rs2 of the one at SLOT_A, for rd equal
# to rs1 or rs2 of the one at SLOT_A or SLOT_B. Halves of the last word: the row of the program table that the cycle
# looks up, and its first access in `Tape.old`, 0 for none.
WIDE = ("a", "b", "c", "d", "t_a", "t_b", "t_d")
NARROW = ("entry", "at")
ROW_WORDS = 8
FIRST_NARROW = 2 * len(WIDE)

UNPROVED, UNREACHED = range(2)  # indices of the smallest refused cycles: without a chip, without a bump that reaches


@dataclass(frozen=True, eq=False)
class Tape:
    """A cycle range of a run on a device: the intervals from its first cycle's to its last."""

    code: Array  # uint64 (instructions + 1,), `predecode.predecode`'s
    code_base: int
    old: Array  # uint64 (accesses,), words before each access of memory, from the first snapshot on
    time: Array  # uint64 (accesses,), of the access before; 0 for none
    index: Array  # uint32 (n,), the instruction about to run
    at: Array  # uint32 (n,), the accesses before
    values: Array  # uint64 (n, REGISTERS), of the registers
    times: Array  # uint64 (n, REGISTERS), of their last accesses
    start: int  # the cycle of the first snapshot, a multiple of INTERVAL
    first: int  # the cycle range's first cycle, before start + INTERVAL
    last: int  # behind its last one

    def require(self) -> None:
        """Raise ValueError unless there is a snapshot for each interval."""
        starts = range(self.start, self.last, INTERVAL)
        if self.start % INTERVAL or not self.start <= self.first < self.start + INTERVAL or not self.first < self.last:
            raise ValueError(f"no cycle range: cycles {self.first} to {self.last} from {self.start} on")
        if any(len(column) != len(starts) for column in (self.index, self.at, self.values, self.times)):
            raise ValueError(f"{len(self.index)} snapshots for {len(starts)} intervals")


@dataclass(frozen=True, eq=False)
class Cycles:
    """The cycles of a cycle range: arrays of one device, by cycle, counted from the cycle range's first.

    Times are of the previous access, and 0 for none.
    """

    order: Array  # uint32 (cycles,), the cycles in the order of the partition
    rows: Array  # uint64 (cycles, ROW_WORDS), contiguous: a cycle's columns side by side, by WIDE and NARROW
    # uint64 (accesses,), words after the accesses of stores. At the first accesses of a host call: the values of its
    # further registers, and from MOST_FURTHER on the times of their accesses before. Undefined for others.
    new: Array

    @property
    def halves(self) -> Array:
        """Return the rows as uint32 (cycles, 2 ROW_WORDS)."""
        return self.rows.view("uint32")

    def __getattr__(self, name: str) -> Array:
        """Return a column of the rows: uint64 (cycles,) or uint32."""
        if name in WIDE:
            return self.rows[:, WIDE.index(name)]
        if name in NARROW:
            return self.halves[:, FIRST_NARROW + NARROW.index(name)]
        raise AttributeError(name)


def empty_cycles(device: Device, cycles: int, accesses: int) -> Cycles:
    """Return room for these numbers of cycles and accesses; other words after accesses stay 0."""
    arrays = device.arrays
    order, rows = arrays.empty(cycles, dtype="uint32"), arrays.empty((cycles, ROW_WORDS), dtype="uint64")
    return Cycles(order, rows, arrays.zeros(accesses, dtype="uint64"))
