"""The statement that a proof is accepted: the verifier's program takes it, with the head of the proof's own statement.

A verifier of the new proof makes the same head, which says what the first proof is about. It needs nothing else of the
first proof.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from graphprover.air import Air
from graphprover.device import Array, Device
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import BatchProof, Cap
from graphprover.protocol.verification import replay
from graphprover.recursion.head.fields import HEAD_PLACE, HEAD_TREE
from graphprover.recursion.head.head import Head, head_of
from graphprover.recursion.kernels import count_cells
from graphprover.recursion.openings import openings_of
from graphprover.recursion.program.assembler import Linked
from graphprover.recursion.program.run import Trace, requests, run
from graphprover.recursion.program.verifier import verifier_program
from graphprover.recursion.statement import hashes_of
from graphprover.recursion.tables.core import Core
from graphprover.recursion.tables.memory import Memory
from graphprover.recursion.tables.program import Program
from graphprover.recursion.tables.stated import PublicCap, rows_for
from graphprover.recursion.traces import openings as hashes
from graphprover.recursion.traces.core import Steps, core_trace, memory_trace, program_trace
from graphprover.recursion.witness.hashed_rows import Rows
from graphprover.recursion.witness.run_data import RunData, answers, run_data
from graphprover.statement.statement import Statement, Table
from graphprover.statement.trace_task import TraceTask

CORE, MEMORY, HEAD = Core(), Memory(), PublicCap(*HEAD_PLACE)
LEAST_LOG_ROWS = 14  # of all tables, the program's instructions included
HEIGHTS_STEP = 2  # between the heights of all tables but `compress`, so that folds by four meet them


def merged_rows(count: int) -> int:
    """Return the least height of a layer's table that has this number of rows.

    Each further height of a proof costs a fold with its paths, and joins in all trees. `compress` has its own height:
    most cells are there.
    """
    log_rows = rows_for(count).bit_length() - 1
    above = max(0, log_rows - LEAST_LOG_ROWS)
    return 1 << LEAST_LOG_ROWS + -(-above // HEIGHTS_STEP) * HEIGHTS_STEP


@cache
def program_table() -> Program:
    """Return the table of the verifier's program."""
    fields = verifier_program().fields
    spare = (1 << LEAST_LOG_ROWS) - fields.shape[1]
    return Program(np.pad(fields, ((0, 0), (0, spare))))


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
    trace = run(linked, data.cells, answers(data.rows), data.digests)
    found = hashes_of(openings, _groups(linked, trace, data, head))
    caps = np.zeros(len(trace.pcs), dtype=np.uint32)
    with_cap, place, _ = requests(linked, trace, "cap")
    caps[with_cap] = found.lookups_of(place.T)
    (of_head,) = found.lookups_of(np.array([HEAD_PLACE], dtype=np.uint64))
    load = hashes.loading(hashes.Inputs(found.calls, found.segments, found.nodes, trace.cells, np.empty(0, np.uint64)))
    tables: dict[str, tuple[Air, int]] = {
        name: (air, merged_rows(rows) if name in ("row", "node") else rows)
        for name, (air, rows) in found.tables.items()
    }
    tasks = hashes.trace_tasks(load, tables)
    steps = TraceTask("steps", load_steps, {"steps": Steps(linked.fields, trace.pcs, trace.frames, caps, trace.cells)})
    more: dict[str, tuple[Air, int, Callable[..., Array], tuple[TraceTask, ...]]] = {
        "core": (CORE, merged_rows(len(trace.pcs)), core_trace, (steps,)),
        "memory": (MEMORY, merged_rows(trace.cells.shape[1]), memory_of_layer, (steps, load)),
        "program": (program_table(), 1 << LEAST_LOG_ROWS, program_trace, (steps,)),
    }
    made = [Table(own, [], tasks[name]) for name, (own, _) in tables.items()]
    for name, (own, rows, make, needs) in more.items():
        made.append(Table(own, [], TraceTask(name, make, {"rows": rows}, needs, (own.describe().main_width, rows))))
    asked = np.zeros((1, 1 << LEAST_LOG_ROWS), dtype=np.uint64)
    asked[0, 0] = of_head
    made.append(Table(HEAD, stated_values(head), asked))
    return Statement(made)


def stated_values(head: Head) -> list[int]:
    """Return the public values of a statement about a proof with a head: the words of the head's digest."""
    numbers: list[int] = np.frombuffer(head.digest, dtype="<u4").tolist()
    return numbers


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
