"""The verifier of a proof as a program, for proofs of any layout.

Everything that depends on the layout and on the statement is in the head (`graphprover.recursion.head`), whose digest a
public value of the recursion's statement is. The program reads the head, replays the transcript, checks all gates at
the out-of-domain point, and all queries. Its other data are free for the prover: rows and digests are bound by hashes.
"""

from functools import lru_cache

from graphprover.recursion.head.fields import HEAD, Field
from graphprover.recursion.program import reading
from graphprover.recursion.program.assembler import Linked, Program
from graphprover.recursion.program.parts import Parts, words
from graphprover.recursion.program.queries import queries
from graphprover.recursion.program.transcript import transcript
from graphprover.recursion.tables.steps import FIRST_FRAME

_ELEMENTS = (
    (Field.OPENED_AT, Field.OPENED),
    (Field.TERMINALS_AT, Field.TERMINALS),
    (Field.POLYNOMIAL_AT, Field.POLYNOMIAL),
)
_JOINS = (
    (Field.QUOTIENT_JOINS_AT, Field.QUOTIENT_JOINS_TO, Field.QUOTIENT_JOINS),
    (Field.PERMUTATION_JOINS_AT, Field.PERMUTATION_JOINS_TO, Field.PERMUTATION_JOINS),
)


@lru_cache(maxsize=1)
def verifier_program() -> Linked:
    """Return the verifier's program."""
    program = Program()
    f = program.function("main")
    x = f.unit()
    x2 = f.multiply(x, x)
    both = f.add(x, x2)
    parts = Parts(program, FIRST_FRAME + x.place, FIRST_FRAME + x2.place, FIRST_FRAME + both.place)
    elements, join = reading.elements(parts), reading.join(parts)
    f.call(reading.read_head(parts), [])
    f.call(reading.copy(parts), [])
    f.call(elements, words(f, Field.PACKS_AT, Field.PACKS))
    (samples,) = f.call(transcript(parts), [])
    for fields in _ELEMENTS:
        f.call(elements, words(f, *fields))
    for fields_of_join in _JOINS:
        f.call(join, words(f, *fields_of_join))
    for make in (
        reading.chain,
        reading.take_gates,
        reading.require_zeros,
        reading.fill,
        reading.provide_caps,
        reading.gather_heights,
    ):
        f.call(make(parts), [])
    f.call(queries(parts), [samples])
    f.halt()
    size = FIRST_FRAME + f.size
    if size > HEAD:
        raise AssertionError(f"the first frame ends at {size}, the head begins at {HEAD}")
    return program.link(f)
