"""The parts of the verifier's program that read its head, and compute with opened values and gates.

The names of functions here are the ones of their words in `HeadWord`.
"""

from collections.abc import Sequence
from functools import cache

from graphprover.field import EXTENSION_DEGREE
from graphprover.protocol.blake3 import CHUNK_WORDS
from graphprover.recursion.head.words import (
    CHALLENGES,
    CHUNK,
    COPY_ENTRY,
    ELEMENT_CELLS,
    FILL_ENTRY,
    FRAME_ELEMENTS,
    HEIGHT_CELLS,
    RUN,
    SHIFT,
    UNROLLED,
    CopyWord,
    FillWord,
    HeadWord,
    HeightWord,
)
from graphprover.recursion.program.assembler import FrameCell, Routine
from graphprover.recursion.program.parts import (
    VerifierParts,
    argument,
    digest_words,
    make_elements,
    provided_digest,
    record,
    words,
)
from graphprover.recursion.tables.segments import READ, SPLIT

GATE_KINDS = ((0, 1), (1, 0), (-1, 0))  # k and l of products, sums and differences


def read_head(parts: VerifierParts) -> Routine:
    """Return the function that reads all words of a head but the gates; it takes its address and its place."""
    f = parts.program.function("read the head", arguments=2)
    head, place = f.arguments
    x2, both = parts.fixed(f, parts.x2, parts.both)
    span = f.multiply_add(head, both, f.linear(CHUNK, x2))
    f.row(place, READ, span)
    (turns,) = words(f, head, HeadWord.READ_CHUNKS)
    step = f.linear(CHUNK, both, 1)

    def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        place, span, step = cells
        following = g.add(span, step)
        g.row(place, READ, following)
        return place, following, step

    f.loop(turns, [place, span, step], turn)
    f.give_back([])
    return f


def take_gates(parts: VerifierParts) -> Routine:
    """Return the function that reads all gates and requires them to hold; it takes the head's address and place."""
    kinds = [_gates(parts, number, *constants) for number, constants in enumerate(GATE_KINDS)]
    f = parts.program.function("take gates", arguments=2)
    head, place = f.arguments
    (both,) = parts.fixed(f, parts.both)
    at, span_at = words(f, head, HeadWord.GATES, HeadWord.GATE_SPAN)
    carried: Sequence[FrameCell] = at, f.load(span_at), f.linear(CHUNK, both, 1), place
    for field, kind in zip((HeadWord.PRODUCTS, HeadWord.SUMS, HeadWord.DIFFERENCES), kinds, strict=True):

        def turn(g: Routine, cells: Sequence[FrameCell], kind: Routine = kind) -> Sequence[FrameCell]:
            at, span, step, place = cells
            g.row(place, SPLIT, span)
            g.call_over(kind, at)
            return g.linear(1, at, CHUNK), g.add(span, step), step, place

        (turns,) = words(f, argument(f, 0), field)
        carried = f.loop(turns, carried, turn)
    f.give_back([])
    return f


def _gates(parts: VerifierParts, number: int, k: int, l: int) -> Routine:  # noqa: E741 (as in tables/steps.py)
    """Return the function over a chunk of gates; the result of the first word is the place to return to."""
    f = parts.program.function_over(f"gates {number}", CHUNK, back=0)
    for word in range(1, CHUNK_WORDS):
        f.gate(f.data[SHIFT * word + 1], f.data[SHIFT * word], k, l)
    f.give_back([])
    return f


@cache
def copy(parts: VerifierParts) -> Routine:
    """Return the function that copies words by records; it takes their number and the address of the first one."""
    run = parts.program.function("copy a run", arguments=len(CopyWord))
    end, to, entry = run.arguments
    run.go(entry, *parts.fixed(run, parts.x))
    run.mark(COPY_ENTRY)
    for k in range(RUN, 0, -1):
        run.store(to, -SHIFT * k, run.load(end, -SHIFT * k))
    run.give_back([])
    f = parts.program.function("copy", arguments=2)
    turns, at = f.arguments

    def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        (pointer,) = cells
        g.call(run, record(g, pointer, list(CopyWord)))
        return (g.linear(1, pointer, SHIFT * len(CopyWord)),)

    f.loop(turns, [at], turn)
    f.give_back([])
    return f


