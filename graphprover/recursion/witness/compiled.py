"""Runs of programs by compiled code."""

from collections.abc import Sequence
from itertools import count

import numpy as np

from graphprover.field import EXTENSION_DEGREE, P
from graphprover.recursion.kernels.cpu.program import (
    FAILED,
    FULL,
    HALTED,
    PAGE_BITS,
    put_cells,
    region_sizes,
    run_program,
    table_of,
)
from graphprover.recursion.openings import OpenedRows
from graphprover.recursion.program import run as runs
from graphprover.recursion.program.assembler import HOME, Linked
from graphprover.recursion.program.run import Trace
from graphprover.recursion.tables.steps import FIRST_FRAME
from graphprover.recursion.witness.answers import run_by_python
from graphprover.recursion.witness.run_data import RunData

_LOG_PAGES = 14  # of the first try: twice the pages of the largest runs so far
_Arrays = tuple[np.ndarray, ...]


def run_compiled(linked: Linked, data: RunData) -> Trace:
    """Run a program twice, as ``graphprover.recursion.program.run.run``: the second time, regions follow each other.

    Args:
        linked: The program.
        data: Its data.

    Raises:
        Contradiction: A relation of the program does not hold.
        ValueError: Two cells of an instruction are unknown, or an address is in no region of memory.
    """
    trace = trace_of(linked, data)
    if trace is None:
        run_by_python(linked, data)  # which raises the reason
        raise AssertionError("compiled code refuses a run that Python accepts")
    return trace


def trace_of(linked: Linked, data: RunData) -> Trace | None:
    """Return the trace, or None if the run fails."""
    negative = linked.fields > np.uint64(P // 2)
    signed = np.where(negative, linked.fields - np.uint64(P), linked.fields).view(np.int64)
    program = (
        *(np.ascontiguousarray(numbers.T) for numbers in (linked.fields, signed)),
        linked.hints,
        linked.first_hints,
    )
    rows = _rows(data.rows)
    digests = _slots(data.places), data.places, data.digests
    bases, none = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint32)
    for log_pages in count(_LOG_PAGES):
        pages, counters = np.zeros((2 << log_pages, 2), dtype=np.int64), np.zeros(2, dtype=np.int64)
        memory = _memory(pages, 1 << log_pages + PAGE_BITS, counters)
        end, steps, regions = FAILED, 0, 0
        if _put_inputs(memory, data):
            end, steps, regions = run_program(program, memory, rows, digests, bases, runs.MOST_STEPS, none, none)
        if not counters[FULL]:
            break
    sizes = np.zeros(regions + 1, dtype=np.int64)
    if end != HALTED or not region_sizes(memory, sizes):
        return None
    bases = np.concatenate([[0], np.cumsum(sizes)])
    memory = _memory(np.empty((0, 2), dtype=np.int64), int(bases[-1]), counters)
    pcs, frames = (np.empty(steps, dtype=np.uint32) for _ in range(2))
    if not _put_inputs(memory, data):
        return None
    end, taken, _ = run_program(program, memory, rows, digests, bases, steps, pcs, frames)
    if end != HALTED or taken != steps:
        return None
    return Trace(pcs, frames, np.ascontiguousarray(memory[2].T))


def _memory(pages: np.ndarray, cells: int, counters: np.ndarray) -> _Arrays:
    """Return memory without known cells, as `run_program` takes it."""
    return pages, np.zeros(cells, dtype=np.bool_), np.zeros((cells, EXTENSION_DEGREE), dtype=np.uint64), counters


def _put_inputs(memory: _Arrays, data: RunData) -> bool:
    """Write the inputs; return whether all of them have a place in memory."""
    home = np.array([FIRST_FRAME + HOME]), np.zeros((1, EXTENSION_DEGREE), dtype=np.uint64)
    # Loops of the first function carry its home, which nothing uses.
    return bool(put_cells(memory, *home) and put_cells(memory, data.addresses, data.values))


def _rows(groups: Sequence[OpenedRows]) -> _Arrays:
    """Return all rows as `run_program` takes them."""
    empty = np.empty(0, dtype=np.uint64)
    places = np.concatenate([empty.reshape(0, 3), *(of.places for of in groups)])
    widths = np.concatenate(
        [np.empty(0, dtype=np.int64), *(np.full(len(of.words), of.words.shape[1]) for of in groups)]
    )
    starts = np.concatenate([[0], np.cumsum(widths)])
    return _slots(places), places, starts, np.concatenate([empty, *(of.words.ravel() for of in groups)])


def _slots(places: np.ndarray) -> np.ndarray:
    """Return the table that finds places."""
    slots = np.full(2 << len(places).bit_length(), -1, dtype=np.int64)
    table_of(places, slots)
    return slots
