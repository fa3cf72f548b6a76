"""The queries in the verifier's program: sums of rows, quotients, folds and the final polynomial at each query."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.field import EXTENSION_DEGREE, GENERATOR, P, inv, root_of_unity
from graphprover.recursion.head.words import (
    BITS,
    ELEMENT_CELLS,
    ENTRY,
    HEIGHT_CELLS,
    SHIFT,
    SPAN_CELLS,
    UNROLLED,
    FoldWord,
    HeadWord,
    HeightWord,
    MessageWord,
)
from graphprover.recursion.program.assembler import FrameCell, Routine
from graphprover.recursion.program.parts import VerifierParts, argument, make_elements, record, words
from graphprover.recursion.program.transcript import bits_of
from graphprover.recursion.tables.segments import READ, WEIGHTED, padded

_ARITIES = (1, 2, 3)  # log2 of the arities of folds


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a query's frame that functions and loops read by the frame's address.

    A *drop* d is a number of low bits of the query's row: all lists but the last two are by drop.
    """

    bits: Sequence[FrameCell]
    rows: Sequence[FrameCell]  # the row without its lowest d bits
    squares: Sequence[FrameCell]  # the point of that row, without the shift of the coset
    inverses: Sequence[FrameCell]  # of these points
    reduced: Sequence[FrameCell]  # by number of the height's record: the batched quotient there; 0 for the number 0
    values: Sequence[FrameCell]  # by number of the fold: the value before it


def queries(parts: VerifierParts) -> Routine:
    """Return the function that checks all queries; it takes the head's address and the one of the first sample."""
    query = _query(parts)
    f = parts.program.function("queries", arguments=2)
    head, _ = f.arguments

    def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        head, samples = cells
        g.call(query, [head, g.load(samples)])
        return head, g.linear(1, samples, 2)

    (count,) = words(f, head, HeadWord.QUERIES)
    f.loop(count, f.arguments, turn)
    f.give_back([])
    return f


def _query(parts: VerifierParts) -> Routine:
    f = parts.program.function("query", arguments=2)
    own = _Cells(*(f.reserve(cells) for cells in (BITS, BITS + 1, BITS + 1, BITS + 1, 2 * BITS + 1, BITS + 1)))
    folds = {log_arity: _fold(parts, own, log_arity) for log_arity in _ARITIES}
    _locate(f, parts, own)
    _reduce(f, parts, own)
    last = _fold_all(f, own, folds)
    drop, at, turns = words(f, argument(f, 0), HeadWord.FINAL_DROP, HeadWord.COEFFICIENTS_AT, HeadWord.COEFFICIENTS)
    x = f.load(f.add(f.home, drop), own.squares[0].place)

    def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        at, total, x, last = cells
        for i in range(UNROLLED):
            total = g.multiply_add(total, x, g.load(at, -ELEMENT_CELLS * i))
        return g.linear(1, at, -ELEMENT_CELLS * UNROLLED), total, x, last

    _, total, _, last = f.loop(turns, [at, f.constant(0), x, last], turn)
    f.require_equal(total, f.load(last, own.values[0].place))
    f.give_back([])
    return f


def _locate(f: Routine, parts: VerifierParts, own: _Cells) -> None:
    """Find the bits of a row, and its points.

    The row has as many bits as the head says. Its instructions begin at the highest one, with row 0 and point 1 above.
    """
    head, number = f.arguments
    bits_of(f, number, own.bits)
    bits, entry = words(f, head, HeadWord.BITS, HeadWord.ENTRY)
    points = f.reserve(BITS + 1)
    one, above = f.constant(1), f.add(f.home, bits)
    f.store(above, own.rows[0].place, f.constant(0))
    f.store(above, points[0].place, one)
    f.go(entry, *parts.fixed(f, parts.x))
    f.mark(ENTRY)
    for k in reversed(range(BITS)):
        f.add(own.rows[k + 1], own.bits[k], k=2, to=own.rows[k])
        f.multiply(points[k + 1], f.linear(root_of_unity(k + 1) - 1, own.bits[k], 1), to=points[k])
    f.linear(1, points[0], to=own.squares[0])
    f.require_equal(f.divide(one, points[0]), own.inverses[0])
    for cells in (own.squares, own.inverses):
        for k in range(BITS):
            f.multiply(cells[k], cells[k], to=cells[k + 1])


