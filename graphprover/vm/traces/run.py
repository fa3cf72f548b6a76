"""A cycle range of a run as arrays of one device, replayed from its record: the source of the chips' traces."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from graphprover.device import Array, Device
from graphprover.runtime.once import once
from graphprover.vm.executor.predecode import predecode
from graphprover.vm.executor.record import INTERVAL, LOG_INTERVAL, Record
from graphprover.vm.kernels import replay
from graphprover.vm.kernels.tape import Cycles, Tape, empty_cycles
from graphprover.vm.statement.statement import Machine
from graphprover.vm.tables.program import FIELDS
from graphprover.vm.traces.partition import Partition, count, groups_of

# Bytes of a whole run's record whose copies a device may cache until the record is freed: plans of memory do not count
# them, and for longer runs the second copy takes little of the proof's time.
_CACHED = 32 << 20


@dataclass(frozen=True, eq=False)
class ReplayedRange:
    """The cycles of a cycle range, counted from its first, as arrays of one device."""

    start: int  # the range's first cycle in the run
    cycles: Cycles
    old: Array  # uint64 (accesses,), see ``Record``
    time: Array  # uint64 (accesses,)
    program: Mapping[str, Array]  # uint64, columns of the program table; offset: the instruction's immediate mod 2^64


def load_tape(device: Device, *, machine: Machine, record: Record, cycle_range: range) -> Tape:
    """Return the record of a cycle range, on a device."""
    if cycle_range == range(record.cycles) and sum(stream.nbytes for stream in record.streams) <= _CACHED:
        arrays = device.constant_all(_whole(record))  # the census and the proof read them
    else:
        arrays = device.load_all(_arrays(record, cycle_range))
    names = "old", "time", "index", "at", "values", "times"
    return Tape(
        code=device.constant(predecode(machine.instructions)),
        code_base=machine.image.code_base,
        **dict(zip(names, arrays, strict=True)),
        start=cycle_range.start >> LOG_INTERVAL << LOG_INTERVAL,
        first=cycle_range.start,
        last=cycle_range.stop,
    )


def _arrays(record: Record, cycle_range: range) -> tuple[np.ndarray, ...]:
    """Return the arrays of the tape of a cycle range: words, times, index, at, values and times of registers."""
    first, last = cycle_range.start >> LOG_INTERVAL, -(-cycle_range.stop // INTERVAL)
    begin = int(record.at[first])
    end = int(record.at[last]) if last < len(record.at) else len(record.old)
    at = (record.at[first:last] - np.uint64(begin)).astype(np.uint32)
    of_snapshots = record.index[first:last], at, record.values[first:last], record.times[first:last]
    return record.old[begin:end], record.time[begin:end], *of_snapshots


@once
def _whole(record: Record) -> tuple[np.ndarray, ...]:
    """Return the same arrays for each tape of a whole run, so that a device caches its copies."""
    return _arrays(record, range(record.cycles))


def load_run(device: Device, tape: Tape, *, machine: Machine, partition: Partition) -> ReplayedRange:
    """Return the cycles of a cycle range, in the order of their groups."""
    counted = count(device, tape, groups_of(machine).steps, partition.redirects)
    cycles = empty_cycles(device, tape.last - tape.first, len(tape.old))
    replay(device, tape, counted.steps, counted.redirects, counted.places, cycles)
    return ReplayedRange(tape.first, cycles, tape.old, tape.time, program_columns(device, machine))


def program_columns(device: Device, machine: Machine) -> dict[str, Array]:
    """Return the columns of the program table; see `ReplayedRange`."""
    names = (f"{name}_at" if name in "dab" else name for name in FIELDS)
    columns = *device.constant(machine.entries), device.constant(machine.offset_of_entry)
    return dict(zip((*names, "offset"), columns, strict=True))
