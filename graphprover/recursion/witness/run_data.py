"""The data of a run of the verifier's program that are not in heads: the rows, digests and gates of proofs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.field import EXTENSION_DEGREE, Ext
from graphprover.protocol import arrays
from graphprover.protocol.constraints import join_coordinates, words_to_array
from graphprover.protocol.layout import PERMUTATION, QUOTIENT
from graphprover.protocol.proof import BatchProof, opened_values
from graphprover.protocol.verification import Challenges
from graphprover.recursion.head.head import ProofHead
from graphprover.recursion.head.heads import Child, Heads
from graphprover.recursion.head.memory_areas import opened_counts, stated_at
from graphprover.recursion.head.messages import messages_of
from graphprover.recursion.head.placed import evaluate
from graphprover.recursion.head.words import CHALLENGES, ELEMENT_CELLS, LIST_PLACE, SHIFT, TRANSCRIPT_TREE
from graphprover.recursion.kernels.cpu.chain import chain_sums
from graphprover.recursion.openings import OpenedRows, Openings
from graphprover.recursion.program.parts import DIGEST_NUMBERS


@dataclass(frozen=True, eq=False)
class RunData:
    """The rows, digests and cells of a run."""

    rows: tuple[OpenedRows, ...]  # of each proof, of its transcript and its head; then the list of heads
    places: np.ndarray  # of digests of heads, of the transcripts and of caps: uint64 (digests, 3)
    digests: np.ndarray  # uint32 (digests, 8)
    addresses: np.ndarray  # of results of gates and of cells that mean nothing: int64 (cells,)
    values: np.ndarray  # of these cells, uint64 (cells, 3)


@dataclass(frozen=True, eq=False)
class OpenedProof:
    """A proof with its openings."""

    child: Child
    proof: BatchProof
    challenges: Challenges  # of its transcript
    openings: Openings


def run_data(heads: Heads, proofs: Sequence[OpenedProof]) -> RunData:
    """Return the data of a run for proofs with these heads."""
    rows: list[OpenedRows] = []
    places, digests, addresses, values = [], [], [], []
    messages_before = 0
    for number, (head, own) in enumerate(zip(heads.heads, proofs, strict=True), 1):
        messages, of_messages = messages_of(own.child.layout, head.constants, own.proof)
        rows += [*own.openings.rows, *_rows_of(messages, messages_before)]
        rows.append(_of_heads(number, head.words, head.read_chunks))
        places += [rows[-1].places, _places_of_messages(messages_before, len(messages)), own.openings.caps.places]
        digests += [_numbers([head.digest]), _numbers(of_messages), own.openings.caps.digests]
        zeros = head.areas.zeros + head.at
        of_gates, results = _gates(head, own)
        addresses += [zeros, of_gates]
        values += [np.zeros((len(zeros), EXTENSION_DEGREE), dtype=np.uint64), results]
        messages_before += len(messages)
    of_list = _of_heads(0, heads.words)
    return RunData(
        (*rows, of_list),
        np.concatenate(places),
        np.concatenate(digests),
        np.concatenate(addresses),
        np.concatenate(values),
    )


def _of_heads(number: int, words: np.ndarray, split_from: int | None = None) -> OpenedRows:
    """Return the row with the list of heads, number 0, or with a head, whose gates are split."""
    tree, layer, first = LIST_PLACE
    return OpenedRows(tree, layer, np.array([first + number], dtype=np.uint64), words[None], None, split_from)


def _places_of_messages(first: int, count: int) -> np.ndarray:
    places = np.zeros((count, 3), dtype=np.uint64)
    places[:, 0], places[:, 2] = TRANSCRIPT_TREE, np.arange(first, first + count)
    return places


def _numbers(digests: Sequence[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(digests), dtype="<u4").reshape(-1, DIGEST_NUMBERS)


def _rows_of(messages: Sequence[np.ndarray], first: int) -> list[OpenedRows]:
    """Return the messages of a transcript as rows, by their lengths: the fewer groups, the less time they take.

    ``first``: the number of the first message among the ones of all transcripts.
    """
    numbers: dict[int, list[int]] = {}
    for number, message in enumerate(messages):
        numbers.setdefault(len(message), []).append(number)
    return [
        OpenedRows(
            TRANSCRIPT_TREE, 0, np.array(own, dtype=np.uint64) + first, np.stack([messages[i] for i in own]), None
        )
        for own in numbers.values()
    ]


def _gates(head: ProofHead, of_proof: OpenedProof) -> tuple[np.ndarray, np.ndarray]:
    """Return the addresses of the results of gates, int64 (n,), and the results, uint64 (n, 3)."""
    layout, proof, challenges = of_proof.child.layout, of_proof.proof, of_proof.challenges
    areas, of = head.areas, head.gates
    memory = np.zeros((EXTENSION_DEGREE, areas.cells), dtype=np.uint64)
    opened = words_to_array(opened_values(layout, proof.openings))
    terminals = arrays.exts([terminal for terminal in proof.terminals if terminal is not None])
    for message, values in (("opening", opened), ("permutation", terminals)):
        memory[:, areas[message].elements_at + 1 + ELEMENT_CELLS * np.arange(values.shape[1])] = values
    counts, first = opened_counts(layout), 0
    for name, count in counts.items():
        if name in (QUOTIENT, PERMUTATION):
            joined = join_coordinates(opened[:, first : first + count])
            at = areas["joined", name].at
            memory[:, at : at + joined.shape[1]] = joined
        first += count
    sums = _sums(opened, challenges.gamma)
    memory[:, areas["sums"].at :][:, : sums.shape[1]] = sums
    stated = [value for of_table in of_proof.child.public_values for value in of_table]
    memory[0, stated_at(areas["main"], head.constants.sizes) + SHIFT * np.arange(len(stated))] = stated
    found = {**vars(challenges), "total": proof.total}
    memory[:, areas["challenges"].at :][:, : len(CHALLENGES)] = arrays.exts([found[name] for name in CHALLENGES])
    values = evaluate(of, memory[:, of.addresses[: of.cells] - head.at])
    own = slice(of.cells + len(of.literals), None)
    return of.addresses[own].astype(np.int64), values[:, own].T


def _sums(opened: np.ndarray, gamma: Ext) -> np.ndarray:
    """Return the sum of each opened value and gamma times the sum after it, and 0 at the end: uint64 (3, n + 1)."""
    sums = np.zeros((EXTENSION_DEGREE, opened.shape[1] + 1), dtype=np.uint64)
    chain_sums(np.ascontiguousarray(opened), np.array(gamma, dtype=np.uint64), sums)
    return sums
