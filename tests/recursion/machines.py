"""Statements of runs, opened rows and nodes, for tests: all tables of a layer, with facts that a verifier has."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from graphprover.air import Air, TableBuilder
from graphprover.device import CpuDevice
from graphprover.field import EXTENSION_DEGREE, Ext
from graphprover.recursion.kernels.compressions import Compressions
from graphprover.recursion.kernels.segments import RowSegments
from graphprover.recursion.kernels.steps import RunSteps
from graphprover.recursion.program.assembler import Assembler
from graphprover.recursion.tables import buses
from graphprover.recursion.tables.blake3 import Blake3
from graphprover.recursion.tables.buses import MACHINE, MessageTag, message
from graphprover.recursion.tables.fixed import Fixed
from graphprover.recursion.tables.machine import LOOKED_UP, RecursionMachine
from graphprover.recursion.traces.machine import TraceInputs, blake3_trace, fixed_trace, load_inputs, machine_trace
from graphprover.recursion.traces.nodes import Nodes
from graphprover.statement.statement import Statement, Table
from tests.recursion.naive_run import run

BLAKE3_TABLE, TABLE = Blake3(), RecursionMachine()
HEAD_PLACE = (2**12 + 7, 5, 9)  # of the public digest, which no test of other tables looks up
NO_DIGEST = [0] * 8
_U32, _U64 = np.uint32, np.uint64


def height(count: int, rows: int = 1) -> int:
    """Return a height for a number of things of some rows."""
    return 1 << max(0, count * rows - 1).bit_length()


def no_segments() -> RowSegments:
    wide = [np.empty((0, width), dtype=dtype) for width, dtype in ((8, _U64), (3, _U64), (5, _U32), (2, _U32))]
    words, places, numbers, children = wide
    return RowSegments(words, np.empty(0, dtype=_U32), np.empty(0, dtype=_U32), places, numbers, children)


def no_nodes() -> Nodes:
    widths = ((3, _U64), (8, _U32), (16, _U32), (2, _U32))
    return Nodes(*(np.empty((0, width), dtype=dtype) for width, dtype in widths))


@cache
def halt() -> tuple[np.ndarray, Any]:
    """Return the fields of the shortest program, and its run."""
    made = Assembler()
    main = made.function("main", arguments=0)
    main.halt()
    linked = made.link(main)
    return linked.fields, run(linked, {})


def halting(cells: np.ndarray | None = None) -> RunSteps:
    """Return the step of the shortest run; memory can have contents, of which the run knows the first."""
    fields, trace = halt()
    found = trace.cells if cells is None else cells
    return RunSteps(fields, trace.pcs, trace.frames, np.zeros(len(trace.pcs), dtype=_U32), found)


class Facts(Air):
    """Messages that are sent as often as their counts say, or received for counts below zero."""

    preprocessed = ("count", "element[25]")
    columns = ("nothing",)
    unread = ("nothing",)

    def __init__(self, facts: Sequence[tuple[int, Sequence[Any]]]) -> None:
        self._trace = np.zeros((26, height(len(facts))), dtype=np.uint64)
        for i, (count, elements) in enumerate(facts):
            self._trace[:, i] = [count % (2**64 - 2**32 + 1), *map(int, elements)]

    def preprocessed_trace(self) -> np.ndarray:
        return self._trace

    def define(self, t: TableBuilder) -> None:
        t.send(MACHINE, t.element, t.count, weight=2**20)


class Known(Air):
    """The contents of some cells of memory, which are looked up once each."""

    preprocessed = ("on", "cell", f"content[{EXTENSION_DEGREE}]")
    columns = ("nothing",)
    unread = ("nothing",)

    def __init__(self, contents: Mapping[int, Ext]) -> None:
        self._trace = np.zeros((5, height(len(contents))), dtype=np.uint64)
        for i, (address, value) in enumerate(contents.items()):
            self._trace[:, i] = [1, address, *value]

    def preprocessed_trace(self) -> np.ndarray:
        return self._trace

    def define(self, t: TableBuilder) -> None:
        t.lookup(buses.MEMORY, [t.cell, *t.content], t.on, weight=1)


def place(where: Sequence[int], digest: Sequence[int]) -> list[Any]:
    """Return the message of a digest at a place."""
    return message(MessageTag.PLACE, *where, *digest)


def statement(
    inputs: TraceInputs,
    facts: Sequence[tuple[int, Sequence[Any]]] = (),
    known: Mapping[int, Ext] | None = None,
    fields: np.ndarray | None = None,
    calls: Compressions | None = None,
) -> Statement:
    """Return the statement of all tables with these inputs.

    Args:
        inputs: The inputs of the traces.
        facts: Messages of the verifier with their counts.
        known: Contents of memory that the verifier knows.
        fields: The fields of the program's instructions, if the verifier has others than the run.
        calls: The calls, if they are not the calls of the inputs.
    """
    device, known = CpuDevice(1), known or {}
    loaded = load_inputs(device, inputs=inputs)
    if calls is not None:
        loaded = replace(loaded, calls=calls)
    blake3_rows, rows = height(max(1, len(loaded.calls)), 16), height(inputs.machine_rows)
    main = machine_trace(device, loaded, rows=rows)
    main[LOOKED_UP, list(known)] += np.uint64(1)
    fixed = Fixed(inputs.steps.fields if fields is None else fields, HEAD_PLACE)
    tables = [
        Table(BLAKE3_TABLE, [], blake3_trace(device, loaded, rows=blake3_rows)),
        Table(TABLE, [], main),
        Table(fixed, NO_DIGEST, fixed_trace(device, loaded, blake3_rows=blake3_rows, of_list=0)),
    ]
    for air in (Facts(facts), Known(known)):
        tables.append(Table(air, [], np.zeros((1, air.preprocessed_trace().shape[1]), dtype=np.uint64)))
    return Statement(tables)


def main_of(made: Statement, name: str = "machine") -> np.ndarray:
    """Return a copy of the trace of a table."""
    (found,) = (own.main for own in made.tables if own.air.name == name)
    assert isinstance(found, np.ndarray)
    return found.copy()


def with_main(made: Statement, main: np.ndarray, name: str = "machine") -> Statement:
    """Return the statement with another trace of a table."""
    return Statement([replace(own, main=main) if own.air.name == name else own for own in made.tables])


def with_air(made: Statement, air: Air) -> Statement:
    """Return the statement with another table of the same name and shape."""
    return Statement([replace(own, air=air) if own.air.name == air.name else own for own in made.tables])
