"""The rows of segments in a trace of `machine` in Python integers, cell by cell; BLAKE3 as its specification has it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphprover.field import P
from graphprover.recursion.kernels.segments import SegmentKind
from graphprover.recursion.tables.segments import SegmentRow, part_of
from tests.recursion.machines import TABLE
from tests.recursion.naive import END, IV, PARENT, ROOT, START, Call, CallUse


@dataclass(frozen=True)
class Segment:
    """One segment: a chunk of words, or the chaining values of two others."""

    place: tuple[int, int, int]
    kind: SegmentKind
    counter: int
    base: int
    words: Sequence[int]  # of 64 bits: of a parent 8
    first: int  # number of its first call
    calls: Sequence[Call]
    asked: int  # lookups of a chunk
    span: tuple[int, int, int] = (0, 0, 0)  # of a parent: its first chunk, the chunks of both children

    @property
    def digest(self) -> list[int]:
        return self.calls[-1].digest


def segments_of(
    place: tuple[int, int, int], kinds: Sequence[SegmentKind], base: int, words: Sequence[int], first: int, asked: int
) -> list[Segment]:
    """Return the segments of a row whose first word has this address, and whose first call this number.

    ``kinds`` are the kinds of its first chunks; the last one is also the kind of all chunks after them.
    """
    chunks = [words[i : i + 128] for i in range(0, len(words), 128)]
    found: list[Segment] = []

    def add(kind: SegmentKind, counter: int, base: int, words: Sequence[int], parent: bool, root: bool) -> Segment:
        number = found[-1].first + len(found[-1].calls) if found else first
        calls, value = [], IV
        blocks = [words[i : i + 8] for i in range(0, len(words), 8)]
        for i, block in enumerate(blocks):
            last = i == len(blocks) - 1
            flags = PARENT if parent else START * (i == 0) | END * last
            flags |= ROOT * (root and last)
            halves = [half for word in block for half in (word & 2**32 - 1, word >> 32)]
            use = CallUse.PART if last else CallUse.PART | CallUse.CHAIN
            call = Call(value, halves + [0] * (16 - len(halves)), [counter, 0, 8 * len(block), flags], use)
            calls.append(call)
            value = call.digest
        kind |= SegmentKind.WHOLE if root else SegmentKind(0)
        found.append(Segment(place, kind, counter, base, words, number, calls, 0 if parent else asked))
        return found[-1]

    leaves = [
        add(kinds[min(i, len(kinds) - 1)], i, base + 256 * i, chunk, False, len(chunks) == 1)
        for i, chunk in enumerate(chunks)
    ]

    def tree(first: int, count: int) -> Segment:
        if count == 1:
            return leaves[first]
        left = 1
        while 2 * left < count:
            left *= 2
        pair = tree(first, left), tree(first + left, count - left)
        both = [half for child in pair for half in child.digest]
        words = [low + (high << 32) for low, high in zip(both[::2], both[1::2], strict=True)]
        found[-1:] = [
            replace(add(SegmentKind.PARENT, 0, 0, words, True, count == len(chunks)), span=(first, left, count - left))
        ]
        return found[-1]

    tree(0, len(chunks))
    return found


def machine_trace(segments: Sequence[Segment], cells: np.ndarray, first: int, rows: int) -> np.ndarray:
    """Return a trace of `RecursionMachine` with segments in their order from a row on, and zeros in other rows."""
    trace, view = TABLE.zeros(rows)
    for segment in segments:
        first = put_segment(part_of(view), first, segment, cells.tolist())
    return trace


def put_segment(t: SegmentRow, row: int, segment: Segment, cells: Sequence[Sequence[int]]) -> int:
    """Write a segment's rows from ``row`` on, and return the row after them."""
    sums = [[0] * 3, [0] * 3]
    blocks = len(segment.calls)
    absent = 8 * blocks - len(segment.words)
    words = [*segment.words, *[0] * absent]
    is_parent = SegmentKind.PARENT in segment.kind

    def put(row: int, at: int, block: int) -> None:
        """Write the cells that quarters and ends have."""
        t.weighted[row], t.read[row] = SegmentKind.WEIGHTED in segment.kind, SegmentKind.READ in segment.kind
        t.split[row], t.parent[row] = SegmentKind.SPLIT in segment.kind, is_parent
        t.number[row], t.counter[row], t.base[row] = segment.first + block, segment.counter, segment.base
        t.at[0][row] = segment.base + 4 * at
        for bit in range(3):
            t.absent[bit][row] = absent * (block == blocks - 1) >> bit & 1
        for point in range(2):
            for k in range(3):
                t.sum[point][k][row] = sums[point][k]

    for at in range(4 * blocks):
        block = at // 4
        for i, word in enumerate(words[2 * at : 2 * at + 2]):
            for k in range(4):
                t.half[4 * i + k][row] = word >> 16 * k & 0xFFFF
            for point in range(2):
                weight = [word if point == k == 0 and SegmentKind.READ in segment.kind else 0 for k in range(3)]
                if point == 1 and SegmentKind.SPLIT in segment.kind:
                    weight = [word % 2**32, word >> 32, 0]
                if SegmentKind.WEIGHTED in segment.kind:
                    weight = [cells[k][segment.base + 4 * at + 2 * i + point] for k in range(3)]
                for k in range(3):
                    t.weight[i][point][k][row] = weight[k]
                    if SegmentKind.WEIGHTED in segment.kind:
                        sums[point][k] = (sums[point][k] + weight[k] * word) % P
        put(row, at, block)
        t.quarter[at % 4][row], t.begin[row] = 1, at == 0
        t.last[row] = block == blocks - 1
        t.root[row] = block == blocks - 1 and SegmentKind.WHOLE in segment.kind
        for i in range(4):
            t.at[i][row] = segment.base + 4 * at + i
        if is_parent:
            t.place[:, row], t.span[:, row] = segment.place, segment.span
        row += 1
    put(row, 4 * blocks, blocks - 1)
    (t.whole if SegmentKind.WHOLE in segment.kind else t.inner)[row] = 1
    t.place[:, row], t.digest[:, row], t.asked[row] = segment.place, segment.digest, segment.asked
    t.span[:, row] = segment.span if is_parent else (segment.counter, 1, 0)
    return row + 1
