"""All that is hashed of a proof's openings: the segments of opened rows, and the nodes over them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from graphprover.protocol.blake3 import BLOCK_WORDS, CHUNK_WORDS
from graphprover.recursion.kernels.segments import NUMBERS, RowSegments, SegmentKind
from graphprover.recursion.openings import OpenedNodes, OpenedRows
from graphprover.recursion.tables.segments import STRIDE, padded
from graphprover.recursion.traces.nodes import Nodes
from graphprover.recursion.witness.lookups import asked_of, counts_of


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Opened rows of one length, and their memory: the weights of their words if they have any, or the words."""

    opened: OpenedRows
    bases: np.ndarray  # uint32 (rows,): the memory address of each row's first word
    asked: np.ndarray  # uint32 (rows,): lookups of each chunk of the row


@dataclass(frozen=True, eq=False)
class _Pattern:
    """The segments of a row of some length: chunks, then parents, each after its children."""

    blocks: np.ndarray  # of each segment
    flags: np.ndarray  # `SegmentKind`
    # For chunks the counter, the address of the first word after the row's, and absent words; for parents the first
    # chunk, and the chunks of both children: (segments, 3).
    numbers: np.ndarray
    children: np.ndarray  # (segments, 2): segments of the row


def _pattern_of(group: RowGroup) -> _Pattern:
    """Return the pattern of a group's rows.

    Raises:
        ValueError: For rows without words.
    """
    width = group.opened.words.shape[1]
    if not width:
        raise ValueError("an opened row has words")
    return _pattern(
        width, SegmentKind.READ if group.opened.powers is None else SegmentKind.WEIGHTED, group.opened.split_from
    )


@cache
def _pattern(words: int, kind: SegmentKind, split_from: int | None) -> _Pattern:
    chunks = max(1, -(-words // CHUNK_WORDS))
    children: list[tuple[int, int]] = []
    spans: list[tuple[int, int, int]] = []

    def tree(first: int, count: int) -> int:
        """Return the segment that has the digest of these chunks: the left subtree is the largest full one."""
        if count == 1:
            return first
        left = 1 << (count - 1).bit_length() - 1
        pair = tree(first, left), tree(first + left, count - left)
        children.append(pair)
        spans.append((first, left, count - left))
        return chunks + len(children) - 1

    whole = tree(0, chunks)
    segments, parents = chunks + len(children), len(children)
    last = padded(words - CHUNK_WORDS * (chunks - 1))
    none = np.zeros(parents, dtype=np.int64)
    flags = np.concatenate([np.full(chunks, int(kind)), none + int(SegmentKind.PARENT)])
    if split_from is not None:
        flags[split_from:chunks] = int(SegmentKind.SPLIT)
    flags[whole] |= int(SegmentKind.WHOLE)
    numbers = np.zeros((segments, 3), dtype=np.int64)
    numbers[:chunks, 0] = np.arange(chunks)
    numbers[:chunks, 1] = STRIDE * CHUNK_WORDS * np.arange(chunks)
    numbers[chunks - 1, 2] = padded(words) - words
    numbers[chunks:] = np.array(spans, dtype=np.int64).reshape(-1, 3)
    full = np.full(chunks - 1, CHUNK_WORDS // BLOCK_WORDS)
    return _Pattern(
        np.concatenate([full, [last // BLOCK_WORDS], none + 1]),
        flags,
        numbers,
        np.concatenate([np.zeros((chunks, 2), dtype=np.int64), np.array(children, dtype=np.int64).reshape(-1, 2)]),
    )


def segments_of_rows(groups: Sequence[RowGroup]) -> RowSegments:
    """Return the segments of all rows, group by group and row by row, without the words of parents.

    Raises:
        ValueError: For rows without words.
    """
    patterns = [_pattern_of(group) for group in groups]
    rows, each = np.array([(len(of.bases), len(by.blocks)) for of, by in zip(groups, patterns, strict=True)]).T
    group_of = np.repeat(np.arange(len(groups)), rows)  # of each row
    own = each[group_of]  # segments of each row
    first = np.cumsum(own) - own
    row_of = np.repeat(np.arange(len(own)), own)  # of each segment
    # The number of each segment among the segments of all patterns.
    in_patterns = np.arange(len(row_of)) + ((np.cumsum(each) - each)[group_of] - first)[row_of]
    blocks, flags, of_patterns, children = (
        np.concatenate([getattr(pattern, name) for pattern in patterns])[in_patterns]
        for name in ("blocks", "flags", "numbers", "children")
    )
    is_chunk = (flags & int(SegmentKind.PARENT) == 0).astype(np.uint32)
    bases, asked, places = (
        np.concatenate(parts)[row_of]
        for parts in zip(*((group.bases, group.asked, group.opened.places) for group in groups), strict=True)
    )
    numbers = np.empty((len(row_of), NUMBERS), dtype=np.uint32)
    numbers[:, 0], numbers[:, 1:4], numbers[:, 4] = flags, of_patterns, asked * is_chunk
    numbers[:, 2] += bases * is_chunk
    children = (children + first[row_of][:, None]).astype(np.uint32)
    owners = np.repeat(np.arange(len(blocks), dtype=np.uint32), blocks)
    firsts = (np.cumsum(blocks) - blocks).astype(np.uint32)
    return RowSegments(_words(groups, patterns, len(owners)), owners, firsts, places, numbers, children)


def _words(groups: Sequence[RowGroup], patterns: Sequence[_Pattern], blocks: int) -> np.ndarray:
    """Return the words of all blocks, uint64 (blocks, 8), with zeros as the words of parents."""
    words, end = np.zeros(blocks * BLOCK_WORDS, dtype=np.uint64), 0
    for group, pattern in zip(groups, patterns, strict=True):
        rows, width = group.opened.words.shape
        stride = BLOCK_WORDS * int(pattern.blocks.sum())
        begin, end = end, end + rows * stride
        words[begin:end].reshape(rows, stride)[:, :width] = group.opened.words
    return words.reshape(blocks, BLOCK_WORDS)


@dataclass(frozen=True, eq=False)
class Hashes:
    """All that is hashed of a proof's openings: arrays of the host."""

    segments: RowSegments  # without the words of parents
    nodes: Nodes
    places: np.ndarray  # that nodes and rows look up, uint64 (lookups, 3)

    def lookups_of(self, places: np.ndarray) -> np.ndarray:
        """Return how often each place, uint64 (n, 3), is looked up: uint32 (n,)."""
        return counts_of(np.ascontiguousarray(places), self.places)


def hashes_of(opened: OpenedNodes, groups: Sequence[RowGroup]) -> Hashes:
    """Return the segments of opened rows, and the nodes over them."""
    of_rows = np.concatenate([group.opened.places for group in groups])
    nodes = Nodes(opened.places, opened.digests, opened.children, asked_of(opened.places, of_rows))
    return Hashes(segments_of_rows(groups), nodes, np.concatenate([opened.places, of_rows]))
