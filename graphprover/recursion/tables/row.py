"""The rows that a proof opens: their words, sums of words times weights, and their digests; four words a row.

An opened row is a message of BLAKE3: the words of all matrices of one height, eight bytes each. Here it has *segments*:
its chunks of up to 128 words, and a parent for each two subtrees of its chunks. A segment has two rows a block of eight
words, the lower and the upper half; `compress` has the blocks as calls with consecutive numbers. The last row of a
segment has its digest. The digest of the whole row is looked up at its place in a Merkle tree, and any other one is a
chaining value for the parent above.

The kinds of segments:

- `weighted`: a chunk. Its words are multiplied with two weights each, from memory, and added up: the powers of the
  batching challenge at zeta and at the next row's point. The weights of word i are at the addresses base + 2 i and
  base + 2 i + 1.
- `read`: a chunk, too. Word i is in memory at the address base + 2 i.
- `split`: a chunk, too. Word i is in memory at the address base + 2 i + 1 as (lo, hi, 0): both numbers of 32 bits. A
  segment of this kind says nothing about the address base + 2 i, so a program can have a cell of its own there.
- `parent`: its block has both chaining values, a half each. The first weight of its rows says of which chunks they are:
  see `_child`.

Each chunk is an entry that users of the row look up: place, kind, counter, the first address, the end address, and the
sums. The end address is 2 beyond the last word's, so it says how many words there are.

Why an entry of a chunk is about the words under a cap:

- *Segments.* A row that is on either ends its segment or is followed by a row of it, with the same kind, place, counter
  and base (`stays`). The first row is on a beginning, and the last one ends a segment. Lower and upper rows alternate,
  beginning with a lower one, and only upper rows end a segment.
- *Words.* A word is lo + 2^32 hi, and both are two numbers of 16 bits, which are looked up. So the words of a block
  are below 2^32, as `compress` requires. Of the 2^64 pairs some give the same word: a cap commits to bytes, and bytes
  give words. A `split` segment has both numbers in memory, so its users learn the bytes. The coordinates of a cell
  are its only value, and both are below 2^32: no second pair passes for the word.
- *One tree of blocks for each digest.* One call has a digest: another call with it would be a collision. Its
  block, flags and chaining value follow. Flags tell chunks from parents, so the segment follows, back to its first
  block, which has the IV, and with it its words or the digests of its children. A child is a chaining value of the same
  place. Values balance, so each child is the digest of a segment, and no segment is outside of the tree.
- *Words have places.* A chunk's counter is part of each of its calls. A chaining value says how many chunks it is of,
  and the counter of the first one. A parent's right child begins after its left one, and the whole row with counter 0.
  So each counter belongs to one chunk of the tree, and users require its base and its end. The shape of the tree is not
  checked: it says nothing about words.
- *Lengths.* At most 7 words of a block are absent. A negative number of them would be a length of more than 64 bytes,
  which the compression function takes: a digest made with it would have fewer words than its end address says.
- *The words of the last block* beyond its length are zeros in BLAKE3. They are not shown to be: their weights must be 0
  in memory, or their addresses unused.

Rows that are off are zeros.
"""

from collections.abc import Sequence
from typing import Any

from graphprover.air import Air, Expr, TableBuilder
from graphprover.air.columns import Columns
from graphprover.air.linear import linear
from graphprover.field import EXTENSION_DEGREE
from graphprover.protocol.blake3 import BLOCK_BYTES, BLOCK_WORDS, CHUNK_END, CHUNK_START, PARENT, ROOT
from graphprover.recursion.tables.buses import HALVES, MACHINE, MEMORY, Tag, message

WORDS = 4  # of a row
STRIDE = 2  # addresses of a word
POINTS = 2  # weights of a word
WEIGHTED, READ, SPLIT = range(3)  # kinds of chunks in messages
_WORD_BYTES = 8
_KINDS = ("weighted", "read", "split", "parent")
_PLACE = ("tree", "layer", "index")


