"""The numbers by which a statement names its tables: of single tables and of chips.

They are frozen, as the chips' own numbers are (version.py). The boundary, which is the first table, has the number 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType

from graphprover.vm.accelerators.registry import ACCELERATORS
from graphprover.vm.statement.version import CHIP_NUMBERS

BOUNDARY = 0


class TableNumber(IntEnum):
    """The numbers of the tables that are neither the boundary nor a chip's."""

    PROGRAM = 1
    REGISTERS = 2
    IMAGE = 3
    ZERO = 4  # from the end of the program to the input
    INPUT = 5
    OUTPUT = 6
    ZERO_ABOVE = 7  # from the end of the output on
    BUMP = 8
    NUMBERS = 9
    SPARSE_RANGE = 10  # short runs have it in place of NUMBERS
    POWERS = 11
    KECCAK_ROUNDS = 12
    KECCAK_DIGITS = 13
    STATED_INPUT = 14  # in place of INPUT
    ZERO_BETWEEN = 15  # from the end of a stated input to the output
    COMMON = 1 << 12  # shared by chips that most programs use
    RARE = COMMON + 1  # shared by the other chips
    KECCAK_PLANES = RARE + 1
    KECCAK_CLASSES = RARE + 2  # with KECCAK_LIMBS in place of KECCAK_ROUNDS and KECCAK_PLANES
    KECCAK_LIMBS = RARE + 3


LANES = (1, 2, 4)  # instructions in a row of a chip's table
PER_CHIP = 16  # numbers of a chip, of which it uses one for each of LANES; the first PER_CHIP are single tables'


@dataclass(frozen=True)
class ChipTable:
    """A chip's table in a statement."""

    chip: str
    lanes: int

    @property
    def number(self) -> int:
        """The number by which statements name the table."""
        return CHIP_NUMBERS[self.chip] * PER_CHIP + self.lanes


# Rows of a call, of a chip that needs several.
ROWS_OF_CHIP = MappingProxyType({one.chip: one.rows for one in ACCELERATORS if one.rows > 1})
CALL_CHIPS = tuple(one.chip for one in ACCELERATORS)  # chips of host calls but the exit, with tables of their own only
PERMUTING = tuple(one.chip for one in ACCELERATORS if one.permutes)  # chips whose calls need a permutation each
EXIT = "halt"  # the chip that proves one cycle, the last
IN_PLACE, NARROW = "_in_place", "_narrow"  # suffixes of chips whose instructions other chips can prove too

_COMMON = (
    "goto", "touch", "constant", "move", "jal", "jalr", "return", "addi", "add", "sub", "addiw", "addw", "subw",
    "equal", "unequal", "zero", "nonzero", "negative", "nonnegative", "ltu", "geu", "lt", "ge", "ld", "lw", "lwu",
    "lbu", "sd", "sw", "sb", "halt", "andi_positive", "andi_negative", "ori_positive", "xori_positive",
    "xori_negative", "slli_0", "slli_1", "slli_2", "slli_3", "srli_0", "srli_1", "srli_2", "srli_3", "slliw_0",
    "slliw_1",
)  # fmt: skip
# The chips of shared tables, which prove instructions of chips too rare for tables of their own.
SHARED: Mapping[TableNumber, tuple[str, ...]] = MappingProxyType({
    TableNumber.COMMON: _COMMON,
    TableNumber.RARE: tuple(
        name for name in CHIP_NUMBERS if not name.endswith((IN_PLACE, NARROW)) and name not in (*_COMMON, *CALL_CHIPS)
    ),
})  # fmt: skip
SHARED_TABLE = MappingProxyType({chip: number for number, chips in SHARED.items() for chip in chips})


def lanes_of(chip: str) -> tuple[int, ...]:
    """Return the numbers of lanes that tables of a chip can have."""
    return (1,) if chip in ROWS_OF_CHIP else LANES


_TABLES = [ChipTable(chip, lanes) for chip in CHIP_NUMBERS for lanes in lanes_of(chip) if chip != EXIT]
CHIP_TABLES = {table.number: table for table in _TABLES}  # all tables of chips, by number


def name_of(number: int) -> str:
    """Return the name of a table, for people."""
    if number == BOUNDARY:
        return "boundary"
    return CHIP_TABLES[number].chip if number in CHIP_TABLES else TableNumber(number).name.lower()
