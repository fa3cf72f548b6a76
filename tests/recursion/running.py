"""Programs with their statements, for tests: the tables `core`, `memory` and `program`, with facts about a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphprover.air import Air, TableBuilder
from graphprover.device import CpuDevice
from graphprover.field import EXTENSION_DEGREE, Ext
from graphprover.recursion.program.assembler import Cell, Function, Linked, Program
from graphprover.recursion.program.run import Contradiction, Rows, Trace, requests, run
from graphprover.recursion.tables import buses
from graphprover.recursion.tables.buses import MACHINE, Tag, message
from graphprover.recursion.tables.core import Core
from graphprover.recursion.tables.memory import Memory
from graphprover.recursion.tables.program import Program as Instructions
from graphprover.recursion.tables.stated import Stated, rows_for
from graphprover.recursion.traces.core import Steps, core_trace, memory_trace, program_trace
from graphprover.recursion.witness.compiled import trace_of
from graphprover.recursion.witness.run_data import RunData
from graphprover.statement.statement import Statement, Table

CORE, MEMORY = Core(), Memory()
FIRST_INPUT = 3  # the address of the first argument of a program


class Partner(Air):
    """Receives chunks of opened rows, and looks up digests at places, as often as it says."""

    preprocessed = ("received", "chunk[13]", "lookups", "digest_place[11]")
    columns = ("nothing",)
    unread = ("nothing",)

    def __init__(self, chunks: Sequence[Sequence[int]], places: Sequence[tuple[Sequence[int], int]]) -> None:
        self._trace = np.zeros((26, rows_for(max(len(chunks), len(places)))), dtype=np.uint64)
        for i, chunk in enumerate(chunks):
            self._trace[:14, i] = [1, *chunk]
        for i, (place, count) in enumerate(places):
            self._trace[14:, i] = [count, *place]

    def preprocessed_trace(self) -> np.ndarray:
        return self._trace

    def define(self, t: TableBuilder) -> None:
        t.receive(MACHINE, message(Tag.ROW, *t.chunk), t.received, weight=1)
        t.lookup(MACHINE, message(Tag.PLACE, *t.digest_place), t.lookups, weight=8)


@dataclass(frozen=True, eq=False)
class Ran:
    """A program with a run of it."""

    linked: Linked
    inputs: Mapping[int, Ext]
    trace: Trace

    def steps(self, device: Any) -> Steps:
        """Return the steps as arrays of a device."""
        trace = self.trace
        found = self.linked.fields, trace.pcs, trace.frames, self.asked, trace.cells
        return Steps(*map(device.load, found))

    @property
    def asked(self) -> np.ndarray:
        """Return two lookups for each digest of a cap."""
        asked = np.zeros(len(self.trace.pcs), dtype=np.uint32)
        asked[requests(self.linked, self.trace, "cap")[0]] = 2
        return asked

    @property
    def others(self) -> np.ndarray:
        """Return the lookups of each cell by `Known`."""
        counts = np.zeros(self.trace.cells.shape[1], dtype=np.uint64)
        counts[list(self.inputs)] = 1
        return counts

    @property
    def rows(self) -> tuple[int, int, int]:
        """Return the rows of `core`, `memory` and `program`."""
        return rows_for(len(self.trace.pcs)), rows_for(self.trace.cells.shape[1]), self.linked.fields.shape[1]

    def traces(self, device: Any) -> list[Any]:
        """Return the traces of `core`, `memory` and `program`."""
        steps, rows = self.steps(device), self.rows
        return [
            core_trace(device, steps, rows=rows[0]),
            memory_trace(device, steps, device.load(self.others), rows=rows[1]),
            program_trace(device, steps, rows=rows[2]),
        ]

    def statement(self, partner: Partner | None = None) -> Statement:
        """Return the statement that the program halts with these inputs."""
        airs = CORE, MEMORY, Instructions(self.linked.fields)
        tables = [Table(air, [], main) for air, main in zip(airs, self.traces(CpuDevice(1)), strict=True)]
        for facts in (known(self.inputs), *([partner] if partner else [])):
            tables.append(Table(facts, [], np.zeros((1, facts.preprocessed_trace().shape[1]), dtype=np.uint64)))
        return Statement(tables)


class Known(Stated):
    """The contents of some cells of memory, which are looked up once each."""

    preprocessed = ("on", "address", f"value[{EXTENSION_DEGREE}]")
    unread = ("asked",)

    def define(self, t: TableBuilder) -> None:
        t.lookup(buses.MEMORY, [t.address, *t.value], t.on, weight=1)


def known(inputs: Mapping[int, Ext]) -> Known:
    """Return the table of inputs."""
    addresses = np.array(list(inputs), dtype=np.uint64)
    return Known(addresses, np.array(list(inputs.values()), dtype=np.uint64).reshape(-1, 3).T)


def program(arguments: int) -> tuple[Program, Function, tuple[Cell, ...]]:
    """Return a program with its first function and that one's arguments."""
    made = Program()
    main = made.function("main", arguments=arguments)
    return made, main, main.arguments


def ran(made: Program, main: Function, *values: Ext | int, rows: Rows | None = None) -> Ran:
    """End the first function, and return a run with these arguments; compiled code has the same one, without rows."""
    if not main.ended:
        main.halt()
    linked = made.link(main)
    inputs = {FIRST_INPUT + i: (value, 0, 0) if isinstance(value, int) else value for i, value in enumerate(values)}
    if rows is None:
        return Ran(linked, inputs, run_by_both(linked, inputs))
    return Ran(linked, inputs, run(linked, inputs, rows))


def run_by_both(linked: Linked, inputs: Mapping[int, Ext]) -> Trace:
    """Run a program in Python and by compiled code, which have the same trace, or both fail."""
    found = compiled_run(linked, inputs)
    try:
        wanted = run(linked, inputs)
    except (Contradiction, ValueError):
        assert found is None
        raise
    require_same(found, wanted)
    return wanted


def compiled_run(linked: Linked, inputs: Mapping[int, Ext]) -> Trace | None:
    """Return the run of compiled code with inputs, or None if it fails."""
    none = np.empty((0, 3), dtype=np.uint64)
    addresses = np.array(list(inputs), dtype=np.int64)
    values = np.array(list(inputs.values()), dtype=np.uint64).reshape(-1, 3)
    return trace_of(linked, RunData((), none, np.empty((0, 8), dtype=np.uint32), addresses, values))


def require_same(found: Trace | None, wanted: Trace) -> None:
    """Require two traces to be equal."""
    assert found is not None
    for name, numbers in vars(wanted).items():
        assert getattr(found, name).dtype == numbers.dtype
        np.testing.assert_array_equal(getattr(found, name), numbers)


def with_main(made: Statement, name: str, main: np.ndarray) -> Statement:
    """Return the statement with another trace of a table."""
    return Statement([replace(own, main=main) if own.air.name == name else own for own in made.tables])
