"""The rows that a proof opens, in `machine`: their words, sums of words times weights, and their digests.

An opened row is a message of BLAKE3: the words of all matrices of one height, eight bytes each. Here it has *segments*:
its chunks of up to 128 words, and a parent for each two subtrees of its chunks. A segment has four rows of `machine` a
block of eight words, two words each, and then an end. `blake3` has the blocks as calls with consecutive numbers. The
end has the digest. The digest of the whole row is looked up at its place in a Merkle tree, and any other one is a
chaining value for the parent above.

The kinds of segments:

- `weighted`: a chunk. Its words are multiplied with two weights each, from memory, and added up: the powers of the
  batching challenge at zeta and at the next row's point. The weights of word i are at the addresses base + 2 i and
  base + 2 i + 1.
- `read`: a chunk, too. Word i is in memory at the address base + 2 i.
- `split`: a chunk, too. Word i is in memory at the address base + 2 i + 1 as (lo, hi, 0): both numbers of 32 bits. A
  segment of this kind says nothing about the address base + 2 i, so a program can have a cell of its own there.
- `parent`: its block has both chaining values, two rows each. The cells of all its rows say of which chunks they are.

The end of a chunk is an entry that users of the row look up: place, kind, counter, the first address, the end address,
and the sums. The end address is 2 beyond the last word's, so it says how many words there are.

Why an entry of a chunk is about the words under a cap:

- *Segments.* A quarter of a block is followed by the next one. The last quarter is followed by the end if its block is
  the `last` one, else by the first quarter of another block. Only a last quarter is followed by an end, and each block
  without `begin` follows one of its segment. All rows of a segment have one kind, counter and base. The last row of the
  table has no quarter. So a segment is whole.
- *Words.* A word is lo + 2^32 hi, and both are two numbers of 16 bits, which are looked up. So the words of a block
  are below 2^32, as `blake3` requires. Of the 2^64 pairs some give the same word: a cap commits to bytes, and bytes
  give words. A `split` segment has both numbers in memory, so its users learn the bytes. The coordinates of a cell
  are its only value, and both are below 2^32: no second pair passes for the word.
- *Blocks.* The first quarter receives the parameters of a call and the first half of its block, the third one the other
  half. Both have the number of one call, which sends each of them once.
- *One tree of blocks for each digest.* One call has a digest: another call with it would be a collision. Its
  block, flags and chaining value follow. Flags tell chunks from parents, so the segment follows, back to its first
  block, which has the IV, and with it its words or the digests of its children. A child is a chaining value of the same
  place: a parent's rows have one place. Values balance, so each child is the digest of a segment, and no segment is
  outside of the tree.
- *Places.* The rows of a chunk have no place, only its end has one. The end's digest is looked up at this place, or is
  a chaining value of it, and the entry has the same place.
- *Words have places.* A chunk's counter is part of each of its calls. A chaining value says how many chunks it is of,
  and the counter of the first one. A parent's right child begins after its left one, and the whole row with counter 0.
  So each counter belongs to one chunk of the tree, and users require its base and its end. The shape of the tree is not
  checked: it says nothing about words.
- *Lengths.* At most 7 words of a block are absent, by three bits. A negative number of them would be a length of more
  than 64 bytes, which the compression function takes: a digest made with it would have fewer words than its end address
  says.
- *The words of the last block* beyond its length are zeros in BLAKE3. They are not shown to be: their weights must be 0
  in memory, or their addresses unused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphprover.air import Expr, TableBuilder
from graphprover.air.linear import linear
from graphprover.field import EXTENSION_DEGREE
from graphprover.protocol.blake3 import BLOCK_BYTES, BLOCK_WORDS, CHUNK_END, CHUNK_START, PARENT, ROOT
from graphprover.recursion.tables.buses import HALVES, MessageTag, message
from graphprover.recursion.tables.columns import NUMBERS
from graphprover.recursion.tables.slots import SlotMessage, Slots

WORDS = 2  # of a row
QUARTERS = BLOCK_WORDS // WORDS  # rows of a block
STRIDE = 2  # addresses of a word
POINTS = 2  # weights of a word
WEIGHTED, READ, SPLIT = range(3)  # kinds of chunks in messages
_WORD_BYTES = 8
_KINDS = ("weighted", "read", "split", "parent")


def padded(words: int) -> int:
    """Return the words of whole blocks that have this number of words."""
    return -(-words // BLOCK_WORDS) * BLOCK_WORDS


@dataclass(frozen=True)
class SegmentRow:
    """The cells of a row with a part of a segment: a quarter of a block, or the end."""

    quarter: Any
    inner: Any
    whole: Any
    weighted: Any
    read: Any
    split: Any
    parent: Any
    begin: Any  # of a first quarter: 1 in the first block of a segment
    last: Any  # of quarters: 1 in the last block of a segment
    root: Any  # of quarters: 1 in the last block of a segment whose digest is the opened row's
    absent: Any  # words of the block beyond the length of the chunk: three bits, the lowest first
    weight: Any  # by word and point; in `read` the first ones are the words, in `split` the second ones their numbers
    at: Any  # addresses of the weights; in the end the first one follows the segment's last address
    sum: Any  # by point, of this row's words and all words of the segment before
    half: Any  # of both words, 16 bits each, the lowest first
    number: Any  # of the block's call
    counter: Any  # of the chunk; 0 for a parent
    base: Any  # address of the segment's first word
    # Of a parent's rows and of ends, in the cells of weights:
    place: Any  # tree, layer, index
    span: Any  # the first chunk, and the chunks of the left and of the right child; a chunk's are its counter, 1 and 0
    digest: Any  # of ends, in the cells of halves
    asked: Any  # of ends: lookups of the chunk


def part_of(row: Any) -> SegmentRow:
    """Return the cells of a row of `machine` with a part of a segment."""
    first, second, third, fourth = row.cell
    weighted, read, split, parent, begin, last, root, *absent = row.flag
    return SegmentRow(
        quarter=row.quarter,
        inner=row.inner,
        whole=row.whole,
        weighted=weighted,
        read=read,
        split=split,
        parent=parent,
        begin=begin,
        last=last,
        root=root,
        absent=absent,
        weight=((first, second), (third, fourth)),
        at=row.at,
        sum=row.sum,
        half=row.half,
        number=row.number,
        counter=row.counter,
        base=row.base,
        place=first,
        span=second,
        digest=row.half,
        asked=row.asked[0],
    )


def define_segments(t: TableBuilder) -> None:
    """State the rules of segments."""
    of, n = part_of(t), part_of(t.next)
    _order(t, of, n)
    _blocks(t, of, n)
    _sums(t, of, n)
    _memory(t, of)
    _parents(t, of, n)
    for half in of.half:
        t.lookup(HALVES, [half], _quarters(of), weight=1)


def _order(t: TableBuilder, of: SegmentRow, n: SegmentRow) -> None:
    first, second, third, fourth = of.quarter
    inside = _quarters(of)
    for quarter, following in zip(of.quarter, n.quarter[1:], strict=False):
        t.transition(following - quarter, "quarters follow each other")
    t.transition(n.quarter[0] * (1 - n.begin) - fourth * (1 - of.last), "blocks of a segment follow each other")
    t.transition(n.whole - fourth * of.last * of.root, "a row ends after its last block")
    t.transition(n.inner - fourth * of.last * (1 - of.root), "another segment ends after its last block")
    t.last_row(inside, "the table ends after a segment")
    kinds = [getattr(of, name) for name in _KINDS]
    t.every_row((inside + of.inner + of.whole) * (linear([(1, kind) for kind in kinds]) - 1), "a segment has one kind")
    for name in (*_KINDS, "counter", "base"):
        t.transition(inside * (getattr(n, name) - getattr(of, name)), "the rows of a segment have one kind")
    t.transition(inside * (n.number - of.number) - fourth * (1 - of.last), "calls have consecutive numbers")
    address, *others = of.at
    t.every_row(first * of.begin * (address - of.base), "the first word is at the base")
    t.transition(inside * (n.at[0] - address - STRIDE * WORDS), "addresses follow each other")
    for i, other in enumerate(others):
        t.every_row(inside * (other - address - i - 1), "addresses of a row")
    for name in ("last", "root"):
        same = first + second + third
        t.transition(same * (getattr(n, name) - getattr(of, name)), "the quarters of a block agree")
    t.transition((inside - fourth * (1 - of.last)) * (_absent(n) - _absent(of)), "a block and its end have one length")


def _blocks(t: TableBuilder, of: SegmentRow, n: SegmentRow) -> None:
    inside = _quarters(of)
    t.every_row(inside * of.root * (1 - of.last), "a row ends with a last block")
    t.every_row(inside * (1 - of.last) * _absent(of), "only a segment's last block can be short")
    t.every_row(inside * of.parent * (1 - of.last), "a parent has one block")
    t.every_row(inside * of.parent * _absent(of), "a parent is not short")
    t.every_row(inside * of.parent * of.counter, "a parent has the counter 0")


def _sums(t: TableBuilder, of: SegmentRow, n: SegmentRow) -> None:
    inside, ends = _quarters(of), of.inner + of.whole
    for point in range(POINTS):
        for k in range(EXTENSION_DEGREE):
            total, next_total = of.sum[point][k], n.sum[point][k]
            t.every_row(of.quarter[0] * of.begin * of.weighted * (total - _product(of, point, k)), "a sum begins")
            following = _quarters(n) * _product(n, point, k)
            t.transition(inside * of.weighted * (next_total - total - following), "a sum goes on")
            t.every_row(ends * (1 - of.weighted) * total, "only weighted words have sums")


def _memory(t: TableBuilder, of: SegmentRow) -> None:
    inside, numbers = _quarters(of), _numbers(of)
    for i, (first, second) in enumerate(of.weight):
        low, high = numbers[2 * i : 2 * i + 2]
        for coordinate, value in zip(first, (low + (1 << 32) * high, 0, 0), strict=True):
            t.every_row(inside * of.read * (coordinate - value), "a word that is read")
        for coordinate, value in zip(second, (low, high, 0), strict=True):
            t.every_row(inside * of.split * (coordinate - value), "a word that is split")


def _parents(t: TableBuilder, of: SegmentRow, n: SegmentRow) -> None:
    inside, ends = _quarters(of), of.inner + of.whole
    for cell, following in zip((*of.place, *of.span), (*n.place, *n.span), strict=True):
        t.transition(inside * of.parent * (following - cell), "the rows of a parent have one place and span")
    for cell, value in zip(of.span, (of.counter, 1, 0), strict=True):
        t.every_row(ends * (1 - of.parent) * (cell - value), "the span of a chunk")
    t.every_row(of.whole * of.span[0], "a row begins with chunk 0")


def lookups_of_words(t: TableBuilder) -> list[Expr]:
    """Return how often a row looks up each of its weights, by word and point."""
    of = part_of(t)
    inside = _quarters(of)
    return [inside * (of.weighted + of.read), inside * (of.weighted + of.split)] * WORDS


def segment_messages(t: TableBuilder) -> Slots:
    """Return the messages of a row with a part of a segment."""
    of, n = part_of(t), part_of(t.next)
    first, _, third, _ = of.quarter
    ends = of.inner + of.whole
    flags = linear([(CHUNK_START, of.begin), (CHUNK_END, of.last), (ROOT, of.root)])
    flags = flags + (PARENT - CHUNK_START - CHUNK_END) * of.parent  # whose only block is the first and the last
    length = BLOCK_BYTES - _WORD_BYTES * _absent(of)
    numbers = _numbers(of) + _numbers(n)
    start, left, right = of.span
    end = of.at[0] - STRIDE * _absent(of)
    kind = READ * of.read + SPLIT * of.split
    sums = [total for of_point in of.sum for total in of_point]
    return Slots(
        answers=(
            SlotMessage(
                first, -1, message(MessageTag.PART, of.number, 1 - of.begin, of.counter, 0, length, flags, *numbers)
            ),
            SlotMessage(third, -1, message(MessageTag.REST, of.number, *numbers)),
            SlotMessage(ends, -1, message(MessageTag.DIGEST, of.number, *of.digest)),
        ),
        asks=(
            SlotMessage(first, -of.parent, message(MessageTag.VALUE, *of.place, start, left, *numbers)),
            SlotMessage(third, -of.parent, message(MessageTag.VALUE, *of.place, start + left, right, *numbers)),
            SlotMessage(of.whole, 1, message(MessageTag.PLACE, *of.place, *of.digest)),
            SlotMessage(of.inner, 1, message(MessageTag.VALUE, *of.place, start, left + right, *of.digest)),
        ),
        first=(
            SlotMessage(ends, 1 - of.parent, message(MessageTag.ROW, *of.place, kind, of.counter, of.base, end, *sums)),
        ),
    )


def _quarters(of: SegmentRow) -> Expr:
    """Return whether a row has a quarter of a block."""
    found: Expr = of.quarter[0] + of.quarter[1] + of.quarter[2] + of.quarter[3]
    return found


def _absent(of: SegmentRow) -> Expr:
    return linear([(1 << i, bit) for i, bit in enumerate(of.absent)])


def _numbers(of: SegmentRow) -> list[Expr]:
    """Return the words of 32 bits of a row: the lower and the upper one of each word."""
    return [low + (1 << 16) * high for low, high in zip(of.half[::2], of.half[1::2], strict=True)]


def _product(of: SegmentRow, point: int, k: int) -> Expr:
    """Return a coordinate of the sum of a row's words times their weights."""
    terms: Sequence[Expr] = [
        weight[point][k] * linear([(1 << 16 * i, half) for i, half in enumerate(of.half[4 * word : 4 * word + 4])])
        for word, weight in enumerate(of.weight)
    ]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


COLUMNS = part_of(NUMBERS)
