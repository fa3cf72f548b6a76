"""Build the statement of a layer: the verifier program accepts the given proofs.

A verifier of the new proof makes the same heads from the headers of the first proofs, and needs nothing else of them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graphprover.protocol.proof import BatchProof
from graphprover.protocol.verification import replay
from graphprover.recursion.head.heads import Child, heads_of
from graphprover.recursion.head.words import LIST_PLACE
from graphprover.recursion.kernels.steps import RunSteps
from graphprover.recursion.layer_tables import (
    layer_rows,
    layer_tables,
    merged_log_rows,
    merged_table,
    stated_values,
)
from graphprover.recursion.openings import joined_nodes, nodes_of, openings_of
from graphprover.recursion.program.assembler import Linked
from graphprover.recursion.program.verifier import verifier_program
from graphprover.recursion.traces.machine import TraceInputs, merged_task, trace_tasks
from graphprover.recursion.witness.hashes import RowGroup, hashes_of
from graphprover.recursion.witness.lookups import numbers_of
from graphprover.recursion.witness.run import Trace, requests, run
from graphprover.recursion.witness.run_data import OpenedProof, RunData, run_data
from graphprover.statement.statement import Statement, Table


def layer_statement(proofs: Sequence[tuple[Child, BatchProof]], merged: bool = False) -> Statement:
    """Return the statement that a verifier accepts proofs, with the tasks that make its traces.

    Args:
        proofs: The proofs.
        merged: Whether the layer is one table.

    Raises:
        ValueError: The program cannot verify proofs of these layouts, the layer has too many children, or too many rows
            for one table.
        VerificationError: An opening of a proof is wrong.
        Contradiction: The program refuses a proof.
    """
    heads, linked = heads_of([child for child, _ in proofs]), verifier_program()
    opened = [_opened(child, proof, head.start.tree) for (child, proof), head in zip(proofs, heads.heads, strict=True)]
    data = run_data(heads, opened)
    nodes = joined_nodes([nodes_of(of.child.layout, of.challenges, of.openings) for of in opened])
    trace = run(linked, data)
    found = hashes_of(nodes, _groups(linked, trace, data))
    caps = np.zeros(len(trace.pcs), dtype=np.uint32)
    with_cap, place, _ = requests(linked, trace, "cap")
    caps[with_cap] = found.lookups_of(place.T)
    (of_list,) = found.lookups_of(np.array([LIST_PLACE], dtype=np.uint64))
    steps = RunSteps(linked.fields, trace.pcs, trace.frames, caps, trace.cells)
    inputs = TraceInputs(found.segments, found.nodes, steps)
    if merged:
        log_rows = merged_log_rows(inputs.calls, inputs.machine_rows)
        task = merged_task(inputs, 1 << log_rows, int(of_list))
        return Statement([Table(merged_table(linked, log_rows), stated_values(heads), task)])
    tasks = trace_tasks(inputs, layer_rows(inputs.calls, inputs.machine_rows), int(of_list))
    values = {"fixed": stated_values(heads)}
    return Statement([Table(air, values.get(name, []), tasks[name]) for name, air in layer_tables(linked).items()])


def _opened(child: Child, proof: BatchProof, first_tree: int) -> OpenedProof:
    """Return a proof with its openings; ``first_tree``: the number of its first tree."""
    joint = None if child.shard is None else child.shard.joint
    challenges = replay(child.layout, proof, child.public_values, child.preprocessed, child.binding, joint)
    return OpenedProof(
        child, proof, challenges, openings_of(child.layout, proof, challenges, child.preprocessed, first_tree)
    )


def _groups(linked: Linked, trace: Trace, data: RunData) -> list[RowGroup]:
    """Return the rows as the run has asked for them: a row once for each of its addresses."""
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
            found.append(RowGroup(repeated, bases[own], np.ones(len(rows), dtype=np.uint32)))
            continue
        for base in np.unique(bases[own]):  # of the weights: a shard's main rows have weights at two addresses
            count = np.bincount(rows[bases[own] == base], minlength=len(of.indices)).astype(np.uint32)
            found.append(RowGroup(of, np.full(len(count), base), count))
    return found
