"""The program that checks a proof's words: opened values belong to the committed columns, which have low degree.

These are the steps of `graphprover.protocol.verification` after the transcript and the constraints: sums of opened
rows, quotients, folds and the final polynomial, at every query. The program is for one layout: heights, trees and folds
are constants of it, and queries are turns of a loop. Its inputs are the challenges, the opened values, the final
polynomial, the caps and the queries.

All arrays are in the frame of the first function, whose addresses are constants; turns of the loop load from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from graphprover.field import EXTENSION_DEGREE, GENERATOR, P, inv, root_of_unity
from graphprover.protocol.blake3 import CHUNK_WORDS
from graphprover.protocol.layout import Layout
from graphprover.protocol.verification import batches_of
from graphprover.recursion.openings import TreePlaces, places_of_tree
from graphprover.recursion.program.assembler import FIRST_ARGUMENT, Cell, Function, Hint, Linked, Program
from graphprover.recursion.tables.core import FIRST_FRAME
from graphprover.recursion.tables.row import STRIDE
from graphprover.recursion.witness.hashed_rows import padded

FIRST_INPUT = FIRST_FRAME + FIRST_ARGUMENT  # the address of the first argument
DIGEST_CELLS = 3  # for the eight words of a digest


@dataclass(frozen=True, eq=False)
class _Inputs:
    """The arguments of the first function, in their order."""

    zeta: Cell
    gamma: Cell
    betas: Sequence[Cell]
    opened: Sequence[Cell]  # as `Batches.opened`
    polynomial: Sequence[Cell]
    caps: Sequence[Cell]  # three of each digest, tree by tree
    queries: Sequence[Cell]


@dataclass(frozen=True, eq=False)
class _Group:
    """The opened rows of one height of a round."""

    place: Cell  # tree and layer of the rows' digests, and the index of row 0
    spans: Sequence[Cell]  # counter, first address and end address of each chunk


@dataclass(eq=False)
class _Known:
    """The cells of the first function's frame that turns load."""

    x: Cell  # the root that generates the extension
    x2: Cell
    both: Cell  # x + x^2
    groups: dict[int, list[_Group]] = field(default_factory=dict)  # by log2 of the rows
    at_z: dict[int, list[Cell]] = field(default_factory=dict)  # sums of opened values, by point
    points: dict[int, list[Cell]] = field(default_factory=dict)  # opening points
    beta_powers: list[list[Cell]] = field(default_factory=list)  # beta^(2^i) of each fold, i up to its arity
    fold_places: list[Cell] = field(default_factory=list)  # tree and layer of each fold's groups
    fold_tails: list[Cell] = field(default_factory=list)  # x^2 times the addresses of a group's words


def words_program(layout: Layout) -> Linked:
    """Return the program for the proofs of a layout.

    Raises:
        ValueError: A group of a fold has more words than a chunk of BLAKE3.
    """
    if EXTENSION_DEGREE << max(layout.fold_log_arities, default=0) > CHUNK_WORDS:
        raise ValueError(f"a group of 2^{max(layout.fold_log_arities)} elements has more than {CHUNK_WORDS} words")
    program, queries = Program(), layout.parameters.num_queries
    batches, folds = batches_of(layout), len(layout.fold_log_arities)
    trees = _trees(layout)
    digests = [1 << layout.cap_log_size(max(tree.rows)) for tree in trees]
    sizes = folds, len(batches.opened), 1 << layout.parameters.log_final_poly_len, DIGEST_CELLS * sum(digests), queries
    f = program.function("main", arguments=2 + sum(sizes))
    given = iter(f.arguments)
    zeta, gamma = next(given), next(given)
    inputs = _Inputs(zeta, gamma, *([next(given) for _ in range(size)] for size in sizes))
    read_cells = sum(STRIDE * padded(EXTENSION_DEGREE << log_arity) for log_arity in layout.fold_log_arities)
    read = f.reserve(read_cells * queries)
    x = f.unit()
    x2 = f.multiply(x, x)
    known = _Known(x, x2, f.add(x, x2))
    _provide_caps(f, known, inputs, trees, digests)
    _put_weights(f, layout, known, inputs, trees)
    _put_folds(f, layout, known, inputs, trees[len(layout.rounds) :])
    carried = [f.constant(address_of(inputs.queries[0])), f.constant(address_of(read[0]) if read else 0)]

    def turn(g: Function, cells: Sequence[Cell]) -> Sequence[Cell]:
        _query(g, layout, known, inputs, *cells)
        return g.linear(1, cells[0], 1), g.linear(1, cells[1], read_cells)

    f.loop(f.constant(queries), carried, turn)
    f.halt()
    return program.link(f)


def address_of(cell: Cell) -> int:
    """Return the address of a cell of the first function's frame."""
    return FIRST_FRAME + cell.place


