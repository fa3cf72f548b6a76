"""The trace tasks of a layer's tables."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from graphprover.device import Array, Device
from graphprover.protocol.blake3 import IV
from graphprover.recursion.kernels import (
    count_cells,
    count_halves,
    count_numbers,
    count_operands,
    count_xors,
    fill_blake3,
    fill_segments,
    fill_steps,
    hash_segments,
)
from graphprover.recursion.kernels.compressions import Compressions, empty_calls
from graphprover.recursion.kernels.segments import RowSegments
from graphprover.recursion.kernels.steps import RunSteps
from graphprover.recursion.tables import blake3, columns, fixed
from graphprover.recursion.tables.blake3 import NODE_PARAMETERS, CallUse
from graphprover.recursion.tables.machine import ADDRESS, LOOKED_UP, VALUE
from graphprover.recursion.traces.nodes import Nodes, fill_nodes
from graphprover.statement.trace_task import TraceTask

_IV = np.array(IV, dtype=np.uint32)
_PARAMETERS = np.array(NODE_PARAMETERS, dtype=np.uint32)
_WIDTHS = blake3.WIDTH, columns.WIDTH, fixed.WIDTH
T = TypeVar("T", RowSegments, Nodes, RunSteps)


@dataclass(frozen=True, eq=False)
class TraceInputs:
    """The inputs of all traces: arrays of the host."""

    segments: RowSegments  # without the words of parents
    nodes: Nodes
    steps: RunSteps

    @property
    def calls(self) -> int:
        """Return the number of calls that hash the segments' blocks and the nodes."""
        return len(self.segments.words) + len(self.nodes.places)

    @property
    def machine_rows(self) -> int:
        """Return the rows of `machine` that they need."""
        rows = len(self.steps.pcs) + self.segments.rows + len(self.nodes.places)
        return max(rows, self.steps.cells.shape[1])


@dataclass(frozen=True, eq=False)
class Loaded:
    """The inputs of all traces, with the calls that hash them: arrays of one device."""

    calls: Compressions  # of the segments' blocks, then of the nodes
    segments: RowSegments
    digests: Array  # of the segments, uint32 (segments, 8)
    nodes: Nodes
    steps: RunSteps


def trace_tasks(inputs: TraceInputs, rows: Mapping[str, int], of_list: int) -> dict[str, TraceTask]:
    """Return the trace task of each table, by name.

    Args:
        inputs: The inputs on the host.
        rows: The rows of `blake3` and of `machine`.
        of_list: Lookups of the list of heads.
    """
    load = _load(inputs)
    with_rows = {name: {"rows": rows[name]} for name in rows}
    fixed_numbers = {"blake3_rows": rows["blake3"], "of_list": of_list}
    return {
        "blake3": TraceTask("blake3", blake3_trace, with_rows["blake3"], (load,), (blake3.WIDTH, rows["blake3"])),
        "machine": TraceTask("machine", machine_trace, with_rows["machine"], (load,), (columns.WIDTH, rows["machine"])),
        "fixed": TraceTask("fixed", fixed_trace, fixed_numbers, (load,), (fixed.WIDTH, fixed.ROWS)),
    }


def merged_task(inputs: TraceInputs, rows: int, of_list: int) -> TraceTask:
    """Return the trace task of the merged table; arguments are as for `trace_tasks`."""
    numbers = {"rows": rows, "of_list": of_list}
    return TraceTask("layer", merged_trace, numbers, (_load(inputs),), (sum(_WIDTHS), rows))


def _load(inputs: TraceInputs) -> TraceTask:
    return TraceTask("inputs", load_inputs, {"inputs": inputs})


def load_inputs(device: Device, *, inputs: TraceInputs) -> Loaded:
    """Return the inputs on a device, after the hashing of their segments there."""
    of = inputs
    segments, nodes, steps = _loaded(device, of.segments), _loaded(device, of.nodes), _loaded(device, of.steps)
    return Loaded(*calls_of(device, segments, nodes), nodes, steps)


