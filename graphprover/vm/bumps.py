"""Accesses that come too late: each has a bump right before it, and all bumps are one table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.compiled import njit
from graphprover.device import Array, Device
from graphprover.vm.clock import FAR
from graphprover.vm.partition import Unprovable
from graphprover.vm.rows import HOST, TIMES, Rows, Run, accesses, write_cells
from graphprover.vm.tables.bump import LANES, Bump
from graphprover.vm.tables.step import ONES, Step


@dataclass(frozen=True, eq=False)
class Late:
    """Bumps of one access of a family."""

    access: tuple[str, int, int]  # as in ``accesses``
    places: np.ndarray  # uint32, of the cycles among all in the order of the partition


def late_accesses(run: Run, step: Step, first: int, last: int) -> list[Late]:
    """The accesses of a family, which proves the cycles first..last of the order, that come too late; on the host.

    Raises Unprovable for one that a single bump does not help.
    """
    found = []
    cycles, entries = run.order[first:last], run.entries[first:last]
    for cell, i, slot in accesses(step):
        if cell in TIMES:
            late = _late(cycles, run.cycles[TIMES[cell]], slot)
        else:
            rows = Rows(HOST, run, cycles, entries)
            late = np.flatnonzero(rows.now + np.uint64(slot) - rows.before(cell, i) > FAR)
        if len(late):
            rows = Rows(HOST, run, cycles[late], entries[late])
            if ((rows.now + np.uint64(slot) - rows.before(cell, i) - np.uint64(2)) >> np.uint64(32)).any():
                raise Unprovable("a value was not accessed for more than 2^30 cycles")
            found.append(Late((cell, i, slot), (first + late).astype(np.uint32)))
    return found


@njit(cache=True)
def _late(cycles, t, slot):
    """The places of the cycles whose access at ``slot`` comes too late after t."""
    found = np.empty(len(cycles), dtype=np.int64)
    count = 0
    for i in range(len(cycles)):
        if 4 * (np.int64(cycles[i]) + 1) + slot - np.int64(t[cycles[i]]) > FAR:
            found[count] = i
            count += 1
    return found[:count].copy()


def some(late: Sequence[Late], first: int, last: int) -> list[Late]:
    """The bumps first..last of all of them."""
    found, begin = [], 0
    for each in late:
        places = each.places[max(first - begin, 0) : max(last - begin, 0)]
        begin += len(each.places)
        if len(places):
            found.append(Late(each.access, places))
    return found


def bump_trace(device: Device, run: Run, *, late: Sequence[Late], height: int) -> Array:
    """The trace of these bumps."""
    arrays = device.arrays
    places = device.load(np.concatenate([each.places for each in late]))
    parts, begin = [], 0
    for each in late:
        chosen = places[begin : begin + len(each.places)]
        begin += len(each.places)
        rows = Rows(device, run, run.order[chosen], run.entries[chosen])
        cell, i, slot = each.access
        at, value = rows.accessed(cell, i)
        parts.append((at, rows.before(cell, i), rows.now + slot - 1, value))
    at, t, now, value = (arrays.concatenate(column) for column in zip(*parts, strict=True))
    step = now - t - 1
    cells = {
        "on": np.uint64(1),
        "at": at,
        "t": t,
        "lo": value & ONES,
        "hi": value >> 32,
        "step_low": step & 0xFFFF,
        "step_high": step >> 16,
    }
    trace = arrays.zeros((len(cells) * LANES, height), dtype=np.uint64)
    write_cells(vars(Bump().view(trace)), cells, 0, len(at))
    return trace
