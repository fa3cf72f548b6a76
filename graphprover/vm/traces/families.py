"""The trace of a family of instructions: the cells of its lanes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphprover.device import Array, Device
from graphprover.vm.clock import clock_of
from graphprover.vm.kernels import fill_lanes
from graphprover.vm.kernels.lanes import Cell, Kind, Lanes
from graphprover.vm.tables.step import Step
from graphprover.vm.traces.accesses import accesses_of
from graphprover.vm.traces.rows import TIMES, Rows
from graphprover.vm.traces.run import Run


def family_trace(device: Device, run: Run, *, step: Step, height: int, first: int, last: int) -> Array:
    """The trace of a family that proves the cycles first..last of the run's order."""
    trace = device.arrays.zeros((step.describe().main_width, height), dtype=np.uint64)
    write_step(device, run, step, trace, first, last)
    return trace


def write_step(device: Device, run: Run, step: Step, trace: Array, first: int, last: int) -> None:
    """Writes the lanes that execute these cycles of the order, lane by lane, to the trace of a family, which is 0."""
    columns = step.view(trace)
    order = run.cycles.order[first:last]
    copied = {
        name: Cell(getattr(columns, name).reshape(-1)[: last - first], *what)
        for name, what in _copies(run, step, order).items()
        if name in step.names
    }
    fill_lanes(device, list(copied.values()), Lanes(order, clock_of(run.start)))
    rest = {name: view for name, view in vars(columns).items() if name not in copied}

    def piece(begin: int, end: int) -> None:
        rows = Rows(device, run, slice(first + begin, first + end))
        write_cells(rest, _cells(rows, step), begin, end)

    if rest:
        device.split_rows(piece, last - first)


def _copies(run: Run, step: Step, order: Array) -> dict[str, tuple[Any, ...]]:
    """What cells are that follow from their names; a family has some of them. ``order``: of its cycles."""
    cycles = run.cycles
    entry, at = cycles.entry[order], cycles.at[order]
    cells: dict[str, tuple[Any, ...]] = {"on": (Kind.ONE,), "clk": (Kind.CLOCK, order)}
    for name in ("pc", "a_at", "b_at", "d_at", "imm", "imm2", "following"):
        cells[name] = Kind.COPY, run.program[name], entry
    for access in accesses_of(step):
        if access.cell in TIMES:
            cells[access.cell] = Kind.RECENT, getattr(cycles, TIMES[access.cell]), order, access.slot
        elif access.cell == "m_t":
            cells[access.cell] = Kind.RECENT_CLOCK, run.clock, at, access.slot
    for name, values in (("a", cycles.a), ("b", cycles.b), ("old", cycles.d), ("m", run.old)):
        source = values, at if name == "m" else order
        cells |= {f"{name}_lo": (Kind.LOW, *source), f"{name}_hi": (Kind.HIGH, *source)}
    return cells


def _cells(rows: Rows, step: Step) -> dict[str, Any]:
    """The cells of the family that are no copies."""
    cells = step.witness(rows)
    for access in accesses_of(step):
        if access.cell == "m2_t":
            cells[access.cell] = rows.recent(access)
        if access.cell == "word_t":
            cells[access.cell] = [*cells.get(access.cell, ()), rows.recent(access)]
    return cells


def write_cells(columns: Mapping[str, Array], cells: Mapping[str, Any], first: int, last: int) -> None:
    """Writes cells of the lanes first..last, counted lane by lane, to their columns."""
    for name, view in columns.items():
        _write(view, cells[name], first, last)


def _write(view: Array, values: Any, first: int, last: int) -> None:
    """Writes one cell's values to its columns, (lanes, [members,] rows)."""
    if isinstance(values, tuple | list):
        for i, member in enumerate(values):
            _write(view[:, i], member, first, last)
        return
    if view.flags.c_contiguous:
        view.reshape(-1)[first:last] = values
        return
    height = view.shape[1]
    for lane in range(first // height, -(-last // height)):
        start, stop = max(first, lane * height), min(last, (lane + 1) * height)
        piece = values[start - first : stop - first] if values.ndim else values
        view[lane, start - lane * height : stop - lane * height] = piece
