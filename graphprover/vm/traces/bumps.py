"""Bumps of late accesses: each is an access right before a late one, and all bumps share one table."""

from collections.abc import Sequence

import numpy as np

from graphprover.device import Array, Device
from graphprover.vm.kernels import fill_bumps
from graphprover.vm.kernels.bumps import BUMP_WORDS, Accessed
from graphprover.vm.tables.bump import BUMP_LANES
from graphprover.vm.tables.clock import clock_of
from graphprover.vm.traces.partition import Late
from graphprover.vm.traces.run import ReplayedRange


def bumps(device: Device, run: ReplayedRange, *, late: Sequence[Late]) -> Array:
    """Return the words of all bumps in order: uint64 (BUMP_WORDS, bumps)."""
    program = {name: run.program[name] for name in ("a_at", "b_at", "d_at", "offset")}
    accessed = Accessed(run.cycles, run.old, run.time, **program, first_clock=clock_of(run.start))
    sought = [
        (some.first, some.last, access.column, access.slot, access.pointer, access.offset)
        for some in late
        for access in (some.access,)
    ]
    made = device.arrays.empty((BUMP_WORDS, sum(some.count for some in late)), dtype=np.uint64)
    fill_bumps(device, accessed, np.array(sought, dtype=np.uint64), made)
    return made


def bump_trace(device: Device, cells: Array, *, first: int, last: int, height: int) -> Array:
    """Return the trace of the bumps first..last."""
    trace = device.room((1 + BUMP_WORDS) * BUMP_LANES, height)
    trace.fill(0)
    # The table has ``on`` and then the words of a bump, each for one lane after another.
    words = trace.reshape(1 + BUMP_WORDS, -1)
    words[0, : last - first] = 1
    words[1:, : last - first] = cells[:, first:last]
    return trace
