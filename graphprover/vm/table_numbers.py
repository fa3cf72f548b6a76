"""The numbers by which a statement names its tables."""

from enum import IntEnum


class TableNumber(IntEnum):
    """The tables beside the boundary and those of families."""

    PROGRAM = 1
    REGISTERS = 2
    IMAGE = 3
    ZERO = 4  # from the end of the program to the input
    INPUT = 5
    OUTPUT = 6
    ZERO_ABOVE = 7  # from the end of the output on
    BUMP = 8
    HALVES = 9
    BYTE_PAIRS = 10
    POWERS = 11
    KECCAK_F = 12
    EVEN = 13
    STATED_INPUT = 14  # in place of INPUT
    ZERO_BETWEEN = 15  # from the end of a stated input to the output
