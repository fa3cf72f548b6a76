"""The statement that a proof is accepted: the verifier's program takes it, with the head of the proof's own statement.

A verifier of the new proof makes the same head from the header of the first proof, and needs nothing else of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from graphprover.device import Array, Device
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import BatchProof, Cap
from graphprover.protocol.verification import replay
from graphprover.recursion.head.fields import HEAD_PLACE, HEAD_TREE
from graphprover.recursion.head.head import Head, head_of
from graphprover.recursion.kernels import count_cells
from graphprover.recursion.layer_tables import LEAST_LOG_ROWS, layer_tables, merged_rows, stated_values
from graphprover.recursion.openings import openings_of
from graphprover.recursion.program.assembler import Linked
from graphprover.recursion.program.run import Trace, requests
from graphprover.recursion.program.verifier import verifier_program
from graphprover.recursion.statement import hashes_of
from graphprover.recursion.traces import openings as hashes
from graphprover.recursion.traces.core import Steps, core_trace, memory_trace, program_trace
from graphprover.recursion.witness.compiled import run_compiled
from graphprover.recursion.witness.hashed_rows import Rows
from graphprover.recursion.witness.run_data import RunData, run_data
from graphprover.statement.statement import Statement, Table
from graphprover.statement.trace_task import TraceTask


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
    trace = run_compiled(linked, data)
    found = hashes_of(openings, _groups(linked, trace, data, head))
    caps = np.zeros(len(trace.pcs), dtype=np.uint32)
    with_cap, place, _ = requests(linked, trace, "cap")
    caps[with_cap] = found.lookups_of(place.T)
    (of_head,) = found.lookups_of(np.array([HEAD_PLACE], dtype=np.uint64))
    load = hashes.loading(hashes.Inputs(found.calls, found.segments, found.nodes, trace.cells, np.empty(0, np.uint64)))
    merged = {name: (air, merged_rows(rows)) for name, (air, rows) in found.tables.items() if name != "compress"}
    tables = {"compress": found.tables["compress"], **merged}
    tasks = hashes.trace_tasks(load, tables)
    steps = TraceTask("steps", load_steps, {"steps": Steps(linked.fields, trace.pcs, trace.frames, caps, trace.cells)})
    airs = layer_tables()
    more: dict[str, tuple[int, Callable[..., Array], tuple[TraceTask, ...]]] = {
        "core": (merged_rows(len(trace.pcs)), core_trace, (steps,)),
        "memory": (merged_rows(trace.cells.shape[1]), memory_of_layer, (steps, load)),
        "program": (1 << LEAST_LOG_ROWS, program_trace, (steps,)),
    }
    for name, (rows, make, needs) in more.items():
        shape = airs[name].describe().main_width, rows
        tasks[name] = TraceTask(name, make, {"rows": rows}, needs, shape)
    asked = np.zeros((1, 1 << LEAST_LOG_ROWS), dtype=np.uint64)
    asked[0, 0] = of_head
    mains: dict[str, TraceTask | np.ndarray] = {**tasks, "head": asked}
    values = {"head": stated_values(head)}
    return Statement([Table(air, values.get(name, []), mains[name]) for name, air in airs.items()])


def _groups(linked: Linked, trace: Trace, data: RunData, head: Head) -> list[Rows]:
    """Return the rows as the run has asked for them: a row that is read once for each of its addresses."""
    _, place, span = requests(linked, trace, "row")
    first = span[0] == 0  # of the chunks of a row
    place, bases = place[:, first], span[1, first].astype(np.uint32)
    groups = []
    for of in data.rows:
        own = (place[0] == of.tree) & (place[1] == of.layer) & np.isin(place[2], of.indices)
        at = np.searchsorted(of.indices, place[2, own])
        if of.powers is None:
            repeated = replace(of, indices=of.indices[at], words=np.ascontiguousarray(of.words[at]))
            split_from = head.read_chunks if of.tree == HEAD_TREE else None
            groups.append(Rows(repeated, bases[own], np.ones(len(at), dtype=np.uint32), split_from))
        else:
            count = np.bincount(at, minlength=len(of.indices)).astype(np.uint32)
            groups.append(Rows(of, np.full(len(count), bases[own][0]), count))
    return groups


# Trace tasks.


def load_steps(device: Device, *, steps: Steps) -> Steps:
    """Return the steps on a device."""
    return Steps(*device.load_all([*vars(steps).values()]))


def memory_of_layer(device: Device, steps: Steps, inputs: hashes.Inputs, *, rows: int) -> Array:
    """Return the trace of `Memory`: lookups of `Core` and of `Row`."""
    counts = device.arrays.zeros(steps.cells.shape[1], dtype=np.uint64)
    count_cells(device, inputs.segments, counts)
    return memory_trace(device, steps, counts, rows=rows)