def calls_of(device: Device, segments: RowSegments, nodes: Nodes) -> tuple[Compressions, RowSegments, Array]:
    """Return the calls that hash segments and nodes, the segments with the words of parents, and their digests.

    Args:
        device: The device of all arrays.
        segments: The segments; the words of parents are not read.
        nodes: The nodes.

    Returns:
        The calls of the segments' blocks and then of the nodes, the segments, whose words are memory of the calls, and
        the digests of the segments, uint32 (segments, 8).
    """
    blocks = len(segments.words)
    calls = empty_calls(device, blocks + len(nodes.places))
    calls.values[blocks:], calls.parameters[blocks:] = device.constant_all([_IV, _PARAMETERS])
    calls.blocks[blocks:], calls.uses[blocks:] = nodes.children, int(CallUse.NODE)
    digests = device.arrays.empty((len(segments.firsts), 8), dtype=np.uint32)
    hash_segments(device, segments, calls, digests)
    return calls, replace(segments, words=calls.blocks[:blocks].view(np.uint64)), digests


def _loaded(device: Device, of: T) -> T:
    """Return a dataclass of arrays with its arrays on a device."""
    return type(of)(*device.load_all([*vars(of).values()]))


def blake3_trace(device: Device, inputs: Loaded, *, rows: int) -> Array:
    """Return the trace of `Blake3`."""
    main = device.arrays.empty((blake3.WIDTH, rows), dtype=np.uint64)
    fill_blake3(device, inputs.calls, main)
    return main


def merged_trace(device: Device, inputs: Loaded, *, rows: int, of_list: int) -> Array:
    """Return the trace of the merged table: the columns of all tables."""
    main = device.arrays.zeros((sum(_WIDTHS), rows), dtype=np.uint64)
    of_machine = blake3.WIDTH + columns.WIDTH
    fill_blake3(device, inputs.calls, main[: blake3.WIDTH])
    _fill_machine(device, inputs, main[blake3.WIDTH : of_machine])
    main[of_machine:, : fixed.ROWS] = fixed_trace(device, inputs, blake3_rows=rows, of_list=of_list)
    return main


def machine_trace(device: Device, inputs: Loaded, *, rows: int) -> Array:
    """Return the trace of `RecursionMachine`: steps, segments, nodes; and memory with its lookups."""
    main = device.arrays.zeros((columns.WIDTH, rows), dtype=np.uint64)
    _fill_machine(device, inputs, main)
    return main


def _fill_machine(device: Device, inputs: Loaded, main: Array) -> None:
    """Write the trace of `RecursionMachine` into zeros."""
    steps, segments, arrays = inputs.steps, inputs.segments, device.arrays
    fill_steps(device, steps, main)
    fill_segments(device, segments, inputs.digests, steps.cells, main, len(steps.pcs))
    fill_nodes(main, inputs.nodes, len(steps.pcs) + segments.rows)
    size = steps.cells.shape[1]
    main[ADDRESS] = arrays.arange(main.shape[1], dtype=np.uint64)
    main[VALUE : VALUE + len(steps.cells), :size] = steps.cells
    counts = arrays.zeros(size, dtype=np.uint64)
    count_operands(device, steps, counts)
    count_cells(device, segments, counts)
    main[LOOKED_UP, :size] = counts


def fixed_trace(device: Device, inputs: Loaded, *, blake3_rows: int, of_list: int) -> Array:
    """Return the trace of `Fixed`: the lookups by the other tables, of which `blake3` has this number of rows."""
    main, first = device.arrays.zeros((fixed.WIDTH, fixed.ROWS), dtype=np.uint64), fixed.FIRST_COLUMNS
    count_xors(device, inputs.calls, blake3_rows, main[: fixed.XORS])
    count_halves(device, inputs.segments, main[first["count_half"]])
    count_numbers(device, inputs.steps.pcs, main[first["steps"]])
    main[first["asked"], 0] = of_list
    return main
