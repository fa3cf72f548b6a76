"""Hints: the values of cells that instructions leave to the prover, as data that Python and compiled code evaluate."""

from enum import IntEnum, auto

HINT_NUMBERS = 5  # of a linked hint: offset of its cell, kind, offsets a and b, number


class HintKind(IntEnum):
    """The value of a cell; a and b are other cells, and each hint has a number."""

    ALLOCATE = auto()  # the address of a new region of memory
    BACK = auto()  # the number as an instruction to return to, and the frame pointer
    BIT = auto()  # the bit with this number of the base element a
    DIGEST = auto()  # the word with this number of the digest at the place a
    QUOTIENT = auto()  # the base element a over the base element b, rounded down
