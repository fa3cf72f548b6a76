"""The planes of a state, on their way from a caller's limbs to the chunks of `keccak_rounds` and back.

A plane is the five words with one y. A caller asks with the five planes of its state, a message each, and takes five
planes as its answer.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any

from graphprover.air import Air, Bus, TableBuilder
from graphprover.air.columns import Columns
from graphprover.air.linear import linear
from graphprover.vm.accelerators.keccak.digits import DIGITS, NUMBERS, PLACES, Lookup
from graphprover.vm.tables.step import shared

PERMUTATION = Bus("keccak-f")
PLANES = 5  # of a state
ROWS = 2 * PLANES  # of a permutation: its planes before and after
MESSAGES = 2  # that share a fraction column, by constraints of degree 3; with 4 these have degree 5
_WIDTH = 23  # elements of a message: the tag and up to 22 more


class PlaneTag(IntEnum):
    """The kinds of messages; each comment lists the elements after the tag.

    As on the bus of instructions, the first element that is not 0 is the tag.
    """

    ASK = 1  # call, plane, 10 limbs: a plane before the permutation
    ANSWER = 2  # the same, after it
    BEFORE = 3  # call, plane, 20 numbers: four sums of chunks each, whose bits 1 are a plane before the permutation
    AFTER = 4  # the same, after it


def message(tag: Any, *fields: Any) -> list[Any]:
    """Return the elements of a message."""
    return [*[0] * (_WIDTH - 1 - len(fields)), tag, *fields]


def plane_limbs(tag: PlaneTag, call: Any, plane: Any, words: Iterable[Sequence[Any]]) -> list[Any]:
    """Return the elements of the message with these five words, of two limbs each."""
    return message(int(tag), call, plane, *(limb for word in words for limb in word))


def joined(chunks: Sequence[Any]) -> list[Any]:
    """Return numbers of four sums of chunks each: one for every four classes of a word."""
    groups = (chunks[first : first + PLACES] for first in range(0, len(chunks), PLACES))
    return [sum(NUMBERS**i * chunk for i, chunk in enumerate(group)) for group in groups]


class KeccakPlanes(Air):
    """Planes, one a row: before a permutation in limbs to sums of chunks, after it in sums of chunks to limbs.

    A number below NUMBERS^4 < p has one form as four numbers below NUMBERS, which the lookups of the sums show. Limbs
    are sums of bits, so they have 32 bits.
    """

    name = "keccak_planes"
    columns = (
        "on",
        "after",  # 1 for a plane after the permutation
        "call",
        "plane",
        "sum[5][16]",  # of chunks, by word and class
        "low[5][16]",  # the bits 1 of its two low digits, 2^16 apart: bits of the low limb
        "high[5][16]",
    )

    def define(self, t: TableBuilder) -> None:
        t.every_row(shared(t.on, MESSAGES), "a row has a plane or none")
        t.boolean(t.after)
        for word in zip(t.sum, t.low, t.high, strict=True):
            for chunks, low, high in zip(*word, strict=True):
                t.lookup(DIGITS, [int(Lookup.HALVES), chunks, low, high], t.on, weight=1)
        halves = [half for word in zip(t.low, t.high, strict=True) for half in word]
        limbs = [linear((1 << c, bits) for c, bits in enumerate(half)) for half in halves]
        numbers = [number for word in t.sum for number in joined(word)]
        onward = t.on * (1 - 2 * t.after)
        t.receive(PERMUTATION, message(PlaneTag.ASK + t.after, t.call, t.plane, *limbs), onward, weight=1)
        t.send(PERMUTATION, message(PlaneTag.BEFORE + t.after, t.call, t.plane, *numbers), onward, weight=1)


_COLUMNS = Columns(KeccakPlanes.columns)
WIDTH = _COLUMNS.width
FIRST_COLUMNS = {name: family.offset for name, family in _COLUMNS.families.items()}
