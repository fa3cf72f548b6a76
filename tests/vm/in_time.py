"""A recorded run, replayed in the order of time: each cycle at its own position."""

import numpy as np

from graphprover.device import CpuDevice
from graphprover.vm.executor.execute import Execution
from graphprover.vm.executor.record import INTERVAL
from graphprover.vm.kernels import replay
from graphprover.vm.kernels.tape import empty_cycles
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.partition import groups_of
from graphprover.vm.traces.run import ReplayedRange, load_tape, program_columns

ENTRY = np.uint64(2**32 - 1)  # of a step


def in_time(machine: Machine, execution: Execution, cycle_range: range | None = None) -> ReplayedRange:
    """Replay all cycles, or the cycles of a range, as if all entries were of one group."""
    cycle_range = cycle_range or range(execution.cycles)
    device = CpuDevice(1)
    assert execution.record is not None
    tape = load_tape(device, machine=machine, record=execution.record, cycle_range=cycle_range)
    cycles = empty_cycles(device, len(cycle_range), len(tape.old))
    places = np.maximum(tape.start + INTERVAL * np.arange(len(tape.index)), cycle_range.start) - cycle_range.start
    steps, redirects = groups_of(machine).steps & ENTRY, np.zeros(1, dtype=np.uint64)
    replay(device, tape, steps, redirects, places[None].astype(np.uint32), cycles)
    return ReplayedRange(cycle_range.start, cycles, tape.old, tape.time, program_columns(device, machine))


def instructions(machine: Machine, run: ReplayedRange) -> np.ndarray:
    """Return the instruction of each cycle of a run as its number in the code."""
    return machine.program_entries.instruction[run.cycles.entry]