def elements(parts: VerifierParts) -> Routine:
    """Return the function that makes elements of three words each; it takes an address and a number of frames.

    Element i is at 6 i + 1 from the address, between its words.
    """
    over = parts.program.function_over("elements of a frame", ELEMENT_CELLS * FRAME_ELEMENTS, back=_BACK)
    make_elements(over, over.data[_X], FRAME_ELEMENTS)
    over.give_back([])
    f = parts.program.function("elements", arguments=2)
    at, frames = f.arguments

    def frame(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        at, x = cells
        g.store(at, _X, x)
        g.call_over(over, at)
        return g.linear(1, at, ELEMENT_CELLS * FRAME_ELEMENTS), x

    f.loop(frames, [at, *parts.fixed(f, parts.x)], frame)
    f.give_back([])
    return f


_X, _BACK = ELEMENT_CELLS - 1, 2 * ELEMENT_CELLS - 1  # cells of a frame of elements that these do not use


def chain(parts: VerifierParts) -> Routine:
    """Return the function that sums opened values by powers of gamma, from the last one on.

    It takes the head's address. Sum i is value i plus gamma times sum i + 1.
    """
    f = parts.program.function("chain", arguments=1)
    (head,) = f.arguments
    at, to, challenges = words(f, head, HeadWord.CHAIN_AT, HeadWord.CHAIN_TO, HeadWord.CHALLENGES_AT)

    def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        at, to, total, gamma = cells
        for i in range(UNROLLED):
            total = g.multiply_add(total, gamma, g.load(at, -ELEMENT_CELLS * i))
            g.store(to, -i, total)
        return g.linear(1, at, -ELEMENT_CELLS * UNROLLED), g.linear(1, to, -UNROLLED), total, gamma

    gamma = f.load(challenges, CHALLENGES.index("gamma"))
    (turns,) = words(f, head, HeadWord.CHAIN)
    f.loop(turns, [at, to, f.constant(0), gamma], turn)
    f.give_back([])
    return f


def join(parts: VerifierParts) -> Routine:
    """Return the function that joins each three opened values; it takes an address, a target and a number of turns."""
    f = parts.program.function("join", arguments=3)
    at, to, turns = f.arguments

    def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        at, to, x = cells
        for i in range(UNROLLED):
            first, second, third = (
                g.load(at, ELEMENT_CELLS * (EXTENSION_DEGREE * i + k)) for k in range(EXTENSION_DEGREE)
            )
            g.store(to, i, g.multiply_add(g.multiply_add(third, x, second), x, first))
        return g.linear(1, at, ELEMENT_CELLS * EXTENSION_DEGREE * UNROLLED), g.linear(1, to, UNROLLED), x

    f.loop(turns, [at, to, *parts.fixed(f, parts.x)], turn)
    f.give_back([])
    return f


def require_zeros(parts: VerifierParts) -> Routine:
    """Return the function that requires cells to be 0; it takes the head's address."""
    f = parts.program.function("zeros", arguments=1)

    def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        (pointer,) = cells
        g.require(g.load(g.load(pointer)), 0)
        return (g.linear(1, pointer, SHIFT),)

    f.loop(*_list(f, HeadWord.ZEROS, HeadWord.ZEROS_AT), turn)
    f.give_back([])
    return f


def fill(parts: VerifierParts) -> Routine:
    """Return the function that writes the weights of all words; it takes the head's address."""
    run = _fill_run(parts)
    f = parts.program.function("fill", arguments=1)
    turns, (pointer,) = _list(f, HeadWord.FILLS, HeadWord.FILLS_AT)
    (challenges,) = words(f, f.arguments[0], HeadWord.CHALLENGES_AT)

    def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        pointer, gamma = cells
        to, columns, entry, first, second = record(g, pointer, list(FillWord))
        g.call(run, [to, columns, entry, g.load(first), g.load(second), gamma])
        return g.linear(1, pointer, SHIFT * len(FillWord)), gamma

    f.loop(turns, [pointer, f.load(challenges, CHALLENGES.index("gamma"))], turn)
    f.give_back([])
    return f


def _fill_run(parts: VerifierParts) -> Routine:
    """Return the function that writes the weights of some columns. Its cells are by the number of columns left."""
    f = parts.program.function("fill a run", arguments=len(FillWord) + 1)
    to, columns, entry, first, second, gamma = f.arguments
    of_points = f.reserve(RUN + 1), f.reserve(RUN + 1)
    begin = f.add(f.home, columns)
    for cells, power in zip(of_points, (first, second), strict=True):
        f.store(begin, cells[0].place, power)
    f.go(entry, *parts.fixed(f, parts.x))
    f.mark(FILL_ENTRY)
    for k in range(RUN, 0, -1):
        for point, cells in enumerate(of_points):
            f.store(to, point - SHIFT * k, cells[k])
            f.multiply(cells[k], gamma, to=cells[k - 1])
    f.give_back([])
    return f


def provide_caps(parts: VerifierParts) -> Routine:
    """Return the function that provides the digest of each tree's root, which the transcript has.

    It takes the head's address.
    """
    f = parts.program.function("provide caps", arguments=1)

    def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        (pointer,) = cells
        at, place = record(g, pointer, range(2))
        digest_words(g, at, provided_digest(g, parts, g.load(place)))
        return (g.linear(1, pointer, SHIFT * 2),)

    f.loop(*_list(f, HeadWord.TREES, HeadWord.TREES_AT), turn)
    f.give_back([])
    return f


def gather_heights(parts: VerifierParts) -> Routine:
    """Return the function that writes the cells of each height; it takes the head's address."""
    f = parts.program.function("gather heights", arguments=1)
    turns, (pointer,) = _list(f, HeadWord.HEIGHTS, HeadWord.HEIGHTS_AT)

    def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        pointer, to = cells
        for number, word in zip(HeightWord, record(g, pointer, list(HeightWord)), strict=True):
            g.store(to, number, word if number <= HeightWord.MORE else g.load(word))
        return g.linear(1, pointer, SHIFT * len(HeightWord)), g.linear(1, to, HEIGHT_CELLS)

    f.loop(turns, [pointer, *words(f, f.arguments[0], HeadWord.HEIGHTS_TO)], turn)
    f.give_back([])
    return f


def _list(f: Routine, number: HeadWord, at: HeadWord) -> tuple[FrameCell, list[FrameCell]]:
    """Return the number of records of a list, and its address as the cells that a loop carries.

    The function takes the head's address alone.
    """
    turns, pointer = words(f, f.arguments[0], number, at)
    return turns, [pointer]