def _trees(layout: Layout) -> list[TreePlaces]:
    """Return the places in each tree."""
    heights = [{matrix.log_rows for matrix in round_.matrices} for round_ in layout.rounds]
    heights += [{log_rows} for log_rows in layout.folded_log_heights]
    return [
        places_of_tree(number, max(logs), logs - {max(logs)}, layout.cap_log_size(max(logs)))
        for number, logs in enumerate(heights)
    ]


# The first function.


def _provide_caps(
    f: Function, known: _Known, inputs: _Inputs, trees: Sequence[TreePlaces], digests: Sequence[int]
) -> None:
    cells = iter(inputs.caps)
    for tree, size in zip(trees, digests, strict=True):
        structure, layer = tree.cap
        place = f.linear(layer, known.x, structure)
        for i in range(size):
            f.cap(f.add(known.x2, place, k=i), (next(cells), next(cells), next(cells)))


def _put_weights(f: Function, layout: Layout, known: _Known, inputs: _Inputs, trees: Sequence[TreePlaces]) -> None:
    """Write the weights of all words, and add up the opened values."""
    batches = batches_of(layout)
    powers = [f.constant(1)]
    while len(powers) <= max(int(batches.powers.max()), 1):
        powers.append(f.multiply(powers[-1], inputs.gamma))
    zero, opened = f.constant(0), iter(inputs.opened)
    for log_rows, batch in batches.heights.items():
        known.points[log_rows], known.at_z[log_rows] = [], []
        generator = root_of_unity(log_rows - layout.parameters.log_blowup)
        for scale, of_point in zip((1, generator), batch.powers, strict=False):
            total = zero
            for power in of_point[of_point >= 0].tolist():
                total = f.multiply_add(powers[power], next(opened), total)
            known.at_z[log_rows].append(total)
            known.points[log_rows].append(f.linear(scale, inputs.zeta))
        known.groups[log_rows] = []
        for tree, round_ in zip(trees, layout.rounds, strict=False):  # folds have no weights
            if round_.name not in batch.rounds:
                continue
            own = batch.powers[:, batch.rounds[round_.name]]
            width = own.shape[1]
            cells = f.reserve(STRIDE * padded(width))
            for place, cell in enumerate(cells):
                word, point = divmod(place, STRIDE)
                power = int(own[point, word]) if word < width and point < len(own) else -1
                f.require_equal(powers[power] if power >= 0 else zero, cell)
            structure, layer, first = tree.rows[log_rows]
            known.groups[log_rows].append(
                _Group(
                    f.add(known.x2, f.linear(layer, known.x, structure), k=first),
                    [_span(f, known, i, address_of(cells[0]), width) for i in range(-(-width // CHUNK_WORDS))],
                )
            )


def _span(f: Function, known: _Known, counter: int, base: int, width: int) -> Cell:
    """Return the counter, the first address and the end address of a chunk."""
    first, last = CHUNK_WORDS * counter, min(CHUNK_WORDS * (counter + 1), width)
    begin = f.linear(base + STRIDE * first, known.x, counter)
    return f.add(known.x2, begin, k=base + STRIDE * last)


def _put_folds(f: Function, layout: Layout, known: _Known, inputs: _Inputs, trees: Sequence[TreePlaces]) -> None:
    """Write the powers of challenges, and the places of groups."""
    for number, (log_arity, log_rows) in enumerate(_folds(layout)):
        powers = [inputs.betas[number]]
        for _ in range(log_arity):
            powers.append(f.multiply(powers[-1], powers[-1]))
        known.beta_powers.append(powers)
        structure, layer, _ = trees[number].rows[log_rows]
        known.fold_places.append(f.linear(layer, known.x, structure))
        known.fold_tails.append(f.linear(STRIDE * (EXTENSION_DEGREE << log_arity), known.x2))


def _folds(layout: Layout) -> list[tuple[int, int]]:
    """Return log2 of the arity and of the groups of each fold."""
    return list(zip(layout.fold_log_arities, layout.folded_log_heights, strict=True))


# A turn of the loop: one query.


@dataclass(frozen=True, eq=False)
class _At:
    """A query, with the function that has its turn."""

    g: Function
    known: _Known
    first: Cell  # the address of the first frame
    bits: Sequence[Cell]  # of the row, the lowest first
    rows: Sequence[Cell]  # by l: the highest l bits, which are the row in a codeword of 2^l rows
    points: Sequence[Cell]  # by l: the point of that row, without the shift of the coset
    inverses: Sequence[Cell]  # by l: the inverses of points

    def load(self, cell: Cell) -> Cell:
        """Return a cell of the first frame."""
        return self.g.load(self.first, cell.place)


def _query(g: Function, layout: Layout, known: _Known, inputs: _Inputs, query: Cell, read: Cell) -> None:
    at = _located(g, layout, known, g.load(query))
    reduced = {log_rows: _reduced(at, log_rows, layout.parameters.log_blowup) for log_rows in known.groups}
    value, used = reduced[layout.log_max_rows], 0
    for number, (log_arity, log_rows) in enumerate(_folds(layout)):
        own = g.linear(1, read, used)
        used += STRIDE * padded(EXTENSION_DEGREE << log_arity)
        powers = [at.load(power) for power in known.beta_powers[number]]
        elements = _group(at, number, log_arity, log_rows, own, value)
        value = _folded(at, log_arity, log_rows, elements, powers)
        if log_rows in reduced:
            value = g.multiply_add(reduced[log_rows], powers[-1], value)
    x = at.points[layout.log_max_rows - sum(layout.fold_log_arities)]
    total = at.load(inputs.polynomial[-1])
    for coefficient in reversed(inputs.polynomial[:-1]):
        total = g.multiply_add(total, x, at.load(coefficient))
    g.require_equal(total, value)


def _located(g: Function, layout: Layout, known: _Known, row: Cell) -> _At:
    """Return the bits of a query's row, and the points of all codewords there."""
    size, one, zero = layout.log_max_rows, g.constant(1), g.constant(0)
    rows, bits = [zero], list[Cell]()
    for k in reversed(range(size)):
        bits.insert(0, g.hint(_bit(row, k)))
        g.require_bit(bits[0])
        rows.append(g.add(rows[-1], bits[0], k=2))
    g.require_equal(rows[-1], row)
    point = one
    for k, bit in enumerate(bits):
        point = g.multiply(point, g.linear(root_of_unity(k + 1) - 1, bit, 1))
    points, inverses = [point], [g.divide(one, point)]
    for cells in (points, inverses):
        while len(cells) <= size:
            cells.insert(0, g.multiply(cells[0], cells[0]))
    return _At(g, known, g.constant(FIRST_FRAME), bits, rows, points, inverses)


def _bit(row: Cell, k: int) -> Hint:
    return lambda run: (run[run.frame + row.offset][0] >> k & 1, 0, 0)


def _reduced(at: _At, log_rows: int, log_blowup: int) -> Cell:
    """Return the batched quotient of all openings of a height."""
    g, known = at.g, at.known
    sums = [g.constant(0), g.constant(0)]  # by point
    for group in known.groups[log_rows]:
        place = g.multiply_add(at.rows[log_rows], at.load(known.x2), at.load(group.place))
        for span in group.spans:
            own = g.row(place, 0, at.load(span))
            sums = [g.add(a, b) for a, b in zip(sums, own, strict=True)]
    x, total = g.linear(GENERATOR, at.points[log_rows]), g.constant(0)
    for at_z, point, at_x in zip(known.at_z[log_rows], known.points[log_rows], sums, strict=False):
        quotient = g.divide(g.subtract(at.load(at_z), at_x), g.subtract(at.load(point), x))
        total = g.add(total, quotient)
    if log_rows == log_blowup:  # a table of one row, whose columns are constant
        g.require(total, 0)
    return total


def _group(at: _At, number: int, log_arity: int, log_rows: int, own: Cell, value: Cell) -> list[Cell]:
    """Return the elements of a fold's group, whose words are read to ``own``; the one at the query is the value."""
    g, known = at.g, at.known
    x, x2 = at.load(known.x), at.load(known.x2)
    place = g.multiply_add(at.rows[log_rows], x2, at.load(known.fold_places[number]))
    g.row(place, 1, g.multiply_add(own, at.load(known.both), at.load(known.fold_tails[number])))

    def element(pointer: Cell, first: int) -> Cell:
        words = [g.load(pointer, first + STRIDE * i) for i in range(EXTENSION_DEGREE)]
        return g.multiply_add(words[2], x2, g.multiply_add(words[1], x, words[0]))

    size = STRIDE * EXTENSION_DEGREE
    queried = g.add(at.rows[log_rows], at.rows[log_rows + log_arity], k=-(1 << log_arity))
    g.require_equal(element(g.add(queried, own, k=size), 0), value)
    return [element(own, size * i) for i in range(1 << log_arity)]


def _folded(at: _At, log_arity: int, log_rows: int, elements: Sequence[Cell], betas: Sequence[Cell]) -> Cell:
    """Return the value at beta of the polynomial through a group, as `fold_groups`."""
    g = at.g
    inverse = at.inverses[log_rows + log_arity]  # of the queried element's point: now of the first one's
    shift = len(at.bits) - log_rows - log_arity
    for k in range(log_arity):
        inverse = g.multiply(inverse, g.linear(root_of_unity(k + 1) - 1, at.bits[shift + k], 1))
    for step, log_size in enumerate(range(log_arity, 0, -1)):
        factor, following = g.multiply(inverse, betas[step]), []
        for i, (low, high) in enumerate(zip(elements[::2], elements[1::2], strict=True)):
            reversed_ = int(f"{i:0{max(log_size - 1, 1)}b}"[::-1], 2)
            own = g.linear(inv(pow(root_of_unity(log_size), reversed_, P)), factor)
            following.append(g.multiply_add(g.subtract(low, high), own, g.add(low, high)))
        elements, inverse = following, g.multiply(inverse, inverse)
    return g.linear(inv(1 << log_arity), elements[0])