def _reduce(f: Routine, parts: VerifierParts, own: _Cells) -> None:
    """Find the batched quotient of each height."""
    zero = f.constant(0)
    f.require_equal(zero, own.reduced[0])
    turns, at, spans_at = words(f, f.arguments[0], HeadWord.HEIGHTS, HeadWord.HEIGHTS_TO, HeadWord.SPANS_AT)

    def height(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        pointer, spans_at, slot = cells
        (x2,) = parts.fixed(g, parts.x2)
        at_row = g.add(g.home, g.load(pointer, HeightWord.DROP))
        index = g.multiply(g.load(at_row, own.rows[0].place), x2)
        zero = g.constant(0)

        def span(h: Routine, inner: Sequence[FrameCell]) -> Sequence[FrameCell]:
            spans_at, first, second, index, pointer, slot = inner
            place = h.add(h.load(spans_at), index)
            sums = h.row(place, WEIGHTED, h.load(spans_at, SPAN_CELLS // 2))
            totals = (h.add(a, b) for a, b in zip((first, second), sums, strict=True))
            return h.linear(1, spans_at, SPAN_CELLS), *totals, index, pointer, slot

        carried = [spans_at, zero, zero, index, pointer, slot]
        spans_at, first, second, _, pointer, slot = g.loop(g.load(pointer, HeightWord.SPANS), carried, span)
        at_row = g.add(g.home, g.load(pointer, HeightWord.DROP))
        x = g.linear(GENERATOR, g.load(at_row, own.squares[0].place))
        points = (HeightWord.AT_ZETA, HeightWord.ZETA, first), (HeightWord.AT_NEXT, HeightWord.NEXT, second)
        at_zeta, at_next = (
            g.divide(g.subtract(g.load(pointer, at_z), at_x), g.subtract(g.load(pointer, z), x))
            for at_z, z, at_x in points
        )
        before = g.multiply(g.load(pointer, HeightWord.MORE), g.load(slot, own.reduced[0].place))
        g.store(slot, own.reduced[1].place, g.add(before, g.add(at_zeta, at_next)))
        return g.linear(1, pointer, HEIGHT_CELLS), spans_at, g.linear(1, slot, 1)

    f.loop(turns, [at, spans_at, f.home], height)


def _fold_all(f: Routine, own: _Cells, folds: dict[int, Routine]) -> FrameCell:
    """Find the value after each fold; return the frame's address plus the number of folds."""
    tallest, turns, pointer = words(f, argument(f, 0), HeadWord.TALLEST, HeadWord.FOLDS, HeadWord.FOLDS_AT)
    f.store(f.home, own.values[0].place, f.load(f.add(f.home, tallest), own.reduced[0].place))

    def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        pointer, slot = cells
        for log_arity, fold in folds.items():
            with g.unless_zero(g.load(pointer, SHIFT * (FoldWord.OF_1 + log_arity - 1))):
                g.call(fold, [pointer, slot, g.home])
        return g.linear(1, pointer, SHIFT * len([*MessageWord, *FoldWord])), g.linear(1, slot, 1)

    _, slot = f.loop(turns, [pointer, f.home], turn)
    return slot


def _fold(parts: VerifierParts, own: _Cells, log_arity: int) -> Routine:
    """Return the function of a fold of 2^log_arity elements, whose frame begins with the words of the group.

    It takes the address of the fold's record, the query's frame plus the number of the fold, and the query's frame.
    """
    size, group_words = 1 << log_arity, EXTENSION_DEGREE << log_arity
    f = parts.program.function(f"fold by {size}", arguments=3, data=SHIFT * padded(group_words))
    pointer, slot, query = f.arguments
    x, x2, both = parts.fixed(f, parts.x, parts.x2, parts.both)
    shift, place, beta, joining = record(f, pointer, [FoldWord.SHIFT, FoldWord.PLACE, FoldWord.BETA, FoldWord.JOINING])
    at = f.add(shift, query)
    row, group = f.load(at, own.rows[0].place), f.load(at, own.rows[log_arity].place)
    f.require_base(f.home)
    span = f.multiply_add(f.home, both, f.linear(SHIFT * group_words, x2))
    f.row(f.multiply_add(group, x2, f.load(place)), READ, span)
    make_elements(f, x, size)
    queried = f.add(group, row, k=-size)
    f.store(f.add(queried, f.home, k=ELEMENT_CELLS), 1, f.load(slot, own.values[0].place))
    inverse = f.load(at, own.inverses[0].place)  # of the queried element's point: now of the first one's
    for k in range(log_arity):
        bit = f.load(at, own.bits[k].place)
        inverse = f.multiply(inverse, f.linear(root_of_unity(k + 1) - 1, bit, 1))
    elements = [f.data[ELEMENT_CELLS * i + 1] for i in range(size)]
    for step in range(log_arity):
        factor = f.multiply(inverse, f.load(beta, step))
        elements = _halved(f, elements, factor)
        inverse = f.multiply(inverse, inverse)
    joined = f.load(f.add(joining, query), own.reduced[0].place)
    folded = f.linear(inv(size), elements[0])
    f.store(slot, own.values[1].place, f.multiply_add(joined, f.load(beta, log_arity), folded))
    f.give_back([])
    return f


def _halved(f: Routine, elements: Sequence[FrameCell], factor: FrameCell) -> list[FrameCell]:
    """Return twice the values at beta of lines through pairs, as `graphprover.protocol.verification.fold_groups`."""
    following, log_size = [], len(elements).bit_length() - 1
    for i, (low, high) in enumerate(zip(elements[::2], elements[1::2], strict=True)):
        reversed_ = int(f"{i:0{max(log_size - 1, 1)}b}"[::-1], 2)
        own = f.linear(inv(pow(root_of_unity(log_size), reversed_, P)), factor) if i else factor
        following.append(f.multiply_add(f.subtract(low, high), own, f.add(low, high)))
    return following
