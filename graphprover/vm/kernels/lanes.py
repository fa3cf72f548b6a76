"""Code that computes the cells of lanes, as cpu/lanes.py and cuda/lanes.cu run it.

Every lane of a table runs the same instructions, without jumps, on registers of its own, words of 64 bits. Arithmetic
is mod 2^64; shifts are by less than 64.

An instruction is two words: op, d, a, b, eight bits each from the lowest on, and the immediate. x is register a; y is
register b, or if b is IMMEDIATE the immediate; the result goes to register d.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

IMMEDIATE = 255
MOST_SOURCES = 64
LOG_SOURCES = 8  # bits of an immediate with the number of a source


class Op(IntEnum):
    """The operations of instructions."""

    # Writes the cell (x >> d) & (2^64 - 1 >> b): the immediate's lower half is its column in the first lane of a row,
    # the upper half the columns to each next lane's. An idle lane writes 0.
    STORE = 0

    CONSTANT = 1  # the immediate
    LANE = 2  # the lane's word of the source that is the immediate
    LANE_NARROW = 3  # the same of a source of uint32
    CLOCK = 4  # that, plus the first clock
    AT = 5  # of the source that is the immediate's lowest byte, the word x + (immediate >> LOG_SOURCES)
    AT_NARROW = 6

    ADD = 7  # x + y
    SUB = 8
    MUL = 9
    DIV = 10
    AND = 11
    OR = 12
    XOR = 13
    LEFT = 14  # x << y
    RIGHT = 15
    EQUAL = 16  # 1 if x = y, else 0
    LESS = 17
    FIELD_SUB = 18  # x - y mod p, for canonical words
    RECENT = 19  # the time x, or y - 1 if x is more than FAR before y
    INVERSE = 20  # 1 / x mod p; 0 for 0
    SELECT = 21  # y if x is not 0, else the register that is the immediate; b is unused


NARROW = (Op.LANE_NARROW, Op.CLOCK, Op.AT_NARROW)
BY_LANE = (Op.LANE, Op.LANE_NARROW, Op.CLOCK)
LOADS = (*BY_LANE, Op.AT, Op.AT_NARROW)


@dataclass(frozen=True, eq=False)
class Code:
    """The code of a table's lanes."""

    words: np.ndarray  # uint64 (instructions, 2)
    registers: int
    lanes: int  # of a row

    @cached_property
    def loads(self) -> Mapping[int, set[Op]]:
        """Return how each source is read."""
        found: dict[int, set[Op]] = {}
        for word, immediate in self.words.tolist():
            if word & 255 in LOADS:
                found.setdefault(immediate & (1 << LOG_SOURCES) - 1, set()).add(Op(word & 255))
        return found

    @cached_property
    def kinds(self) -> Mapping[int, tuple[frozenset[np.dtype], bool]]:
        """Return the kind of each source's array, by how it is read, and whether each lane has a word of it."""
        narrow, wide = np.dtype(np.uint32), np.dtype(np.uint64)
        return {
            number: (frozenset(narrow if op in NARROW else wide for op in ops), not ops.isdisjoint(BY_LANE))
            for number, ops in self.loads.items()
        }

    @cached_property
    def width(self) -> int:
        """Return how many columns of a trace the cells reach over."""
        stores = [immediate for word, immediate in self.words.tolist() if word & 255 == Op.STORE]
        return max((1 + store % 2**32 + (self.lanes - 1) * (store >> 32) for store in stores), default=0)


@dataclass(frozen=True, eq=False)
class Sources:
    """The arrays that lanes read, which many tables may share.

    Raises ValueError for a number out of range, and for an array that is no contiguous vector.
    """

    arrays: Mapping[int, Any]  # by number: uint64, or uint32 if they are read as that

    def __post_init__(self) -> None:
        """Check the arrays."""
        for number, array in self.arrays.items():
            if not 0 <= number < MOST_SOURCES or array.ndim != 1 or not array.flags.c_contiguous:
                raise ValueError(f"source {number} is {array.dtype} {array.shape}")

    @cached_property
    def kinds(self) -> Mapping[int, frozenset[np.dtype]]:
        """Return the kind of each array, as `Code.kinds` has it."""
        return {number: frozenset([array.dtype]) for number, array in self.arrays.items()}

    def addresses(self, of: Callable[[Any], int]) -> np.ndarray:
        """Return the arrays' addresses by number: uint64 (MOST_SOURCES,); ``of`` gives the address of an array."""
        found = np.zeros(MOST_SOURCES, dtype=np.uint64)
        for number, array in self.arrays.items():
            found[number] = of(array)
        return found


@dataclass(frozen=True, eq=False)
class Lanes:
    """The executing lanes of a table, which are its first; the others are idle."""

    first: int  # the word of the first lane in sources that have a word for each lane
    count: int  # of the executing lanes
    first_clock: int  # of cycle 0
    sources: Sources

    def require(self, code: Code, main: Any) -> None:
        """Raise ValueError for a trace too small for the lanes, and for other sources than the code reads."""
        width, height = main.shape
        if width < code.width or not 0 <= self.count <= code.lanes * height:
            raise ValueError(f"{self.count} lanes do not fit a trace of {width} columns and {height} rows")
        if main.dtype != "uint64" or main.strides[1] != main.itemsize:
            raise ValueError(f"a trace of {main.dtype} whose columns are not contiguous words")
        arrays, kinds = self.sources.arrays, self.sources.kinds
        for number, (kind, by_lane) in code.kinds.items():
            if kinds.get(number) != kind:
                found = arrays.get(number)
                raise ValueError(f"source {number} is {None if found is None else found.dtype}")
            if by_lane and not 0 <= self.first <= self.first + self.count <= len(arrays[number]):
                raise ValueError(
                    f"source {number} has {len(arrays[number])} words for {self.count} lanes from {self.first} on"
                )


def encode(instructions: Iterable[tuple[Op, int, int, int, int]], registers: int, lanes: int) -> Code:
    """Return code of instructions (op, d, a, b, immediate). Raises ValueError for too many registers."""
    if registers >= IMMEDIATE:
        raise ValueError(f"{registers} registers")
    words = [(op | d << 8 | a << 16 | b << 24, immediate) for op, d, a, b, immediate in instructions]
    return Code(np.array(words, dtype=np.uint64).reshape(-1, 2), registers, lanes)
