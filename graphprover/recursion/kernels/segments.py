"""Segments of opened rows: the format of the kernels that hash them and write their rows."""

from dataclasses import dataclass
from enum import IntFlag

from graphprover.device import Array
from graphprover.field import EXTENSION_DEGREE
from graphprover.protocol.blake3 import BLOCK_WORDS
from graphprover.recursion.kernels.arrays import require_array
from graphprover.recursion.tables.columns import WIDTH
from graphprover.recursion.tables.segments import QUARTERS

NUMBERS = 5  # of a segment


class SegmentKind(IntFlag):
    """The kind of a segment: one of the first four flags, and whether it has the digest of the whole row."""

    WEIGHTED = 1
    READ = 2
    SPLIT = 4
    PARENT = 8
    WHOLE = 16


@dataclass(frozen=True, eq=False)
class RowSegments:
    """Segments with all their blocks: contiguous arrays of one device. The call of a block has the block's index."""

    # uint64 (blocks, 8), below p but for parents: words beyond the end of a chunk are zeros. The words of a parent are
    # zeros before `hash_segments`, and then the digests of its children.
    words: Array
    owners: Array  # uint32 (blocks,): the segment of each block, rising from 0 by at most 1
    firsts: Array  # uint32 (segments,): the first block of each segment
    places: Array  # uint64 (segments, 3), below p: tree, layer, index
    # uint32 (segments, 5): `SegmentKind`; of a chunk its counter, its base and the absent words of its last block; of a
    # parent its first chunk and the chunks of both children; lookups of the chunk.
    numbers: Array
    # uint32 (segments, 2): of a parent both children, which are segments before it. All parents of a row are behind its
    # chunks, and the last segment of the row is whole.
    children: Array

    def require(self) -> None:
        """Raise ValueError for other arrays."""
        blocks, segments = len(self.words), len(self.firsts)
        shapes: dict[str, tuple[tuple[int, ...], str]] = {
            "words": ((blocks, BLOCK_WORDS), "uint64"),
            "owners": ((blocks,), "uint32"),
            "firsts": ((segments,), "uint32"),
            "places": ((segments, 3), "uint64"),
            "numbers": ((segments, NUMBERS), "uint32"),
            "children": ((segments, 2), "uint32"),
        }
        for name, (shape, dtype) in shapes.items():
            require_array(f"{name} of {segments} segments are", getattr(self, name), shape, dtype)

    @property
    def rows(self) -> int:
        """Return the rows of a trace that they take: the quarters of all blocks, and an end each."""
        return QUARTERS * len(self.words) + len(self.firsts)

    def require_digests(self, digests: Array) -> None:
        """Raise ValueError for other arrays, and for digests that are not uint32 (segments, 8)."""
        self.require()
        count = len(self.firsts)
        require_array(f"digests of {count} segments are", digests, (count, 8), "uint32")

    def require_rows(self, digests: Array, main: Array, cells: Array, first: int) -> None:
        """Raise ValueError for other arrays, and for segments that do not fit the trace ``main`` after its ``first``
        rows."""
        self.require_digests(digests)
        require_array("a trace is", main, (WIDTH, "rows"))
        require_array("cells are", cells, (EXTENSION_DEGREE, "cells"))
        if first + self.rows > main.shape[1]:
            raise ValueError(f"{self.rows} rows of segments after {first} do not fit {main.shape[1]} rows")
