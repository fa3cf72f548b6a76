"""Bits of a state as digits of base 11, and the table of all numbers of four digits.

A *chunk* is the four bits c, c + 16, c + 32 and c + 48 of a word, for a class c = 0..15: the number with these digits,
lowest first. A rotation by r takes class c to class (c + r) mod 16 and turns the four digits, so it splits no chunk.
Sums of chunks with weights that add up to at most 10 have no carries: each digit is the sum of the bits in its place.
One lookup of such a sum gives a function of all four digits.

A row of the table is a number, with bits 0 and 1 of its digits: of sums of bits these are parities and, by the weights
of `keccak_rounds`, chi. Its cells prove its messages, so it has no preprocessed columns, which all proofs of a program
would have to commit to.
"""

from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np

from graphprover.air import Air, Bus, Expr, TableBuilder
from graphprover.air.columns import Columns
from graphprover.air.linear import linear

DIGITS = Bus("keccak-digits")  # a tag, a number, two functions of its digits

BASE = 11
PLACES = 4  # digits of a number
CLASSES = 16  # chunks of a word
NUMBERS = BASE**PLACES
ROWS = 1 << 14  # of the traces made here: all numbers in order, then zeros


class Lookup(IntEnum):
    """The tags of lookups; each comment lists the fields after the number."""

    SECOND = 0  # bits 1 as a chunk, twice
    SECOND_TURNED_1 = 1  # bits 1 as a chunk, and turned by one place
    SECOND_TURNED_2 = 2  # by two
    SECOND_TURNED_3 = 3  # by three
    HALVES = 4  # bits 1: the two low ones 2^16 apart, the two high ones 2^16 apart
    FIRST = 5  # bits 0 as a chunk, twice
    FIRST_TURNED_1 = 6  # bits 0 as a chunk, and turned by one place


_POWERS = np.array([BASE**place for place in range(PLACES)], dtype=np.uint64)


def turned(digits: Sequence[Any], by: int) -> Any:
    """Return the number of four digits, lowest first, that are turned by some places: to the next, the last to 0."""
    return sum(BASE ** ((place + by) % PLACES) * digit for place, digit in enumerate(digits))


# The bits of a class, and sums of them, are digits of 16 bits. The highest 16 bits of their product with a factor are
# the number with these digits, turned by some places.
SPREAD = sum(1 << CLASSES * place for place in range(PLACES))
FACTORS = tuple(turned([1 << CLASSES * place for place in reversed(range(PLACES))], by) for by in range(PLACES))
FACTOR_SHIFT = CLASSES * (PLACES - 1)


def chunk(word: int, of: int) -> int:
    """Return the chunk of a word of a class."""
    return int(turned([word >> of + CLASSES * place & 1 for place in range(PLACES)], 0))


class KeccakDigits(Air):
    """Numbers of four digits of base 11, with how often they are looked up, in any order, repeated or not."""

    name = "keccak_digits"
    columns = (
        f"first[{PLACES}]",  # bit 0 of each digit
        f"second[{PLACES}]",  # bit 1
        f"high[{PLACES}]",  # bits 2 and 3: 0, 1 or 2
        f"count[{len(Lookup)}]",  # lookups by tag
    )

    def define(self, t: TableBuilder) -> None:
        for first, second, high in zip(t.first, t.second, t.high, strict=True):
            t.boolean(first, "a digit is given by its bits")
            t.boolean(second, "a digit is given by its bits")
            t.every_row(high * (high - 1) * (high - 2), "no digit above 11")
            t.every_row(high * (high - 1) * (first * second), "no digit 11")
        digits = [first + 2 * second + 4 * high for first, second, high in zip(t.first, t.second, t.high, strict=True)]
        number = turned(digits, 0)

        def provide(tag: Lookup, left: Expr, right: Expr) -> None:
            t.provide(DIGITS, [int(tag), number, left, right], t.count[tag])

        second, first = turned(t.second, 0), turned(t.first, 0)
        for by in range(PLACES):
            provide(Lookup(Lookup.SECOND + by), second, turned(t.second, by))
        provide(Lookup.HALVES, *(linear([(1, low), (1 << 16, high)]) for low, high in (t.second[:2], t.second[2:])))
        provide(Lookup.FIRST, first, first)
        provide(Lookup.FIRST_TURNED_1, first, turned(t.first, 1))


WIDTH = Columns(KeccakDigits.columns).width


@cache
def digit_cells() -> np.ndarray:
    """Return all columns of the main trace before the counts, the same read-only array in each call."""
    main, columns = KeccakDigits().zeros(ROWS)
    digits = np.arange(NUMBERS, dtype=np.uint64) // _POWERS[:, None] % np.uint64(BASE)
    columns.first[:, :NUMBERS] = digits & np.uint64(1)
    columns.second[:, :NUMBERS] = digits >> np.uint64(1) & np.uint64(1)
    columns.high[:, :NUMBERS] = digits >> np.uint64(2)
    found = main[: -len(Lookup)]
    found.flags.writeable = False
    return found
