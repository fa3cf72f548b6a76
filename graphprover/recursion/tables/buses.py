"""The buses of the recursion machine, and the messages on them."""

from enum import IntEnum
from typing import Any

from graphprover.air import Bus

# Bytes x and y, and z = x ^ y: as one number, and in two parts for rotations by 12 and by 7 bits.
XOR = Bus("xor")  # x, y, z
XOR_4 = Bus("xor, parts of 4 bits")  # x, y, z >> 4, z & 15
XOR_7 = Bus("xor, parts of 1 and 7 bits")  # x, y, z >> 7, z & 127

HALVES = Bus("halves")  # a number below 2^16

MEMORY = Bus("memory")  # address, the three coordinates of the extension element there

MACHINE = Bus("machine")
_WIDTH = 25  # elements of a message: the tag and up to 24 more


class MessageTag(IntEnum):
    """The kinds of messages on the bus of the machine; each comment lists the elements after the tag.

    All kinds share a bus, so that they can share a fraction column. As on the bus of the RISC-V machine, the first
    element that is not 0 is the tag. Words of digests and of blocks have 32 bits.
    """

    NODE = 1  # 8 words of the left child, 8 words of the right one, 8 words of their node's digest
    PART = 2  # number, chained, counter (low, high), length, flags, 8 words: the first half of a message's block
    DIGEST = 3  # number, 8 words: the digest after this block
    PLACE = 4  # tree with the joins below, layer, index in the layer, 8 words of the digest there; layer 0 has the root
    VALUE = 5  # tree, layer, index, first chunk, chunks, 8 words: a chaining value in the hash of the row at this place
    ROW = 6  # tree, layer, index, kind, counter, first address, end address, 2 sums of 3 coordinates: a chunk of a row
    STEP = 7  # address of an instruction, its flags as one number, two constants, the offsets of four operands
    REST = 8  # number, 8 words: the other half of this block
    # In a merged layer, of the messages of the other buses, which are the elements.
    XOR = 9
    XOR_4 = 10
    XOR_7 = 11
    HALVES = 12
    MEMORY = 13


def message(tag: MessageTag, *fields: Any) -> list[Any]:
    """Return the elements of a message."""
    return [*_before(tag, len(fields)), *fields]


def _before(tag: MessageTag, elements: int) -> list[int]:
    """Return the zeros and the tag before the elements of a message."""
    return [*[0] * (_WIDTH - 1 - elements), int(tag)]


MERGED = {
    bus: _before(tag, elements)
    for bus, tag, elements in (
        (XOR, MessageTag.XOR, 3),
        (XOR_4, MessageTag.XOR_4, 4),
        (XOR_7, MessageTag.XOR_7, 4),
        (HALVES, MessageTag.HALVES, 1),
        (MEMORY, MessageTag.MEMORY, 4),
    )
}
"""The elements before a message of each other bus on the bus of the machine, in a merged layer."""
