"""Accesses that come too late: each has a bump right before it, and all bumps are one table."""

from collections.abc import Sequence

import numpy as np

from graphprover.device import Array, Device
from graphprover.vm.clock import FAR
from graphprover.vm.limbs import limbs, low_half
from graphprover.vm.partition import Late
from graphprover.vm.tables.bump import BUMP_LANES, Bump
from graphprover.vm.traces.families import write_cells
from graphprover.vm.traces.rows import Rows
from graphprover.vm.traces.run import Run


def bumps(device: Device, run: Run, *, late: Sequence[Late]) -> Array:
    """The cells of all bumps but ``on``, in order: uint64 (cells, bumps); see `_CELLS`."""
    return device.arrays.concatenate([_bumps(device, run, some) for some in late], axis=1)


_CELLS = ("at", "t", "lo", "hi", "step_low", "step_high")


def _bumps(device: Device, run: Run, late: Late) -> Array:
    arrays, access = device.arrays, late.access
    rows = Rows(device, run, slice(late.first, late.last))
    comes_late = rows.now + access.slot - rows.before(access) > FAR
    # Where their running number goes up; that there are so many has been counted, so that nobody waits for it.
    found = arrays.searchsorted(arrays.cumsum(comes_late), arrays.arange(1, late.count + 1))
    rows = Rows(device, run, late.first + found)
    at, value = rows.accessed(access)
    t = rows.before(access)
    step = rows.now + access.slot - 2 - t  # to right before this access, less 1
    return arrays.stack([at, t, *limbs(value), low_half(step), step >> 16])


def bump_trace(device: Device, cells: Array, *, first: int, last: int, height: int) -> Array:
    """The trace of the bumps first..last."""
    columns = dict(zip(_CELLS, cells[:, first:last], strict=True)) | {"on": np.uint64(1)}
    trace = device.arrays.zeros((len(columns) * BUMP_LANES, height), dtype=np.uint64)
    write_cells(vars(Bump().view(trace)), columns, 0, last - first)
    return trace
