"""Runs of programs by compiled code."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import numpy as np

from graphprover.field import EXTENSION_DEGREE, P
from graphprover.recursion.kernels.cpu.program import (
    CELL_WORDS,
    FAILED,
    FULL,
    HALTED,
    KNOWN,
    PAGE_BITS,
    put_cells,
    region_sizes,
    run_program,
)
from graphprover.recursion.openings import OpenedRows
from graphprover.recursion.program import run as runs
from graphprover.recursion.program.assembler import HOME, Linked
from graphprover.recursion.program.run import Trace
from graphprover.recursion.tables.steps import FIRST_FRAME
from graphprover.recursion.witness.answers import run_by_python
from graphprover.recursion.witness.lookups import slots_of
from graphprover.recursion.witness.run_data import RunData

_LOG_PAGES = 14  # of the first try: twice the pages of the largest runs so far
_Arrays = tuple[np.ndarray, ...]
_Given = tuple[_Arrays, _Arrays, _Arrays]  # the program, all rows, and digests


def run_compiled(linked: Linked, data: RunData) -> Trace:
    """Run a program as ``graphprover.recursion.program.run.run``, with the same trace.

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


@dataclass(frozen=True, eq=False)
class _Shape:
    """The course of a run: proofs of one layout have the same one, whatever their numbers are."""

    bases: np.ndarray  # addresses of the regions of memory, and the address after them, int64
    pcs: np.ndarray
    frames: np.ndarray


_SHAPES = 8  # most recent ones
_shapes: OrderedDict[tuple[int, ...], _Shape] = OrderedDict()


def trace_of(linked: Linked, data: RunData) -> Trace | None:
    """Return the trace, or None if the run fails.

    The sizes of regions are known after a first run. A run with the course of an earlier one has its sizes: then one
    run is enough.
    """
    digests = slots_of(data.places), data.places, data.digests
    given = _program(linked), _rows(data.rows), digests
    key = id(linked), len(data.addresses), len(data.places), *(of.words.shape[1] for of in data.rows)
    shape = _shapes.get(key)  # a wrong one costs a run
    trace = None if shape is None else _second_run(given, data, shape.bases, len(shape.pcs), shape)
    if trace is None:
        found = _first_run(given, data)
        trace = None if found is None else _second_run(given, data, *found)
        if found is not None and trace is not None:
            _shapes[key] = _Shape(found[0], trace.pcs, trace.frames)
    if key in _shapes:
        _shapes.move_to_end(key)
    while len(_shapes) > _SHAPES:
        _shapes.popitem(last=False)
    return trace


@lru_cache(maxsize=1)
def _program(linked: Linked) -> _Arrays:
    """Return a program as `run_program` takes it."""
    negative = linked.fields > np.uint64(P // 2)
    signed = np.where(negative, linked.fields - np.uint64(P), linked.fields).view(np.int64)
    fields = (np.ascontiguousarray(numbers.T) for numbers in (linked.fields, signed))
    return *fields, linked.hints, linked.first_hints


def _first_run(given: _Given, data: RunData) -> tuple[np.ndarray, int] | None:
    """Run with regions that are far apart; return their addresses if they follow each other, and the steps."""
    bases, none = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint32)
    program, rows, digests = given
    for log_pages in count(_LOG_PAGES):
        pages, counters = np.zeros((2 << log_pages, 2), dtype=np.uint64), np.zeros(2, dtype=np.uint64)
        memory = _memory(pages, 1 << log_pages + PAGE_BITS, counters)
        end, steps, regions = FAILED, 0, 0
        if _put_inputs(memory, data):
            end, steps, regions = run_program(program, memory, rows, digests, bases, runs.MOST_STEPS, none, none)
        if not counters[FULL]:
            break
    sizes = np.zeros(regions + 1, dtype=np.int64)
    if end != HALTED or not region_sizes(memory, sizes):
        return None
    return np.concatenate([[0], np.cumsum(sizes)]), steps


def _second_run(
    given: _Given, data: RunData, bases: np.ndarray, steps: int, shape: _Shape | None = None
) -> Trace | None:
    """Run with regions that follow each other; return None if the run fails, or has another course than a shape."""
    program, rows, digests = given
    memory = _memory(np.empty((0, 2), dtype=np.uint64), int(bases[-1]), np.zeros(2, dtype=np.uint64))
    pcs, frames = (np.empty(steps, dtype=np.uint32) for _ in range(2))
    if not _put_inputs(memory, data):
        return None
    end, taken, _ = run_program(program, memory, rows, digests, bases, steps, pcs, frames)
    if end != HALTED or taken != steps:
        return None
    if shape is not None:
        full = memory[1][bases[1:][np.diff(bases) > 0] - 1, KNOWN].all()  # the last cells of all regions
        if not (full and np.array_equal(pcs, shape.pcs) and np.array_equal(frames, shape.frames)):
            return None
    return Trace(pcs, frames, np.ascontiguousarray(memory[1][:, :EXTENSION_DEGREE].T))


def _memory(pages: np.ndarray, cells: int, counters: np.ndarray) -> _Arrays:
    """Return memory without known cells, as `run_program` takes it."""
    return pages, np.zeros((cells, CELL_WORDS), dtype=np.uint64), counters


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
    return slots_of(places), places, starts, np.concatenate([empty, *(of.words.ravel() for of in groups)])
