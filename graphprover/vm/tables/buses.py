"""The one bus of the machine, and the messages on it.

All messages share a bus so that any two of a row can share a fraction column. The first element that is not 0 is the
tag, which tells the kind of message. Messages are padded in front to one width.

A value of 64 bits is two elements (lo, hi) of 32 bits. The table that writes a value proves this range, and tables that
read it rely on it. Registers and memory are one address space: a word of memory is at its address, a multiple of 8
below 2^32, and register i at REGISTER_BASE + i, an address that no program can compute.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from graphprover.air import Bus

VM = Bus("rv64im")
WIDTH = 9  # elements of a message: the tag and up to eight more

REGISTER_BASE = 1 << 40


class Tag(IntEnum):
    """The kinds of messages; each comment lists the elements after the tag."""

    STATE = 1  # clock, pc: the cycle to execute next
    ACCESS = 2  # address, time, lo, hi: a value and the time of its last access
    PROGRAM = 3  # chip, pc, next pc, address of rd, of rs1, of rs2, two immediates
    HALT = 4  # clock, lo, hi: the last cycle and the exit code
    HALF = 5  # x: 16 bits
    SIGN = 6  # x, bit: 16 bits and the highest of them
    BYTES = 7  # a, b: 8 bits each
    AND = 8  # a, b, a & b: 8 bits each
    LEFT = 9  # s, 2^s for s = 0..15
    RIGHT = 10  # s, 2^(16 - s) for s = 0..15


LOOKUPS = (Tag.HALF, Tag.SIGN, Tag.BYTES, Tag.AND, Tag.LEFT, Tag.RIGHT)


def message(tag: Tag, *fields: Any) -> list[Any]:
    """Return the elements of a message."""
    return [*[0] * (WIDTH - 1 - len(fields)), int(tag), *fields]


def tag_of(fields: Iterable[int | None]) -> Tag:
    """Return the tag among a message's elements, given as their constant values or None."""
    return Tag(next(value for value in fields if value))
