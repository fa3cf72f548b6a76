"""The traces of host calls that take several rows a call."""

from graphprover.device import Array, Device
from graphprover.vm.accelerators.kernels import CallArrays, fill_calls
from graphprover.vm.accelerators.registry import BY_CHIP
from graphprover.vm.accelerators.table import CallTable
from graphprover.vm.tables.clock import clock_of
from graphprover.vm.traces.run import ReplayedRange


def call_trace(device: Device, run: ReplayedRange, *, step: CallTable, height: int, first: int, last: int) -> Array:
    """Return the trace of a chip that proves the cycles first..last of the run's order."""
    main = device.arrays.zeros((step.describe().main_width, height), dtype="uint64")
    cycles = run.cycles
    calls = CallArrays(
        cycles.order[first:last],
        cycles.rows,
        run.old,
        run.time,
        cycles.new,
        run.program["pc"],
        clock_of(run.start),
    )
    fill_calls(device, BY_CHIP[step.name], calls, main)
    return main
