"""The data of a run of the verifier's program that are not in its head: a proof's rows, digests and gates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.field import EXTENSION_DEGREE, Ext
from graphprover.protocol import arrays
from graphprover.protocol.constraints import join_coordinates, words_to_array
from graphprover.protocol.layout import PERMUTATION, QUOTIENT, Layout
from graphprover.protocol.proof import BatchProof, opened_values
from graphprover.protocol.verification import Challenges
from graphprover.recursion.head.fields import CHALLENGES, ELEMENT_CELLS, HEAD_PLACE, SHIFT, TRANSCRIPT_TREE
from graphprover.recursion.head.head import Head
from graphprover.recursion.head.messages import messages_of
from graphprover.recursion.head.placed import evaluate
from graphprover.recursion.head.plan import opened_counts
from graphprover.recursion.kernels.cpu.chain import chain_sums
from graphprover.recursion.openings import OpenedRows, Openings


@dataclass(frozen=True, eq=False)
class RunData:
    """The rows, digests and cells of a run."""

    rows: tuple[OpenedRows, ...]  # of the proof, then of the transcript, then the head
    places: np.ndarray  # of digests of the transcript and of caps: uint64 (digests, 3)
    digests: np.ndarray  # uint32 (digests, 8)
    addresses: np.ndarray  # of results of gates and of cells that mean nothing: int64 (cells,)
    values: np.ndarray  # of these cells, uint64 (cells, 3)


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
    places = np.array([(TRANSCRIPT_TREE, 0, i) for i in range(len(messages))], dtype=np.uint64)
    tree, layer, index = HEAD_PLACE
    of_head = OpenedRows(tree, layer, np.array([index], dtype=np.uint64), head.words[None], None)
    zeros = head.plan.zeros + head.at
    addresses, values = _gates(layout, head, proof, public_values, challenges)
    return RunData(
        (*openings.rows, *_rows_of(messages), of_head),
        np.concatenate([places, openings.caps.places]),
        np.concatenate([np.frombuffer(b"".join(digests), dtype="<u4").reshape(-1, 8), openings.caps.digests]),
        np.concatenate([zeros, addresses]),
        np.concatenate([np.zeros((len(zeros), EXTENSION_DEGREE), dtype=np.uint64), values]),
    )


def _rows_of(messages: Sequence[np.ndarray]) -> list[OpenedRows]:
    """Return the messages of a transcript as rows, by their lengths: the fewer groups, the less time they take."""
    numbers: dict[int, list[int]] = {}
    for number, message in enumerate(messages):
        numbers.setdefault(len(message), []).append(number)
    return [
        OpenedRows(TRANSCRIPT_TREE, 0, np.array(own, dtype=np.uint64), np.stack([messages[i] for i in own]), None)
        for own in numbers.values()
    ]


def _gates(
    layout: Layout,
    head: Head,
    proof: BatchProof,
    public_values: Sequence[Sequence[int]],
    challenges: Challenges,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the addresses of the results of gates, int64 (n,), and the results, uint64 (n, 3)."""
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
    return of.addresses[own].astype(np.int64), values[:, own].T


def _sums(opened: np.ndarray, gamma: Ext) -> np.ndarray:
    """Return the sum of each opened value and gamma times the sum after it, and 0 at the end: uint64 (3, n + 1)."""
    sums = np.zeros((EXTENSION_DEGREE, opened.shape[1] + 1), dtype=np.uint64)
    chain_sums(np.ascontiguousarray(opened), np.array(gamma, dtype=np.uint64), sums)
    return sums
