"""The traces of the statement about openings, as trace tasks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from graphprover.air import Air
from graphprover.device import Array, Device
from graphprover.recursion.kernels import count_cells, count_halves, count_xors, fill_compress, fill_row
from graphprover.recursion.kernels.compressions import Compressions
from graphprover.recursion.kernels.segments import Segments
from graphprover.recursion.tables import compress, row, xor
from graphprover.recursion.traces.node import Nodes, node_trace
from graphprover.statement.trace_task import TraceTask

T = TypeVar("T", Compressions, Segments, Nodes)


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of all traces: arrays of one device."""

    calls: Compressions  # of the segments' blocks, then of the nodes
    segments: Segments
    nodes: Nodes
    cells: Array  # uint64 (3, cells): the contents of memory
    caps: Array  # uint64 (caps,): lookups of each digest of a cap


def loading(inputs: Inputs) -> TraceTask:
    """Return the task that loads the inputs, which are on the host."""
    return TraceTask("openings", load_inputs, {"inputs": inputs})


def trace_tasks(load: TraceTask, tables: Mapping[str, tuple[Air, int]]) -> dict[str, TraceTask]:
    """Return the trace task of each table, by name.

    Args:
        load: The task that loads the inputs.
        tables: The tables with their rows, by name: compress, xor, row, node, caps, cells, chunks.
    """
    made = {}
    for name, (air, rows) in tables.items():
        fixed = {"rows": rows}
        if name == "xor":
            fixed = {"compress_rows": tables["compress"][1]}
        made[name] = TraceTask(name, _TRACES[name], fixed, (load,), (air.describe().main_width, rows))
    return made


def load_inputs(device: Device, *, inputs: Inputs) -> Inputs:
    """Return the inputs on a device."""
    cells, caps = device.load_all([inputs.cells, inputs.caps])
    calls, segments, nodes = inputs.calls, inputs.segments, inputs.nodes
    return Inputs(_loaded(device, calls), _loaded(device, segments), _loaded(device, nodes), cells, caps)


def _loaded(device: Device, of: T) -> T:
    """Return a dataclass of arrays with its arrays on a device."""
    return type(of)(*device.load_all([*vars(of).values()]))


def compress_trace(device: Device, inputs: Inputs, *, rows: int) -> Array:
    """Return the trace of `Compress`."""
    main = device.arrays.empty((compress.WIDTH, rows), dtype=np.uint64)
    fill_compress(device, inputs.calls, main)
    return main


def xor_trace(device: Device, inputs: Inputs, *, compress_rows: int) -> Array:
    """Return the trace of `Xor`: the lookups of `Compress` with this number of rows, and of `Row`."""
    counts = device.arrays.zeros((xor.COUNTS, xor.ROWS), dtype=np.uint64)
    count_xors(device, inputs.calls, compress_rows, counts)
    count_halves(device, inputs.segments, counts[xor.HALF])
    return counts


def row_trace(device: Device, inputs: Inputs, *, rows: int) -> Array:
    """Return the trace of `Row`."""
    main = device.arrays.empty((row.WIDTH, rows), dtype=np.uint64)
    fill_row(device, inputs.segments, inputs.cells, main)
    return main


def nodes_trace(device: Device, inputs: Inputs, *, rows: int) -> Array:
    """Return the trace of `Node`."""
    return node_trace(device, inputs.nodes, rows)


def caps_trace(device: Device, inputs: Inputs, *, rows: int) -> Array:
    """Return the trace of `Caps`."""
    counts = device.arrays.zeros((1, rows), dtype=np.uint64)
    counts[0, : len(inputs.caps)] = inputs.caps
    return counts


def cells_trace(device: Device, inputs: Inputs, *, rows: int) -> Array:
    """Return the trace of `Cells`."""
    counts = device.arrays.zeros((1, rows), dtype=np.uint64)
    count_cells(device, inputs.segments, counts[0])
    return counts


def chunks_trace(device: Device, inputs: Inputs, *, rows: int) -> Array:
    """Return the trace of `Chunks`, whose rows have nothing to count."""
    return device.arrays.zeros((1, rows), dtype=np.uint64)


_TRACES: dict[str, Callable[..., Array]] = {
    "compress": compress_trace,
    "xor": xor_trace,
    "row": row_trace,
    "node": nodes_trace,
    "caps": caps_trace,
    "cells": cells_trace,
    "chunks": chunks_trace,
}
