"""The trace of a table that chips share: the rows of each, made as those of a table of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.air import AirDescription
from graphprover.device import Array, Device
from graphprover.vm.kernels import place_columns
from graphprover.vm.statement.shape import rows_for
from graphprover.vm.tables.step import Step
from graphprover.vm.traces.chips import chip_trace
from graphprover.vm.traces.counts import count
from graphprover.vm.traces.run import Run


@dataclass(frozen=True, eq=False)
class SharingChip:
    """The few instructions of a chip that shares a table: the cycles first..last of the run's order."""

    step: Step  # of one lane
    first: int
    last: int


@dataclass(frozen=True)
class Share:
    """Rows of a chip in a table that it shares."""

    chip: int  # its number among those that share
    columns: tuple[int, ...]  # where each of its columns is
    start: int  # the first of the rows, among the chip's own
    first: int  # and here
    rows: int


def sharing_traces(device: Device, run: Run, *, chips: Sequence[SharingChip]) -> list[Array]:
    """The trace of each chip, as if it had a table of its own."""
    return [
        chip_trace(device, run, step=few.step, height=rows_for(few.last - few.first), first=few.first, last=few.last)
        for few in chips
    ]


def count_sharing(device: Device, traces: Sequence[Array], *, airs: Sequence[AirDescription]) -> Array:
    """How often these traces look up each row of the fixed tables; see `count`."""
    return count(device, *traces, airs=airs)


def mixed_trace(device: Device, traces: Sequence[Array], *, shares: Sequence[Share], width: int, height: int) -> Array:
    """The trace of a table of so many columns and rows, from the chips' own; rows of none are zeros."""
    main = device.arrays.zeros((width, height), dtype=np.uint64)
    moves = [
        (share.chip, own, share.start, column, share.first, share.rows)
        for share in shares
        for own, column in enumerate(share.columns)
    ]
    place_columns(device, traces, np.array(moves, dtype=np.uint64), main)
    return main
