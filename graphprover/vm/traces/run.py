"""A cycle range of a run as arrays of one device, replayed from its record: the source of the chips' traces."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from graphprover.device import Array, Device
from graphprover.vm.executor.predecode import predecode
from graphprover.vm.executor.record import INTERVAL, LOG_INTERVAL, Record
from graphprover.vm.kernels import replay
from graphprover.vm.kernels.tape import Cycles, Tape, empty_cycles
from graphprover.vm.statement.statement import Machine
from graphprover.vm.tables.program import FIELDS
from graphprover.vm.traces.partition import Partition, count, groups_of


@dataclass(frozen=True, eq=False)
class Run:
    """The cycles of a cycle range, counted from its first, as arrays of one device."""

    start: int  # the range's first cycle in the run
    cycles: Cycles
    old: Array  # uint64 (accesses,), see ``Record``
    time: Array  # uint64 (accesses,)
    program: Mapping[str, Array]  # uint64, columns of the program table; offset: the instruction's immediate mod 2^64


def load_tape(device: Device, *, machine: Machine, record: Record, cycle_range: range) -> Tape:
    """Return the record of a cycle range, on a device."""
    first, last = cycle_range.start >> LOG_INTERVAL, -(-cycle_range.stop // INTERVAL)
    begin = int(record.at[first])
    end = int(record.at[last]) if last < len(record.at) else len(record.old)
    index, at, values, times = device.load_all(
        [
            record.index[first:last],
            (record.at[first:last] - np.uint64(begin)).astype(np.uint32),
            record.values[first:last],
            record.times[first:last],
        ]
    )
    return Tape(
        code=device.constant(predecode(machine.instructions)),
        code_base=machine.image.code_base,
        old=device.load(record.old[begin:end]),
        time=device.load(record.time[begin:end]),
        index=index,
        at=at,
        values=values,
        times=times,
        start=first << LOG_INTERVAL,
        first=cycle_range.start,
        last=cycle_range.stop,
    )


def load_run(device: Device, tape: Tape, *, machine: Machine, partition: Partition) -> Run:
    """Return the cycles of a cycle range, in the order of their groups."""
    counted = count(device, tape, groups_of(machine).steps, partition.redirects)
    cycles = empty_cycles(device, tape.last - tape.first, len(tape.old))
    replay(device, tape, counted.steps, counted.redirects, counted.places, cycles)
    return Run(tape.first, cycles, tape.old, tape.time, program_columns(device, machine))


def program_columns(device: Device, machine: Machine) -> dict[str, Array]:
    """Return the columns of the program table; see `Run`."""
    names = (f"{name}_at" if name in "dab" else name for name in FIELDS)
    columns = *device.constant(machine.entries), device.constant(machine.offset_of_entry)
    return dict(zip((*names, "offset"), columns, strict=True))
