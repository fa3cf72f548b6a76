"""A run cut into windows of cycles, each of which is proved in a piece of its own.

Clocks and times are those of the run, so neighbours are joined by the messages of the bus alone, and a window's record
is a part of the run's. What the record of one window lacks to make its traces is what registers held before, and when
that was accessed: the first access of a register in the window takes it.
"""

from bisect import bisect_left
from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np

from graphprover.vm.clock import LOG_SLOTS, SLOT_B, SLOT_D, SLOTS, clock_of, time_of
from graphprover.vm.record import Crossings, Record


def windows_of(cycles: int, pieces: int = 1, length: int | None = None) -> list[range]:
    """The windows of a run of so many cycles: so many ``pieces`` of them, as equal as can be; or of this ``length``.

    The last window of a ``length`` may be shorter. Raises ValueError for both, for numbers below 1, and for more pieces
    than there are cycles.
    """
    if length is not None:
        if pieces != 1:
            raise ValueError("a run is cut into so many pieces or into windows of so many cycles, not both")
        if length < 1:
            raise ValueError(f"a window has at least one cycle, not {length}")
        bounds = [*range(0, cycles, length), cycles]
    elif 1 <= pieces <= cycles:
        bounds = [cycles * i // pieces for i in range(pieces + 1)]
    else:
        raise ValueError(f"a run of {cycles:,} cycles is cut into 1 to {cycles:,} pieces, not {pieces:,}")
    return [range(start, end) for start, end in pairwise(bounds)]


@dataclass(frozen=True, eq=False)
class Held:
    """What the registers of a window held when it began, by when that was accessed last."""

    t: np.ndarray  # uint64, rising; first 0, the time of what every register held when the run began
    value: np.ndarray  # uint64; first 0


BEGINNING = Held(np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.uint64))


def record_of(record: Record, window: range) -> Record:
    """The part of a run's record for these cycles, which are counted from the window's first; its arrays are views.

    Times, registers and memory are the run's.
    """
    start, end = window.start, window.stop
    names = [field.name for field in fields(Record) if isinstance(getattr(record, field.name), np.ndarray)]
    columns = {name: getattr(record, name)[start:end] for name in names}
    crossings, calls = record.crossings, record.calls
    first, last = np.searchsorted(crossings.cycle, (start, end))
    own = Crossings(
        crossings.cycle[first:last] - np.uint32(start),
        crossings.old[first:last],
        crossings.new[first:last],
        crossings.t[first:last],
    )
    begin, stop = (bisect_left(calls, cycle, key=lambda call: call.cycle) for cycle in (start, end))
    made = tuple(replace(call, cycle=call.cycle - start) for call in calls[begin:stop])
    return replace(record, **columns, crossings=own, calls=made)


def held_before(record: Record, window: range) -> Held:
    """What the accesses before a window left in the registers that are written in it."""
    if not window.start:
        return BEGINNING
    t = record.t_d[window.start : window.stop]
    # Less 1, so that what was never accessed, at time 0, is the last.
    times = np.unique(t[t - np.uint64(1) < np.uint64(time_of(clock_of(window.start)) - 1)])
    cycle, slot = (times >> np.uint64(LOG_SLOTS)).astype(np.int64) - 1, times & np.uint64(SLOTS - 1)
    values = np.where(slot == SLOT_D, record.c[cycle], np.where(slot == SLOT_B, record.b[cycle], record.a[cycle]))
    return Held(np.concatenate([BEGINNING.t, times]), np.concatenate([BEGINNING.value, values]))
