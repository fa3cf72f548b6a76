"""Runs of programs: the steps that they take, and the values of all cells.

A run takes place twice, since the sizes of its regions of memory are known after the first time. It is refused at the
first instruction whose relation does not hold.
"""

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
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
from graphprover.recursion.program.assembler import HOME, Linked
from graphprover.recursion.tables.steps import FIRST_FRAME, FLAGS
from graphprover.recursion.witness.lookups import slots_of
from graphprover.recursion.witness.run_data import RunData

MOST_STEPS = 1 << 24
_NO_REGION = "an address is in no region of memory"
_LOG_PAGES = 14  # of the first try: twice the pages of the largest runs so far
_Arrays = tuple[np.ndarray, ...]
_Given = tuple[_Arrays, _Arrays, _Arrays]  # the program, all rows, and digests


class Contradiction(Exception):
    """The program refuses its data."""


@dataclass(frozen=True, eq=False)
class Trace:
    """The steps of a run, and memory after it."""

    pcs: np.ndarray  # address of each step's instruction, uint32 (steps,)
    frames: np.ndarray  # frame pointer of each step, uint32 (steps,)
    cells: np.ndarray  # uint64 (3, cells)


@dataclass(frozen=True, eq=False)
class _Shape:
    """The course of a run: proofs of one layout have the same one, whatever their numbers are."""

    bases: np.ndarray  # addresses of the regions of memory, and the address after them, int64
    pcs: np.ndarray
    frames: np.ndarray


_SHAPES = 8  # most recent ones
_shapes: OrderedDict[tuple[int, ...], _Shape] = OrderedDict()


def run(linked: Linked, data: RunData) -> Trace:
    """Run a program with its data.

    A run with the course of an earlier one has the sizes of its regions, so that one run is enough.

    Raises:
        Contradiction: An instruction does not hold, or misses a cell; the message names its line.
    """
    digests = slots_of(data.places), data.places, data.digests
    given = _program(linked), _rows(data.rows), digests
    key = id(linked), len(data.addresses), len(data.places), *(of.words.shape[1] for of in data.rows)
    shape = _shapes.get(key)  # a wrong one costs a run
    trace = None
    if shape is not None:
        with suppress(Contradiction):  # the run has another course
            trace = _second_run(linked, given, data, shape.bases, len(shape.pcs), shape)
    if trace is None:
        bases, steps = _first_run(linked, given, data)
        trace = _second_run(linked, given, data, bases, steps)
        _shapes[key] = _Shape(bases, trace.pcs, trace.frames)
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


def _first_run(linked: Linked, given: _Given, data: RunData) -> tuple[np.ndarray, int]:
    """Run with regions that are far apart; return their addresses if they follow each other, and the steps."""
    bases, none = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint32)
    program, rows, digests = given
    for log_pages in count(_LOG_PAGES):
        pages, counters = np.zeros((2 << log_pages, 2), dtype=np.uint64), np.zeros(2, dtype=np.uint64)
        memory = _memory(pages, 1 << log_pages + PAGE_BITS, counters)
        placed, end = _put_inputs(memory, data), (FAILED, 0, 0, 0)
        if placed:
            end = run_program(program, memory, rows, digests, bases, MOST_STEPS, none, none)
        if not counters[FULL]:
            break
    _, steps, regions, _ = end
    if placed:
        _require_halted(linked, end)
    sizes = np.zeros(regions + 1, dtype=np.int64)
    if not (placed and region_sizes(memory, sizes)):
        raise Contradiction(_NO_REGION)
    return np.concatenate([[0], np.cumsum(sizes)]), steps


def _second_run(
    linked: Linked, given: _Given, data: RunData, bases: np.ndarray, steps: int, shape: _Shape | None = None
) -> Trace:
    """Run with regions that follow each other; ``shape``: the course that the run must have."""
    program, rows, digests = given
    memory = _memory(np.empty((0, 2), dtype=np.uint64), int(bases[-1]), np.zeros(2, dtype=np.uint64))
    pcs, frames = (np.empty(steps, dtype=np.uint32) for _ in range(2))
    if not _put_inputs(memory, data):
        raise Contradiction(_NO_REGION)
    end = run_program(program, memory, rows, digests, bases, steps, pcs, frames)
    _require_halted(linked, end)
    if shape is not None:
        full = memory[1][bases[1:][np.diff(bases) > 0] - 1, KNOWN].all()  # the last cells of all regions
        same = end[1] == steps and np.array_equal(pcs, shape.pcs) and np.array_equal(frames, shape.frames)
        if not (full and same):
            raise Contradiction("the run has another course than the one before")
    return Trace(pcs, frames, np.ascontiguousarray(memory[1][:, :EXTENSION_DEGREE].T))


def _require_halted(linked: Linked, end: tuple[int, int, int, int]) -> None:
    """Raise Contradiction, with the line of the program, unless a run has halted."""
    how, _, _, pc = end
    if how == HALTED:
        return
    if pc < 0:
        raise Contradiction(f"the program takes more than {MOST_STEPS:,} steps")
    line = linked.sources[pc] if pc < len(linked.sources) else f"instruction {pc}, which the program does not have"
    raise Contradiction(f"{line}: the relation does not hold, or a cell that it needs is unknown")


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


def requests(linked: Linked, trace: Trace, flag: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the steps with a flag, and the operands a and b of each, uint64 (3, steps)."""
    flagged = linked.fields[0] & np.uint64(1 << FLAGS.index(flag)) != 0
    steps = np.flatnonzero(np.take(flagged, trace.pcs))
    offsets = linked.fields[3:5, trace.pcs[steps]]
    first, second = (trace.cells[:, (trace.frames[steps] + offset) % np.uint64(P)] for offset in offsets)
    return steps, first, second
