"""The statement that a proof's opened values belong to its commitments, by the program in program/words.py.

The verifier of this statement has the challenges, the opened values, the final polynomial, the caps and the queries of
the first proof. It is left with the transcript and the constraints at the out-of-domain point.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from graphprover.air import Air
from graphprover.device import Array, Device
from graphprover.field import EXTENSION_DEGREE, ZERO, Ext, P
from graphprover.protocol.blake3 import CHUNK_WORDS
from graphprover.protocol.constraints import words_to_array
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import BatchProof, opened_values
from graphprover.protocol.verification import Challenges, batches_of
from graphprover.recursion.kernels import count_cells
from graphprover.recursion.openings import OpenedRows, Openings
from graphprover.recursion.program.assembler import Linked
from graphprover.recursion.program.run import Contradiction, Run, Trace, requests, run
from graphprover.recursion.program.words import DIGEST_CELLS, FIRST_INPUT, words_program
from graphprover.recursion.statement import hashes_of
from graphprover.recursion.tables.core import Core
from graphprover.recursion.tables.memory import Memory
from graphprover.recursion.tables.program import Program
from graphprover.recursion.tables.row import STRIDE
from graphprover.recursion.tables.stated import Known, rows_for
from graphprover.recursion.traces import openings as hashes
from graphprover.recursion.traces.core import Steps, core_trace, memory_trace, program_trace
from graphprover.recursion.witness.hashed_rows import Rows
from graphprover.statement.statement import Statement, Table
from graphprover.statement.trace_task import TraceTask

CORE, MEMORY = Core(), Memory()


def words_statement(layout: Layout, proof: BatchProof, challenges: Challenges, openings: Openings) -> Statement:
    """Return the statement about a proof's words, with the tasks that make its traces.

    Args:
        layout: Shape of the proof.
        proof: The proof.
        challenges: The challenges of its transcript.
        openings: Its openings.

    Raises:
        Contradiction: The words are wrong.
    """
    linked, air = program_of(layout)
    inputs = inputs_of(layout, proof, challenges, openings)
    trace = run(linked, inputs, sums_of(openings))
    found = hashes_of(openings, _groups(linked, trace, openings.rows))
    caps = np.zeros(len(trace.pcs), dtype=np.uint32)
    with_cap, place, _ = requests(linked, trace, "cap")
    caps[with_cap] = found.lookups_of(place.T)
    addresses = np.array(list(inputs), dtype=np.uint64)
    stated = Known(addresses, np.array(list(inputs.values()), dtype=np.uint64).T)
    empty = np.empty(0, dtype=np.uint64)
    load = hashes.loading(hashes.Inputs(found.calls, found.segments, found.nodes, trace.cells, empty))
    tasks = hashes.trace_tasks(load, found.tables)
    steps = TraceTask("steps", load_steps, {"steps": Steps(linked.fields, trace.pcs, trace.frames, caps, trace.cells)})
    more: dict[str, tuple[Air, int, Callable[..., Array], tuple[TraceTask, ...]]] = {
        "core": (CORE, rows_for(len(trace.pcs)), core_trace, (steps,)),
        "memory": (MEMORY, rows_for(trace.cells.shape[1]), memory_of_words, (steps, load)),
        "program": (air, linked.fields.shape[1], program_trace, (steps,)),
        "known": (stated, stated.rows, known_trace, ()),
    }
    made = [Table(own, [], tasks[name]) for name, (own, _) in found.tables.items()]
    for name, (own, rows, make, needs) in more.items():
        fixed: dict[str, object] = {"rows": rows}
        if name == "memory":
            fixed["stated"] = addresses
        made.append(Table(own, [], TraceTask(name, make, fixed, needs, (own.describe().main_width, rows))))
    return Statement(made)


@lru_cache(maxsize=16)
def program_of(layout: Layout) -> tuple[Linked, Program]:
    """Return the program for a layout, and its table."""
    linked = words_program(layout)
    return linked, Program(linked.fields)


def inputs_of(layout: Layout, proof: BatchProof, challenges: Challenges, openings: Openings) -> dict[int, Ext]:
    """Return the inputs of the program by their addresses."""
    opened = words_to_array(opened_values(layout, proof.openings))[:, batches_of(layout).opened]
    digests = np.zeros((len(openings.caps.digests), DIGEST_CELLS * EXTENSION_DEGREE), dtype=np.uint64)
    digests[:, : openings.caps.digests.shape[1]] = openings.caps.digests
    values: list[Ext] = [challenges.zeta, challenges.gamma, *challenges.betas]
    values += [(a, b, c) for a, b, c in opened.T.tolist()]
    values += proof.final_polynomial
    values += [(a, b, c) for a, b, c in digests.reshape(-1, EXTENSION_DEGREE).tolist()]
    values += [(int(query), 0, 0) for query in challenges.queries]
    return {FIRST_INPUT + i: value for i, value in enumerate(values)}


def sums_of(openings: Openings) -> Callable[[Run, Ext, int, Ext], tuple[Ext, Ext]]:
    """Return the function that gives a run the sums of opened rows, and the words of rows that are read."""
    words = {
        tuple(place): own
        for of in openings.rows
        for place, own in zip(of.places.tolist(), of.words.tolist(), strict=True)
    }

    known: dict[tuple[Ext, int], tuple[Ext, Ext]] = {}  # by place and counter: both runs have the same weights

    def sums(run: Run, place: Ext, kind: int, span: Ext) -> tuple[Ext, Ext]:
        counter, base, end = span
        own = words.get(place, [])[CHUNK_WORDS * counter : CHUNK_WORDS * (counter + 1)]
        if not own or end != base + STRIDE * len(own):
            raise Contradiction(f"no chunk of {(end - base) // STRIDE} words at {place}")
        if kind:
            for i, word in enumerate(own):
                run.put(base + STRIDE * i, (word, 0, 0))
            return ZERO, ZERO
        if (place, counter) not in known:
            first, second = (
                tuple(sum(run[base + STRIDE * i + point][k] * word for i, word in enumerate(own)) % P for k in range(3))
                for point in range(2)
            )
            known[place, counter] = first, second  # type: ignore[assignment]
        return known[place, counter]

    return sums


def _groups(linked: Linked, trace: Trace, opened: tuple[OpenedRows, ...]) -> list[Rows]:
    """Return the rows as the run has asked for them: a row that is read once for each of its addresses."""
    _, place, span = requests(linked, trace, "row")
    first = span[0] == 0  # of the chunks of a row
    place, bases = place[:, first], span[1, first].astype(np.uint32)
    groups = []
    for of in opened:
        own = (place[0] == of.tree) & (place[1] == of.layer)
        at = np.searchsorted(of.indices, place[2, own])
        if of.powers is None:
            repeated = replace(of, indices=of.indices[at], words=np.ascontiguousarray(of.words[at]))
            groups.append(Rows(repeated, bases[own], np.ones(len(at), dtype=np.uint32)))
        else:
            count = np.bincount(at, minlength=len(of.indices)).astype(np.uint32)
            groups.append(Rows(of, np.full(len(count), bases[own][0]), count))
    return groups


# Trace tasks.


def load_steps(device: Device, *, steps: Steps) -> Steps:
    """Return the steps on a device."""
    return Steps(*device.load_all([*vars(steps).values()]))


def memory_of_words(device: Device, steps: Steps, inputs: hashes.Inputs, *, rows: int, stated: np.ndarray) -> Array:
    """Return the trace of `Memory`: lookups of `Core`, of `Row`, and one of each stated address."""
    others = np.zeros(steps.cells.shape[1], dtype=np.uint64)
    others[stated] = 1
    counts = device.load(others)
    count_cells(device, inputs.segments, counts)
    return memory_trace(device, steps, counts, rows=rows)


def known_trace(device: Device, *, rows: int) -> Array:
    """Return the trace of `Known`, whose rows have nothing to count."""
    return device.arrays.zeros((1, rows), dtype=np.uint64)
