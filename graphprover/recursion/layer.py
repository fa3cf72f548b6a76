"""The statement that a proof is accepted: the verifier's program takes it, with the head of the proof's own statement.

A verifier of the new proof makes the same head from the header of the first proof, and needs nothing else of it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import BatchProof, Cap
from graphprover.protocol.verification import replay
from graphprover.recursion.head.fields import HEAD_PLACE, HEAD_TREE
from graphprover.recursion.head.head import Head, head_of
from graphprover.recursion.kernels.steps import Steps
from graphprover.recursion.layer_tables import layer_rows, layer_tables, stated_values
from graphprover.recursion.openings import nodes_of, openings_of
from graphprover.recursion.program.assembler import Linked
from graphprover.recursion.program.run import Trace, requests
from graphprover.recursion.program.verifier import verifier_program
from graphprover.recursion.traces.machine import Inputs, trace_tasks
from graphprover.recursion.witness.compiled import run_compiled
from graphprover.recursion.witness.hashed_rows import Rows
from graphprover.recursion.witness.hashes import hashes_of
from graphprover.recursion.witness.lookups import numbers_of
from graphprover.recursion.witness.run_data import RunData, run_data
from graphprover.statement.statement import Statement, Table


def layer_statement(
    layout: Layout, proof: BatchProof, public_values: Sequence[Sequence[int]], preprocessed: Cap | None, binding: bytes
) -> Statement:
    """Return the statement that a verifier accepts a proof, with the tasks that make its traces.

    Args:
        layout: Shape of the proof.
        proof: The proof.
        public_values: Public values of each table.
        preprocessed: Commitment to the preprocessed columns, or None without any.
        binding: Initial state of the challenger.

    Raises:
        ValueError: The program cannot verify proofs of this layout.
        VerificationError: An opening of the proof is wrong.
        Contradiction: The program refuses the proof.
    """
    head, linked = head_of(layout, public_values, preprocessed, binding), verifier_program()
    challenges = replay(layout, proof, public_values, preprocessed, binding)
    openings = openings_of(layout, proof, challenges, preprocessed)
    data = run_data(layout, head, proof, public_values, challenges, openings)
    nodes = nodes_of(layout, challenges, openings)
    trace = run_compiled(linked, data)
    found = hashes_of(nodes, _groups(linked, trace, data, head))
    caps = np.zeros(len(trace.pcs), dtype=np.uint32)
    with_cap, place, _ = requests(linked, trace, "cap")
    caps[with_cap] = found.lookups_of(place.T)
    (of_head,) = found.lookups_of(np.array([HEAD_PLACE], dtype=np.uint64))
    steps = Steps(linked.fields, trace.pcs, trace.frames, caps, trace.cells)
    inputs = Inputs(found.segments, found.nodes, steps)
    tasks = trace_tasks(inputs, layer_rows(inputs.calls, inputs.machine_rows), int(of_head))
    values = {"fixed": stated_values(head)}
    return Statement([Table(air, values.get(name, []), tasks[name]) for name, air in layer_tables(linked).items()])


def _groups(linked: Linked, trace: Trace, data: RunData, head: Head) -> list[Rows]:
    """Return the rows as the run has asked for them: a row that is read once for each of its addresses."""
    _, place, span = requests(linked, trace, "row")
    first = span[0] == 0  # of the chunks of a row
    bases = span[1, first].astype(np.uint32)
    ends = np.cumsum([len(of.indices) for of in data.rows])
    numbers = numbers_of(np.concatenate([of.places for of in data.rows]), place[:, first].T)
    groups = np.searchsorted(ends, numbers, side="right")
    order = np.argsort(groups, kind="stable")
    found = []
    asked = np.split(order, np.searchsorted(groups[order], np.arange(1, len(data.rows))))
    for of, end, own in zip(data.rows, ends, asked, strict=True):
        rows = numbers[own] - (end - len(of.indices))
        if of.powers is None:
            repeated = replace(of, indices=of.indices[rows], words=np.ascontiguousarray(of.words[rows]))
            split_from = head.read_chunks if of.tree == HEAD_TREE else None
            found.append(Rows(repeated, bases[own], np.ones(len(rows), dtype=np.uint32), split_from))
        else:
            count = np.bincount(rows, minlength=len(of.indices)).astype(np.uint32)
            found.append(Rows(of, np.full(len(count), bases[own][0]), count))
    return found
