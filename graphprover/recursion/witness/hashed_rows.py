"""The segments of opened rows, which a device hashes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from graphprover.protocol.blake3 import BLOCK_WORDS, CHUNK_WORDS
from graphprover.recursion.kernels.segments import NUMBERS, Kind, Segments
from graphprover.recursion.openings import OpenedRows
from graphprover.recursion.tables.segments import STRIDE, padded


@dataclass(frozen=True, eq=False)
class Rows:
    """Opened rows of one length, and their memory: the weights of their words if they have any, or the words."""

    opened: OpenedRows
    bases: np.ndarray  # uint32 (rows,): the memory address of each row's first word
    asked: np.ndarray  # uint32 (rows,): lookups of each chunk of the row
    split_from: int | None = None  # the first chunk of a row whose words are split, as all after it; None without any


@dataclass(frozen=True, eq=False)
class _Pattern:
    """The segments of a row of some length: chunks, then parents, each after its children."""

    blocks: np.ndarray  # of each segment
    flags: np.ndarray  # PARENT and WHOLE
    # For chunks the counter, the address of the first word after the row's, and absent words; for parents the first
    # chunk, and the chunks of both children: (segments, 3).
    numbers: np.ndarray
    children: np.ndarray  # (segments, 2): segments of the row


@cache
def _pattern(words: int) -> _Pattern:
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
    flags = np.concatenate([np.zeros(chunks, dtype=np.int64), none + int(Kind.PARENT)])
    flags[whole] |= int(Kind.WHOLE)
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


def segments_of_rows(groups: Sequence[Rows]) -> Segments:
    """Return the segments of all rows, group by group and row by row, without the words of parents.

    Raises:
        ValueError: For rows without words.
    """
    parts = [_segments_of(group) for group in groups]
    words, counts, places, numbers, children = (np.concatenate(part) for part in zip(*parts, strict=True))
    of_groups = [len(part[1]) for part in parts]
    children += np.repeat(np.cumsum(of_groups) - of_groups, of_groups).astype(np.uint32)[:, None]
    firsts = (np.cumsum(counts) - counts).astype(np.uint32)
    owners = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
    return Segments(words, owners, firsts, places, numbers, children)


def _segments_of(group: Rows) -> tuple[np.ndarray, ...]:
    """Return blocks, blocks of each segment, places, numbers, and the children of parents among these segments."""
    opened = group.opened
    rows, width = opened.words.shape
    if not width:
        raise ValueError("an opened row has words")
    pattern = _pattern(width)
    each, all_blocks = len(pattern.blocks), int(pattern.blocks.sum())
    words = np.zeros((rows, all_blocks * BLOCK_WORDS), dtype=np.uint64)
    words[:, :width] = opened.words
    numbers = np.empty((rows, each, NUMBERS), dtype=np.uint32)
    is_chunk = pattern.flags & int(Kind.PARENT) == 0
    kinds = np.full(each, int(Kind.READ if opened.powers is None else Kind.WEIGHTED))
    if group.split_from is not None:
        kinds[group.split_from :] = int(Kind.SPLIT)
    numbers[:, :, 0] = pattern.flags | np.where(is_chunk, kinds, 0)
    numbers[:, :, 1:4] = pattern.numbers
    numbers[:, :, 2] += group.bases[:, None] * is_chunk.astype(np.uint32)
    numbers[:, :, 4] = group.asked[:, None] * is_chunk
    children = (pattern.children + each * np.arange(rows)[:, None, None]).astype(np.uint32)
    return (
        words.reshape(-1, BLOCK_WORDS),
        np.tile(pattern.blocks, rows),
        np.repeat(opened.places, each, axis=0),
        numbers.reshape(-1, NUMBERS),
        children.reshape(-1, 2),
    )
