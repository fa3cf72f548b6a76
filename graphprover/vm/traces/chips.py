"""The trace of a chip: the cells of its lanes, by code that is derived once for each chip."""

from collections.abc import Iterator, Mapping
from functools import cache
from math import prod
from typing import Any

import numpy as np

from graphprover.air.columns import Columns
from graphprover.device import Array, Device
from graphprover.vm.kernels import fill_lanes
from graphprover.vm.kernels.lanes import Code, Lanes
from graphprover.vm.tables.chips import CHIPS
from graphprover.vm.tables.clock import clock_of
from graphprover.vm.tables.limbs import limbs
from graphprover.vm.tables.step import Step
from graphprover.vm.traces.accesses import accesses_of
from graphprover.vm.traces.assemble import Cell, assemble
from graphprover.vm.traces.executing import Executing
from graphprover.vm.traces.formulas import Formulas
from graphprover.vm.traces.run import Run
from graphprover.vm.traces.symbolic import Symbols, sources

_NAMED = ("clk", "pc", "a_at", "b_at", "d_at", "imm", "imm2", "following")  # cells named like the values they hold
_LIMBS = {"a": "a", "b": "b", "old": "d", "m": "old"}  # by the name of two cells, the value whose limbs they hold


def chip_trace(device: Device, run: Run, *, step: Step, height: int, first: int, last: int) -> Array:
    """Return the trace of a chip that proves the cycles first..last of the run's order."""
    return fill_trace(device, run, step, first, last, device.room(step.describe().main_width, height))


def fill_trace(device: Device, run: Run, step: Step, first: int, last: int, trace: Array) -> Array:
    """Write the trace of a chip that proves the cycles first..last, and return it."""
    code = code_of(step.name, step.lanes)
    lanes = Lanes(last - first, clock_of(run.start), sources(device, run, first, last, code.loads))
    fill_lanes(device, code, lanes, trace)
    return trace


@cache
def code_of(chip: str, lanes: int) -> Code:
    """Return the code of a chip's lanes."""
    step, formulas = CHIPS[chip](lanes), Formulas()
    cells = cells_of(step, Symbols(formulas))
    places = []
    for column in Columns(step.columns).families.values():
        size = prod(column.shape[1:])
        members = list(_flat(cells[column.name]))
        if len(members) != size:
            raise ValueError(f"{chip} has {len(members)} values for {size} cells called {column.name}")
        places += [Cell(formulas.of(x).number, column.offset + i, size) for i, x in enumerate(members)]
    return assemble(formulas, places, lanes)


def _flat(values: Any) -> Iterator[Any]:
    if isinstance(values, tuple | list):
        for value in values:
            yield from _flat(value)
    else:
        yield values


def cells_of(step: Step, r: Executing) -> dict[str, Any]:
    """Return all cells of the lanes that execute ``r``, in the form of `Step.witness`."""
    cells: dict[str, Any] = {"on": np.uint64(1), **step.witness(r)}
    cells |= {name: getattr(r, name) for name in _NAMED if name in step.names}
    for name, value in _LIMBS.items():
        for part, limb in zip(("lo", "hi"), (0, 1), strict=True):
            if f"{name}_{part}" in step.names:
                cells[f"{name}_{part}"] = limbs(getattr(r, value))[limb]
    for access in accesses_of(step):
        time = r.recent(access)
        cells[access.cell] = [*cells.get(access.cell, ()), time] if access.cell == "word_t" else time
    return cells


def write_cells(columns: Mapping[str, Array], cells: Mapping[str, Any], first: int, last: int) -> None:
    """Write cells of the lanes first..last, counted lane by lane, to their columns."""
    for name, view in columns.items():
        _write(view, cells[name], first, last)


def _write(view: Array, values: Any, first: int, last: int) -> None:
    """Write one cell's values to its columns, (lanes, [members,] rows)."""
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
