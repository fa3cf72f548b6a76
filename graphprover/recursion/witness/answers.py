"""Runs of the verifier's program in Python, with a proof's data."""

from collections.abc import Sequence

from graphprover.field import ZERO, Ext, P
from graphprover.protocol.blake3 import CHUNK_WORDS
from graphprover.recursion.head.fields import SHIFT
from graphprover.recursion.openings import OpenedRows
from graphprover.recursion.program.assembler import Linked
from graphprover.recursion.program.run import Contradiction, Rows, Run, Trace, run
from graphprover.recursion.tables.segments import READ, SPLIT
from graphprover.recursion.witness.run_data import RunData


def run_by_python(linked: Linked, data: RunData) -> Trace:
    """Run a program with its data; raises as ``graphprover.recursion.program.run.run``."""
    cells: dict[int, Ext] = dict(zip(data.addresses.tolist(), map(tuple, data.values.tolist()), strict=True))
    digests: dict[Ext, list[int]] = dict(zip(map(tuple, data.places.tolist()), data.digests.tolist(), strict=True))
    return run(linked, cells, answers(data.rows), digests)


def answers(rows: Sequence[OpenedRows]) -> Rows:
    """Return the function that gives a run the sums of weighted rows, and puts words of other rows into memory."""
    words = {tuple(place): own for of in rows for place, own in zip(of.places.tolist(), of.words.tolist(), strict=True)}
    known: dict[tuple[Ext, Ext], tuple[Ext, Ext]] = {}  # by place and span: both runs have the same weights there

    def answer(run: Run, place: Ext, kind: int, span: Ext) -> tuple[Ext, Ext]:
        counter, base, end = span
        own = words.get(place, [])[CHUNK_WORDS * counter : CHUNK_WORDS * (counter + 1)]
        if not own or end != base + SHIFT * len(own):
            raise Contradiction(f"no chunk of {(end - base) // SHIFT} words at {place}")
        if kind == READ:
            for i, word in enumerate(own):
                run.put(base + SHIFT * i, (word % P, 0, 0))
            return ZERO, ZERO
        if kind == SPLIT:
            for i, word in enumerate(own):
                run.put(base + SHIFT * i + 1, (word & 0xFFFFFFFF, word >> 32, 0))
            return ZERO, ZERO
        if (place, span) not in known:
            first, second = (_sum([run[base + SHIFT * i + point] for i in range(len(own))], own) for point in range(2))
            known[place, span] = first, second
        return known[place, span]

    return answer


def _sum(weights: Sequence[Ext], words: Sequence[int]) -> Ext:
    a, b, c = (sum(weight[k] * word for weight, word in zip(weights, words, strict=True)) % P for k in range(3))
    return a, b, c
