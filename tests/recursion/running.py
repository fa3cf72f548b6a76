"""Programs with their statements, for tests."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from graphprover.field import Ext
from graphprover.recursion.kernels.steps import RunSteps
from graphprover.recursion.program.assembler import Assembler, FrameCell, Linked, Routine
from graphprover.recursion.traces.machine import Loaded, TraceInputs, load_inputs
from graphprover.recursion.witness.run import Contradiction, Trace, requests
from graphprover.recursion.witness.run import run as run_compiled
from graphprover.recursion.witness.run_data import RunData
from graphprover.statement.statement import Statement
from tests.recursion.machines import no_nodes, no_segments, statement
from tests.recursion.naive_run import Rows, run

FIRST_INPUT = 3  # the address of the first argument of a program


@dataclass(frozen=True, eq=False)
class Ran:
    """A program with a run of it."""

    linked: Linked
    inputs: Mapping[int, Ext]
    trace: Trace

    @property
    def steps(self) -> RunSteps:
        """Return the steps."""
        trace = self.trace
        return RunSteps(self.linked.fields, trace.pcs, trace.frames, self.asked, trace.cells)

    @property
    def asked(self) -> np.ndarray:
        """Return two lookups for each digest of a cap."""
        asked = np.zeros(len(self.trace.pcs), dtype=np.uint32)
        asked[requests(self.linked, self.trace, "cap")[0]] = 2
        return asked

    @property
    def known_lookups(self) -> np.ndarray:
        """Return the lookups of each cell by the table of inputs."""
        counts = np.zeros(self.trace.cells.shape[1], dtype=np.uint64)
        counts[list(self.inputs)] = 1
        return counts

    @property
    def traced(self) -> TraceInputs:
        """Return the inputs of the traces."""
        return TraceInputs(no_segments(), no_nodes(), self.steps)

    def inputs_on(self, device: Any) -> Loaded:
        """Return the inputs of the traces on a device."""
        return load_inputs(device, inputs=self.traced)

    def statement(self, *facts: tuple[int, Sequence[int]]) -> Statement:
        """Return the statement that the program halts with these inputs."""
        return statement(self.traced, facts, self.inputs)


def program(arguments: int) -> tuple[Assembler, Routine, tuple[FrameCell, ...]]:
    """Return a program with its first function and that one's arguments."""
    made = Assembler()
    main = made.function("main", arguments=arguments)
    return made, main, main.arguments


def ran(made: Assembler, main: Routine, *values: Ext | int, rows: Rows | None = None) -> Ran:
    """End the first function, and return a run with these arguments; compiled code has the same one, without rows."""
    if not main.ended:
        main.halt()
    linked = made.link(main)
    inputs = {FIRST_INPUT + i: (value, 0, 0) if isinstance(value, int) else value for i, value in enumerate(values)}
    if rows is None:
        return Ran(linked, inputs, run_by_both(linked, inputs))
    return Ran(linked, inputs, run(linked, inputs, rows))


def run_by_both(linked: Linked, inputs: Mapping[int, Ext]) -> Trace:
    """Run a program in Python and by compiled code, which have the same trace, or fail at one instruction."""
    try:
        wanted = run(linked, inputs)
    except (Contradiction, ValueError) as error:
        line = str(error).partition(":")[0] if " line " in str(error) else ""
        with pytest.raises(Contradiction, match=re.escape(line)):
            compiled_run(linked, inputs)
        raise
    require_same(compiled_run(linked, inputs), wanted)
    return wanted


def compiled_run(linked: Linked, inputs: Mapping[int, Ext]) -> Trace:
    """Return the run of compiled code with inputs."""
    none = np.empty((0, 3), dtype=np.uint64)
    addresses = np.array(list(inputs), dtype=np.int64)
    values = np.array(list(inputs.values()), dtype=np.uint64).reshape(-1, 3)
    return run_compiled(linked, RunData((), none, np.empty((0, 8), dtype=np.uint32), addresses, values))


def require_same(found: Trace, wanted: Trace) -> None:
    """Require two traces to be equal."""
    for name, numbers in vars(wanted).items():
        assert getattr(found, name).dtype == numbers.dtype
        np.testing.assert_array_equal(getattr(found, name), numbers)
