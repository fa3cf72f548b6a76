"""The data of a run of the verifier's program that are not in its head: a proof's rows, digests and gates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.field import EXTENSION_DEGREE, ZERO, Ext, P, ext_add, ext_mul
from graphprover.protocol import arrays
from graphprover.protocol.blake3 import CHUNK_WORDS
from graphprover.protocol.constraints import join_coordinates, words_to_array
from graphprover.protocol.layout import PERMUTATION, QUOTIENT, Layout
from graphprover.protocol.proof import BatchProof, opened_values
from graphprover.protocol.verification import Challenges
from graphprover.recursion.head.fields import CHALLENGES, ELEMENT_CELLS, HEAD_PLACE, SHIFT, TRANSCRIPT_TREE
from graphprover.recursion.head.head import Head
from graphprover.recursion.head.messages import messages_of
from graphprover.recursion.head.placed import evaluate
from graphprover.recursion.head.plan import opened_counts
from graphprover.recursion.openings import OpenedRows, Openings
from graphprover.recursion.program.parts import READ, SPLIT
from graphprover.recursion.program.run import Contradiction, Rows, Run


@dataclass(frozen=True, eq=False)
class RunData:
    """The rows, digests and cells of a run."""

    rows: tuple[OpenedRows, ...]  # of the proof, then of the transcript, then the head
    digests: Mapping[Ext, Sequence[int]]  # of the transcript and of caps, by their places: 8 words each
    cells: Mapping[int, Ext]  # by address: results of gates and cells that mean nothing


def run_data(
    layout: Layout,
    head: Head,
    proof: BatchProof,
    public_values: Sequence[Sequence[int]],
    challenges: Challenges,
    openings: Openings,
) -> RunData:
    """Return the data of a run.

    Args:
        layout: Shape of the proof.
        head: The head of the proof's statement.
        proof: The proof.
        public_values: Public values of each table.
        challenges: The challenges of its transcript.
        openings: Its openings.
    """
    messages, digests = messages_of(layout, head.constants, proof)
    places: list[Ext] = [(TRANSCRIPT_TREE, 0, i) for i in range(len(messages))]
    rows = [*openings.rows, *(_row(place, words) for place, words in zip(places, messages, strict=True))]
    numbers = dict(zip(places, (np.frombuffer(digest, dtype="<u4").tolist() for digest in digests), strict=True))
    for place, digest in zip(openings.caps.places.tolist(), openings.caps.digests.tolist(), strict=True):
        numbers[tuple(place)] = digest
    cells = {int(address): ZERO for address in head.plan.zeros + head.at}
    cells |= _gates(layout, head, proof, public_values, challenges)
    return RunData((*rows, _row(HEAD_PLACE, head.words)), numbers, cells)


def _row(place: Ext, words: np.ndarray) -> OpenedRows:
    tree, layer, index = place
    return OpenedRows(tree, layer, np.array([index], dtype=np.uint64), words[None], None)


def _gates(
    layout: Layout,
    head: Head,
    proof: BatchProof,
    public_values: Sequence[Sequence[int]],
    challenges: Challenges,
) -> dict[int, Ext]:
    """Return the results of gates, and the cells that a prover fills, by their addresses."""
    plan, of = head.plan, head.gates
    memory = np.zeros((EXTENSION_DEGREE, plan.cells), dtype=np.uint64)
    opened = words_to_array(opened_values(layout, proof.openings))
    terminals = arrays.exts([terminal for terminal in proof.terminals if terminal is not None])
    for at, values in ((plan.opened, opened), (plan.permutation.at + SHIFT * plan.permutation.elements, terminals)):
        memory[:, at + 1 + ELEMENT_CELLS * np.arange(values.shape[1])] = values
    counts, first = opened_counts(layout), 0
    for name, count in counts.items():
        if name in (QUOTIENT, PERMUTATION):
            joined = join_coordinates(opened[:, first : first + count])
            at = plan.joins[name == PERMUTATION]
            memory[:, at : at + joined.shape[1]] = joined
        first += count
    sums = _sums(opened, challenges.gamma)
    memory[:, plan.sums : plan.sums + sums.shape[1]] = sums
    stated = [value for of_table in public_values for value in of_table]
    memory[0, plan.public_values + SHIFT * np.arange(len(stated))] = stated
    of_names = [getattr(challenges, name) for name in CHALLENGES]
    memory[:, plan.challenges : plan.challenges + len(CHALLENGES)] = arrays.exts(of_names)
    values = evaluate(of, memory[:, of.addresses[: of.cells] - head.at])
    own = slice(of.cells + len(of.literals), None)
    results: list[Ext] = [(a, b, c) for a, b, c in values[:, own].T.tolist()]
    return dict(zip(of.addresses[own].tolist(), results, strict=True))


def _sums(opened: np.ndarray, gamma: Ext) -> np.ndarray:
    """Return the sum of each opened value and gamma times the sum after it, and 0 at the end: uint64 (3, n + 1)."""
    total, sums = ZERO, [ZERO]
    for a, b, c in opened.T[::-1].tolist():
        total = ext_add(ext_mul(total, gamma), (a, b, c))
        sums.append(total)
    return arrays.exts(sums[::-1])


def answers(rows: Sequence[OpenedRows]) -> Rows:
    """Return the function that gives a run the sums of weighted rows, and puts words of other rows into memory."""
    words = {tuple(place): own for of in rows for place, own in zip(of.places.tolist(), of.words.tolist(), strict=True)}
    known: dict[tuple[Ext, int], tuple[Ext, Ext]] = {}  # by place and counter: both runs have the same weights

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
        if (place, counter) not in known:
            first, second = (_sum([run[base + SHIFT * i + point] for i in range(len(own))], own) for point in range(2))
            known[place, counter] = first, second
        return known[place, counter]

    return answer


def _sum(weights: Sequence[Ext], words: Sequence[int]) -> Ext:
    a, b, c = (sum(weight[k] * word for weight, word in zip(weights, words, strict=True)) % P for k in range(3))
    return a, b, c
