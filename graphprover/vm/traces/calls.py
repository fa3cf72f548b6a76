"""The traces of host calls that take several rows a call."""

from collections.abc import Callable
from functools import partial

from graphprover.device import Array, Device
from graphprover.vm.kernels import fill_absorbs, fill_fp2, fill_modular, fill_points, fill_sha256
from graphprover.vm.kernels.calls import FP2_TABLES, MODULAR_TABLES, Calls
from graphprover.vm.tables.call import CallTable
from graphprover.vm.tables.clock import clock_of
from graphprover.vm.traces.run import Run

_FILL: dict[str, Callable[[Device, Calls, Array], None]] = {
    "point": fill_points,
    "keccak_absorb": fill_absorbs,
    "sha256": fill_sha256,
    **{table.name: partial(fill_modular, table=table) for table in MODULAR_TABLES.values()},
    **{table.name: partial(fill_fp2, table=table) for table in FP2_TABLES.values()},
}


def call_trace(device: Device, run: Run, *, step: CallTable, height: int, first: int, last: int) -> Array:
    """Return the trace of a chip that proves the cycles first..last of the run's order."""
    main = device.arrays.zeros((step.describe().main_width, height), dtype="uint64")
    cycles = run.cycles
    calls = Calls(
        cycles.order[first:last],
        cycles.rows,
        run.old,
        run.time,
        cycles.new,
        run.program["pc"],
        clock_of(run.start),
    )
    _FILL[step.name](device, calls, main)
    return main
