"""The trace of `row` in Python integers, cell by cell, and the hash of a row as BLAKE3's specification has it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np

from graphprover.field import P
from graphprover.recursion.kernels.segments import Kind
from graphprover.recursion.tables.row import Row
from tests.recursion.naive import END, IV, PARENT, ROOT, START, Call, Use

ROW = Row()


@dataclass(frozen=True)
class Segment:
    """One segment: a chunk of words, or the chaining values of two others."""

    place: tuple[int, int, int]
    kind: Kind
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
    place: tuple[int, int, int], kinds: Sequence[Kind], base: int, words: Sequence[int], first: int, asked: int
) -> list[Segment]:
    """Return the segments of a row whose first word has this address, and whose first call this number.

    ``kinds`` are the kinds of its first chunks; the last one is also the kind of all chunks after them.
    """
    chunks = [words[i : i + 128] for i in range(0, len(words), 128)]
    found: list[Segment] = []

    def add(kind: Kind, counter: int, base: int, words: Sequence[int], parent: bool, root: bool) -> Segment:
        number = found[-1].first + len(found[-1].calls) if found else first
        calls, value = [], IV
        blocks = [words[i : i + 8] for i in range(0, len(words), 8)]
        for i, block in enumerate(blocks):
            last = i == len(blocks) - 1
            flags = PARENT if parent else START * (i == 0) | END * last
            flags |= ROOT * (root and last)
            halves = [half for word in block for half in (word & 2**32 - 1, word >> 32)]
            use = Use.PART if last else Use.PART | Use.CHAIN
            call = Call(value, halves + [0] * (16 - len(halves)), [counter, 0, 8 * len(block), flags], use)
            calls.append(call)
            value = call.digest
        kind |= Kind.WHOLE if root else Kind(0)
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
            replace(add(Kind.PARENT, 0, 0, words, True, count == len(chunks)), span=(first, left, count - left))
        ]
        return found[-1]

    tree(0, len(chunks))
    return found


def row_trace(segments: Sequence[Segment], cells: np.ndarray, rows: int) -> np.ndarray:
    """Return the trace of `Row`: the segments in their order, then rows of zeros."""
    trace, t = ROW.zeros(rows)
    row = 0
    for segment in segments:
        row = put_segment(t, row, segment, cells.tolist())
    return trace


def put_segment(t: SimpleNamespace, row: int, segment: Segment, cells: Sequence[Sequence[int]]) -> int:
    """Write a segment's rows from ``row`` on, and return the row after them."""
    sums = [[0] * 3, [0] * 3]
    first, blocks = row, len(segment.calls)
    absent = 8 * blocks - len(segment.words)
    words = [*segment.words, *[0] * absent]
    while row < first + 2 * blocks:
        at, block = row - first, (row - first) // 2
        t.weighted[row], t.read[row] = Kind.WEIGHTED in segment.kind, Kind.READ in segment.kind
        t.split[row] = Kind.SPLIT in segment.kind
        t.parent[row] = Kind.PARENT in segment.kind
        t.upper[row], t.begin[row] = at % 2, at == 0
        ends, is_last = at == 2 * blocks - 1, block == blocks - 1
        t.whole[row], t.inner[row] = ends and Kind.WHOLE in segment.kind, ends and Kind.WHOLE not in segment.kind
        t.number[row] = segment.first + block
        t.tree[row], t.layer[row], t.index[row] = segment.place
        t.counter[row], t.base[row], t.address[row] = segment.counter, segment.base, segment.base + 8 * at
        t.absent[row], t.short[row] = absent * is_last, is_last and absent > 3
        for i, word in enumerate(words[4 * at : 4 * at + 4]):
            for k in range(4):
                t.half[i][k][row] = word >> 16 * k & 0xFFFF
            for point in range(2):
                weight = [word if point == k == 0 and Kind.READ in segment.kind else 0 for k in range(3)]
                if point == 1 and Kind.SPLIT in segment.kind:
                    weight = [word % 2**32, word >> 32, 0]
                if Kind.WEIGHTED in segment.kind:
                    weight = [cells[k][segment.base + 8 * at + 2 * i + point] for k in range(3)]
                for k in range(3):
                    t.weight[point][i][k][row] = weight[k]
                    if Kind.WEIGHTED in segment.kind:
                        sums[point][k] = (sums[point][k] + weight[k] * word) % P
        if Kind.PARENT in segment.kind:
            start, left, right = segment.span
            for k, number in enumerate((right, start + left, start) if at else (left, start, start)):
                t.weight[0][0][k][row] = number
        for point in range(2):
            for k in range(3):
                t.sum[point][k][row] = sums[point][k]
        if ends:
            t.digest[:, row] = segment.digest
            t.asked[row] = segment.asked
        row += 1
    return row
