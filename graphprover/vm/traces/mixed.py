"""The trace of a shared table: each chip's rows are made as for a table of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.device import Array, Device
from graphprover.vm.kernels import place_columns
from graphprover.vm.statement.shape import rows_for
from graphprover.vm.tables.step import Step
from graphprover.vm.traces.chips import fill_trace
from graphprover.vm.traces.run import Run


@dataclass(frozen=True, eq=False)
class SharingChip:
    """A chip in a shared table, which proves the cycles first..last of the run's order."""

    step: Step  # with one lane
    first: int
    last: int


@dataclass(frozen=True)
class Share:
    """Rows of a chip in a table that it shares."""

    chip: int  # index among the sharing chips
    columns: tuple[int, ...]  # the table's column for each of the chip's columns
    start: int  # first of the rows, in the chip's own trace
    first: int  # first of the rows, in the shared table
    rows: int


def sharing_traces(device: Device, run: Run, *, chips: Sequence[SharingChip]) -> list[Array]:
    """Return the trace of each chip, as if it had a table of its own."""
    shapes = [(chip.step.describe().main_width, rows_for(chip.last - chip.first)) for chip in chips]
    return [
        fill_trace(device, run, chip.step, chip.first, chip.last, device.arrays.empty(shape, dtype=np.uint64))
        for chip, shape in zip(chips, shapes, strict=True)
    ]


def mixed_trace(device: Device, traces: Sequence[Array], *, shares: Sequence[Share], width: int, height: int) -> Array:
    """Return the trace of a shared table from the chips' own traces; unused rows are zeros."""
    main = device.arrays.zeros((width, height), dtype=np.uint64)
    moves = [
        (share.chip, own, share.start, column, share.first, share.rows)
        for share in shares
        for own, column in enumerate(share.columns)
    ]
    place_columns(device, traces, np.array(moves, dtype=np.uint64), main)
    return main
