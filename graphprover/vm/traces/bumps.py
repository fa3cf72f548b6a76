"""Accesses that come too late: each has a bump right before it, and all bumps are one table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.compiled import njit
from graphprover.device import Array, Device
from graphprover.vm.clock import FAR, clock_of, time_of
from graphprover.vm.limbs import limbs, low_half
from graphprover.vm.partition import Unprovable
from graphprover.vm.tables.bump import BUMP_LANES, REACH, Bump
from graphprover.vm.tables.step import Step
from graphprover.vm.traces.families import write_cells
from graphprover.vm.traces.rows import TIMES, Access, Rows, accesses_of, host_rows
from graphprover.vm.traces.run import Run

_clock_of, _time_of = njit(nogil=True)(clock_of), njit(nogil=True)(time_of)


@dataclass(frozen=True, eq=False)
class Late:
    """Bumps of one access of a family."""

    access: Access
    places: np.ndarray  # uint32, of the cycles among all in the order of the partition


def late_accesses(run: Run, step: Step, first: int, last: int) -> list[Late]:
    """The accesses of a family, which proves the cycles first..last of the order, that come too late; on the host.

    Raises Unprovable for one that a single bump does not help.
    """
    found = []
    cycles, entries = run.order[first:last], run.entries[first:last]
    for access in accesses_of(step):
        if access.cell in TIMES:
            late = _late(cycles, run.cycles[TIMES[access.cell]], access.slot, run.start)
        else:
            rows = host_rows(run, cycles, entries)
            late = np.flatnonzero(rows.now + access.slot - rows.before(access) > FAR)
        if len(late):
            rows = host_rows(run, cycles[late], entries[late])
            if (_distance(rows, access) > REACH).any():
                raise Unprovable("a value was not accessed for more than 2^30 cycles")
            found.append(Late(access, (first + late).astype(np.uint32)))
    return found


@njit(cache=True)
def _late(cycles, t, slot, start):
    """The places of the cycles, counted from ``start``, whose access at ``slot`` comes too late after t."""
    found = np.empty(len(cycles), dtype=np.int64)
    count = 0
    for i in range(len(cycles)):
        if _time_of(_clock_of(start + np.int64(cycles[i])), slot) - np.int64(t[cycles[i]]) > FAR:
            found[count] = i
            count += 1
    return found[:count].copy()


def late_between(late: Sequence[Late], first: int, last: int) -> list[Late]:
    """The bumps first..last of all of them."""
    found, begin = [], 0
    for bumps in late:
        places = bumps.places[max(first - begin, 0) : max(last - begin, 0)]
        begin += len(bumps.places)
        if len(places):
            found.append(Late(bumps.access, places))
    return found


def _distance(rows: Rows, access: Access) -> Array:
    """From the access before to the bump, which comes right before this one."""
    return rows.now + access.slot - 1 - rows.before(access)


def bump_trace(device: Device, run: Run, *, late: Sequence[Late], height: int) -> Array:
    """The trace of these bumps."""
    arrays = device.arrays
    places = device.load(np.concatenate([bumps.places for bumps in late]))
    columns, begin = [], 0
    for bumps in late:
        chosen = places[begin : begin + len(bumps.places)]
        begin += len(bumps.places)
        rows = Rows(device, run, run.order[chosen], run.entries[chosen])
        columns.append((*rows.accessed(bumps.access), rows.before(bumps.access), _distance(rows, bumps.access)))
    at, value, t, step = (arrays.concatenate(column) for column in zip(*columns, strict=True))
    lo, hi = limbs(value)
    cells = {
        "on": np.uint64(1),
        "at": at,
        "t": t,
        "lo": lo,
        "hi": hi,
        "step_low": low_half(step - 1),
        "step_high": (step - 1) >> 16,
    }
    trace = arrays.zeros((len(cells) * BUMP_LANES, height), dtype=np.uint64)
    write_cells(vars(Bump().view(trace)), cells, 0, len(at))
    return trace
