"""The verifier of several proofs as a program, for proofs of any layouts.

Everything that depends on the layout and on the statement of a proof is in its head (`graphprover.recursion.head`). A
list has the address and the digest of each head, and the list's digest is a public value of the recursion's statement.
For each proof the program reads the head, replays the transcript, checks all gates at the out-of-domain point, and all
queries. Its other data are free for the prover: rows and digests are bound by hashes.
"""

from collections.abc import Sequence
from functools import lru_cache

from graphprover.recursion.head.words import (
    CHUNK,
    HEAD_TREE,
    LIST,
    LISTED_WORDS,
    SHIFT,
    TRANSCRIPT_TREE,
    HeadWord,
    ListedWord,
    ListWord,
)
from graphprover.recursion.program import reading
from graphprover.recursion.program.assembler import Assembler, FrameCell, Linked, Routine
from graphprover.recursion.program.parts import VerifierParts, digest_words, provided_digest, words
from graphprover.recursion.program.queries import queries
from graphprover.recursion.program.transcript import transcript
from graphprover.recursion.tables.segments import READ
from graphprover.recursion.tables.steps import FIRST_FRAME

_ELEMENTS = (
    (HeadWord.OPENED_AT, HeadWord.OPENED),
    (HeadWord.TERMINALS_AT, HeadWord.TERMINALS),
    (HeadWord.POLYNOMIAL_AT, HeadWord.POLYNOMIAL),
)
_JOINS = (
    (HeadWord.QUOTIENT_JOINS_AT, HeadWord.QUOTIENT_JOINS_TO, HeadWord.QUOTIENT_JOINS),
    (HeadWord.PERMUTATION_JOINS_AT, HeadWord.PERMUTATION_JOINS_TO, HeadWord.PERMUTATION_JOINS),
)


@lru_cache(maxsize=1)
def verifier_program() -> Linked:
    """Return the verifier's program."""
    program = Assembler()
    f = program.function("main")
    x = f.unit()
    x2 = f.multiply(x, x)
    both = f.add(x, x2)
    parts = VerifierParts(program, FIRST_FRAME + x.place, FIRST_FRAME + x2.place, FIRST_FRAME + both.place)
    f.call(_children(parts), [])
    f.halt()
    size = FIRST_FRAME + f.size
    if size > LIST:
        raise AssertionError(f"the first frame ends at {size}, the list of heads begins at {LIST}")
    return program.link(f)


def _children(parts: VerifierParts) -> Routine:
    """Return the function that reads the list of heads, and verifies all proofs.

    The heads and the messages of all transcripts are numbered one after another.
    """
    child = _child(parts)
    f = parts.program.function("children")
    x2, both = parts.fixed(f, parts.x2, parts.both)
    at, place = f.constant(LIST), f.constant(HEAD_TREE)
    f.row(place, READ, f.multiply_add(at, both, f.linear(CHUNK, x2)))

    def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        pointer, place_of_head, place = cells
        (x2,) = parts.fixed(g, parts.x2)
        (following,) = g.call(child, [pointer, place_of_head, place])
        return g.linear(1, pointer, SHIFT * LISTED_WORDS), g.add(place_of_head, x2), following

    first = f.linear(1, at, SHIFT * len(ListWord))
    f.loop(f.load(at, SHIFT * ListWord.CHILDREN), [first, f.add(place, x2), f.constant(TRANSCRIPT_TREE)], turn)
    f.give_back([])
    return f


def _child(parts: VerifierParts) -> Routine:
    """Return the function that verifies a proof.

    It takes the record of its head in the list, the place of the head's digest and the place of the transcript's first
    message, and returns the place after the last message.
    """
    f = parts.program.function("child", arguments=3, results=1)
    pointer, place_of_head, place = f.arguments
    elements, join = reading.elements(parts), reading.join(parts)
    digest_words(f, f.linear(1, pointer, SHIFT * ListedWord.DIGEST), provided_digest(f, parts, place_of_head))
    head = f.load(pointer, SHIFT * ListedWord.AT)
    f.call(reading.read_head(parts), [head, place_of_head])
    copy = reading.copy(parts)
    f.call(copy, words(f, head, HeadWord.COPIES, HeadWord.COPIES_AT))
    f.call(elements, words(f, head, HeadWord.PACKS_AT, HeadWord.PACKS))
    samples, following = f.call(transcript(parts), [head, place])
    f.call(copy, words(f, head, HeadWord.REPEATS, HeadWord.REPEATS_AT))
    for fields in _ELEMENTS:
        f.call(elements, words(f, head, *fields))
    for fields_of_join in _JOINS:
        f.call(join, words(f, head, *fields_of_join))
    f.call(reading.chain(parts), [head])
    f.call(reading.take_gates(parts), [head, place_of_head])
    for make in (reading.require_zeros, reading.fill, reading.provide_caps, reading.gather_heights):
        f.call(make(parts), [head])
    f.call(queries(parts), [head, samples])
    f.give_back([following])
    return f