def padded(words: int) -> int:
    """Return the words of whole blocks that have this number of words."""
    return -(-words // BLOCK_WORDS) * BLOCK_WORDS


class Row(Air):
    """Segments of opened rows, in any order."""

    columns = (
        "weighted",
        "read",
        "split",
        "parent",
        "upper",  # 1 in the upper half of a block
        "begin",  # 1 in the first row of a segment
        "inner",  # 1 in the last row of a segment whose digest is a chaining value
        "whole",  # 1 in the last row of a segment whose digest is the opened row's
        "number",  # of the block's call
        "tree",
        "layer",
        "index",
        "counter",  # of the chunk; 0 for a parent
        "base",  # address of the segment's first word
        "address",  # of the row's first word
        "absent",  # words of the block that are beyond the length of the chunk, up to 7
        "short",  # 1 if these are 4 or more
        "half[4][4]",  # of each word, 16 bits each, the lowest first
        # By point and word. In a `read` segment the first ones are the words, in a `split` one the second ones are the
        # words' two numbers; and see `_child`.
        "weight[2][4][3]",
        "sum[2][3]",  # by point, of this row's words and all words of the segment before
        "digest[8]",  # of the segment, in its last row
        "asked",  # lookups of the chunk, in its last row
    )

    def define(self, t: TableBuilder) -> None:
        on = _on(t)
        ends = t.inner + t.whole
        self._segments(t, on, ends)
        self._blocks(t, on, ends)
        self._sums(t, on, ends)
        self._memory(t)
        self._children(t, on, ends)
        self._messages(t, ends)

    @staticmethod
    def _segments(t: TableBuilder, on: Expr, ends: Expr) -> None:
        n = t.next
        for name in (*_KINDS, "upper", "begin", "inner", "whole"):
            t.boolean(t[name], "a flag")
        t.boolean(on, "a segment has one kind")
        t.boolean(ends, "a segment ends in one way")
        for flag in (t.upper, t.begin, ends):
            t.every_row(flag * (1 - on), "rows that are off have no part of a segment")
        t.first_row(on - t.begin, "the table begins with a segment")
        t.transition(_on(n) - n.begin - on + ends, "a segment goes on until it ends, and another one begins")
        t.last_row(on - ends, "the table ends with a segment")
        t.every_row(t.begin * t.upper, "a segment begins with a lower half")
        t.every_row(ends * (1 - t.upper), "a segment ends with an upper half")
        stays = on - ends
        t.transition(stays * (n.upper + t.upper - 1), "lower and upper halves alternate")
        for name in (*_KINDS, *_PLACE, "counter", "base"):
            t.transition(stays * (n[name] - t[name]), "the rows of a segment have one kind and place")
        t.transition(stays * (n.number - t.number - t.upper), "calls of a segment have consecutive numbers")
        t.every_row(t.begin * (t.address - t.base), "the first word is at the base")
        t.transition(stays * (n.address - t.address - STRIDE * WORDS), "addresses follow each other")

    @staticmethod
    def _blocks(t: TableBuilder, on: Expr, ends: Expr) -> None:
        n = t.next
        t.transition((on - t.upper) * (n.absent - t.absent), "both halves have the length of their block")
        t.boolean(t.short, "a flag")
        lowest = t.absent - WORDS * t.short
        t.every_row(lowest * (lowest - 1) * (lowest - 2) * (lowest - 3), "up to 7 words of a block are absent")
        t.every_row((t.upper - ends) * t.absent, "only a segment's last block can be short")
        t.every_row(t.parent * (t.upper - ends), "a parent has one block")
        t.every_row(t.parent * t.absent, "a parent is not short")
        t.every_row(t.parent * t.counter, "a parent has the counter 0")
        lower = on - t.upper
        for half in t.half:
            for part in half:
                t.lookup(HALVES, [part], on, weight=1)
        n_ends = n.inner + n.whole
        flags = linear([(CHUNK_START, t.begin), (CHUNK_END, n_ends), (ROOT, n.whole)])
        flags = flags + (PARENT - CHUNK_START - CHUNK_END) * t.parent  # whose only block is the first and the last
        length = BLOCK_BYTES - _WORD_BYTES * t.absent
        block = [*_numbers(t), *_numbers(n)]
        part = message(Tag.PART, t.number, 1 - t.begin, t.counter, 0, length, flags, *block)
        t.receive(MACHINE, part, lower, weight=1)
        t.receive(MACHINE, message(Tag.DIGEST, t.number, *t.digest), ends, weight=1)

    @staticmethod
    def _sums(t: TableBuilder, on: Expr, ends: Expr) -> None:
        n = t.next
        for point in range(POINTS):
            for k in range(EXTENSION_DEGREE):
                now, following = (_product(row, point, k) for row in (t, n))
                total, next_total = t["sum"][point][k], n["sum"][point][k]
                t.every_row(t.weighted * t.begin * (total - now), "a sum begins")
                t.transition(t.weighted * (1 - ends) * (next_total - total - following), "a sum goes on")
                t.every_row((t.read + t.split + t.parent) * total, "only weighted words have sums")

    @staticmethod
    def _memory(t: TableBuilder) -> None:
        numbers = _numbers(t)
        for i, word in enumerate(_words(t)):
            first, second = (t.weight[point][i] for point in range(POINTS))
            t.every_row(t.read * (first[0] - word), "a word that is read")
            for coordinate in first[1:]:
                t.every_row(t.read * coordinate, "a word is in the base field")
            for coordinate, value in zip(second, (*numbers[2 * i : 2 * i + 2], 0), strict=True):
                t.every_row(t.split * (coordinate - value), "a word that is split")
            t.lookup(MEMORY, [t.address + STRIDE * i, *first], t.weighted + t.read, weight=1)
            t.lookup(MEMORY, [t.address + STRIDE * i + 1, *second], t.weighted + t.split, weight=1)

    @staticmethod
    def _children(t: TableBuilder, on: Expr, ends: Expr) -> None:
        count, first, start = _child(t)
        _, next_first, next_start = _child(t.next)
        t.every_row(t.parent * t.begin * (first - start), "a parent begins with its left child")
        t.transition(t.parent * (on - ends) * (next_first - first - count), "the right child follows the left one")
        t.transition(t.parent * (on - ends) * (next_start - start), "both rows have the parent's first chunk")
        t.every_row(t.whole * (t.counter + t.parent * start), "a row begins with chunk 0")

    @staticmethod
    def _messages(t: TableBuilder, ends: Expr) -> None:
        place = [t[name] for name in _PLACE]
        t.lookup(MACHINE, message(Tag.PLACE, *place, *t.digest), t.whole, weight=1)
        count, first, start = _child(t)
        span = t.counter + t.parent * start, 1 + t.parent * (first + count - start - 1)
        t.send(MACHINE, message(Tag.VALUE, *place, *span, *t.digest), t.inner, weight=1)
        t.receive(MACHINE, message(Tag.VALUE, *place, first, count, *_numbers(t)), t.parent, weight=1)
        end = t.address + STRIDE * (WORDS - t.absent)
        sums = [total for of_point in t["sum"] for total in of_point]
        t.every_row(t.asked * (1 - ends + t.parent), "only the last row of a chunk is looked up")
        kind = READ * t.read + SPLIT * t.split
        t.provide(MACHINE, message(Tag.ROW, *place, kind, t.counter, t.base, end, *sums), t.asked)


def _on(row: Any) -> Expr:
    """Return whether a row has a part of a segment."""
    found: Expr = row.weighted + row.read + row.split + row.parent
    return found


def _child(row: Any) -> Sequence[Expr]:
    """Return of a parent's row: the chunks of its child, the first of them, and the first chunk of the parent."""
    found: Sequence[Expr] = row.weight[0][0]
    return found


def _numbers(row: Any) -> list[Expr]:
    """Return the words of 32 bits of a row: the lower and the upper one of each word."""
    return [low + (1 << 16) * high for word in row.half for low, high in (word[:2], word[2:])]


def _words(row: Any) -> list[Expr]:
    """Return the words of a row."""
    return [linear([(1 << 16 * i, half) for i, half in enumerate(word)]) for word in row.half]


def _product(row: Any, point: int, k: int) -> Expr:
    """Return a coordinate of the sum of a row's words times their weights."""
    products: Sequence[Expr] = [weight[k] * word for weight, word in zip(row.weight[point], _words(row), strict=True)]
    total = products[0]
    for product in products[1:]:
        total = total + product
    return total


BLOCK_ROWS = BLOCK_WORDS // WORDS  # rows of a block
_COLUMNS = Columns(Row.columns)
WIDTH = _COLUMNS.width
FIRST_COLUMNS = {name: family.offset for name, family in _COLUMNS.families.items()}
