"""The traces of chips: the cells of their lanes, by code that is derived once for each chip."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np

from graphprover.air.columns import Columns
from graphprover.device import Array, Device
from graphprover.vm.kernels import fill_lanes
from graphprover.vm.kernels.lanes import Code, Lanes, Sources
from graphprover.vm.tables.chips import CHIPS
from graphprover.vm.tables.clock import clock_of
from graphprover.vm.tables.limbs import limbs
from graphprover.vm.tables.step import Step
from graphprover.vm.traces.accesses import accesses_of
from graphprover.vm.traces.assemble import StoredCell, assemble
from graphprover.vm.traces.executing import Executing
from graphprover.vm.traces.formulas import Formulas
from graphprover.vm.traces.run import ReplayedRange
from graphprover.vm.traces.symbolic import Symbols, reads_permuted, sources, with_permuted

_NAMED = ("clk", "pc", "a_at", "b_at", "d_at", "imm", "imm2", "following")  # cells named like the values they hold
_LIMBS = {"a": "a", "b": "b", "old": "d", "m": "old"}  # by the name of two cells, the value whose limbs they hold


@dataclass(frozen=True, eq=False)
class ChipPart:
    """Lanes of a chip in a trace: the cycles first..last of the run's order."""

    step: Step
    first: int
    last: int
    row: int = 0  # of the first lane, in a shared table
    columns: tuple[int, ...] | None = None  # a shared table's column for each of the chip's columns

    @property
    def end(self) -> int:
        """Return the row after the last lane, in a shared table."""
        return self.row + self.last - self.first


@dataclass(frozen=True, eq=False)
class ChipTrace:
    """The trace of a chip's own table, or of a table that chips share, one part after the other."""

    width: int
    height: int
    parts: tuple[ChipPart, ...]

    @property
    def is_shared(self) -> bool:
        """Return whether chips share the table, so that each writes only its own rows and columns."""
        return self.parts[0].columns is not None

    def window(self, trace: Array, part: ChipPart) -> Array:
        """Return the rows of a part."""
        return trace[:, part.row : part.end] if self.is_shared else trace


def chip_traces(device: Device, run: ReplayedRange, *, tables: Sequence[ChipTrace]) -> list[Array]:
    """Return the traces of tables of chips."""
    traces, own, filled = [], sources(run), []
    for table in tables:
        trace = device.room(table.width, table.height)
        if table.is_shared:
            trace.fill(0)
        traces.append(trace)
        for part in table.parts:
            code = code_of(part.step.name, part.step.lanes, part.columns)
            filled.append((code, _lanes(device, run, own, code, part), table.window(trace, part)))
    fill_lanes(device, filled)
    return traces


def chip_trace(device: Device, traces: Sequence[Array], *, index: int) -> Array:
    """Return one of the traces of `chip_traces`."""
    return traces[index]


def _lanes(device: Device, run: ReplayedRange, own: Sources, code: Code, part: ChipPart) -> Lanes:
    count, first_clock = part.last - part.first, clock_of(run.start)
    if reads_permuted(code):
        return Lanes(0, count, first_clock, with_permuted(device, run, own, part.first, part.last))
    return Lanes(part.first, count, first_clock, own)


@cache
def code_of(chip: str, lanes: int, columns: tuple[int, ...] | None = None) -> Code:
    """Return the code of a chip's lanes; ``columns`` as in `ChipPart`."""
    step, formulas = CHIPS[chip](lanes), Formulas()
    cells = cells_of(step, Symbols(formulas))
    places = []
    for column in Columns(step.columns).families.values():
        size = prod(column.shape[1:])
        members = list(_flat(cells[column.name]))
        if len(members) != size:
            raise ValueError(f"{chip} has {len(members)} values for {size} cells called {column.name}")
        own = range(column.offset, column.offset + size)
        places += [
            StoredCell(formulas.of(x).number, place if columns is None else columns[place], size)
            for place, x in zip(own, members, strict=True)
        ]
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
