"""The numbers by which a statement names its tables: those of one kind each, and those of chips.

They are frozen, as the chips' own are (version.py). The boundary, which is the first table, has the number 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType

from graphprover.vm.statement.version import CHIP_NUMBERS

BOUNDARY = 0


class TableNumber(IntEnum):
    """The tables beside the boundary and those of chips."""

    PROGRAM = 1
    REGISTERS = 2
    IMAGE = 3
    ZERO = 4  # from the end of the program to the input
    INPUT = 5
    OUTPUT = 6
    ZERO_ABOVE = 7  # from the end of the output on
    BUMP = 8
    NUMBERS = 9
    SPARSE_RANGE = 10  # in place of NUMBERS
    POWERS = 11
    KECCAK_F = 12
    EVEN = 13
    STATED_INPUT = 14  # in place of INPUT
    ZERO_BETWEEN = 15  # from the end of a stated input to the output
    COMMON = 1 << 12  # what most programs do now and then
    RARE = COMMON + 1  # what few do


LANES = (1, 2, 4)  # instructions in a row of a chip's table
PER_CHIP = 16  # a chip takes so many numbers, of which it uses those of its lanes; those below are the others'


@dataclass(frozen=True)
class ChipTable:
    """A chip's table in a statement."""

    chip: str
    lanes: int

    @property
    def number(self) -> int:
        """By which the statement names it."""
        return CHIP_NUMBERS[self.chip] * PER_CHIP + self.lanes


EXIT = "halt"  # the chip that proves one cycle, the last
IN_PLACE, NARROW = "_in_place", "_narrow"  # end the names of chips in whose stead others can prove all they do

_COMMON = (
    "goto", "touch", "constant", "move", "jal", "jalr", "return", "addi", "add", "sub", "addiw", "addw", "subw",
    "equal", "unequal", "zero", "nonzero", "negative", "nonnegative", "ltu", "geu", "lt", "ge", "ld", "lw", "lwu",
    "lbu", "sd", "sw", "sb", "halt", "andi_positive", "andi_negative", "ori_positive", "xori_positive",
    "xori_negative", "slli_0", "slli_1", "slli_2", "slli_3", "srli_0", "srli_1", "srli_2", "srli_3", "slliw_0",
    "slliw_1",
)  # fmt: skip
# The chips of tables that several share: they are in these tables where they prove few instructions.
SHARED: Mapping[TableNumber, tuple[str, ...]] = MappingProxyType({
    TableNumber.COMMON: _COMMON,
    TableNumber.RARE: tuple(
        name for name in CHIP_NUMBERS if name not in _COMMON and not name.endswith((IN_PLACE, NARROW, "keccak_call"))
    ),
})  # fmt: skip
SHARED_TABLE = MappingProxyType({chip: number for number, chips in SHARED.items() for chip in chips})

_TABLES = [ChipTable(chip, lanes) for chip in CHIP_NUMBERS for lanes in LANES if chip != EXIT]
CHIP_TABLES = {table.number: table for table in _TABLES}  # all there are, by number


def name_of(number: int) -> str:
    """The name of a table, for people."""
    if number == BOUNDARY:
        return "boundary"
    return CHIP_TABLES[number].chip if number in CHIP_TABLES else TableNumber(number).name.lower()
