"""The host calls of a table as the kernels of their traces take them, on both devices.

The i-th call is the cycle ``order[i]`` of a cycle range. Its columns are in ``rows`` (vm/kernels/tape.py), its accesses
in ``old``, ``time`` and ``new``, its instruction's address in ``pc`` by its entry of the program table.
"""

from dataclasses import dataclass

from graphprover.device import Array, Device
from graphprover.device.twins import twin
from graphprover.vm.accelerators.host_call import Accelerator

# The module of ``fill_calls`` for each kind of device.
TWINS = {"cpu": "graphprover.vm.accelerators.cpu", "cuda": "graphprover.vm.accelerators.cuda"}


@dataclass(frozen=True, eq=False)
class CallArrays:
    """Host calls of one chip: contiguous arrays of one device."""

    order: Array  # uint32 (calls,)
    rows: Array  # uint64 (cycles, ROW_WORDS)
    old: Array  # uint64 (accesses,), see ``tape.Tape``
    time: Array  # uint64 (accesses,), see ``tape.Tape``
    new: Array  # uint64 (accesses,), see ``tape.Cycles``
    pc: Array  # uint64 (entries,)
    first_clock: int  # of cycle 0

    def require(self, main: Array, width: int, rows: int) -> None:
        """Raise ValueError for calls of ``rows`` rows each that do not fit the trace, and for other arrays."""
        if main.shape[0] != width or main.dtype != "uint64" or not main.flags.c_contiguous:
            raise ValueError(f"a trace of {width} columns is contiguous uint64, not {main.dtype} {main.shape}")
        if rows * len(self.order) > main.shape[1]:
            raise ValueError(f"{len(self.order)} calls of {rows} rows do not fit {main.shape[1]} rows")
        for name in ("order", "rows", "old", "time", "new", "pc"):
            array = getattr(self, name)
            if array.dtype != ("uint32" if name == "order" else "uint64") or not array.flags.c_contiguous:
                raise ValueError(f"{name} is {array.dtype} {array.shape}")


def fill_calls(device: Device, accelerator: Accelerator, calls: CallArrays, main: Array) -> None:
    """Write the rows of calls to the first rows of ``main``, uint64 (columns, rows), of zeros.

    Raises ValueError for calls that do not fit it, and for other arrays than the formats say.
    """
    calls.require(main, accelerator.width, accelerator.rows)
    twin(TWINS, device).fill_calls(device, accelerator, calls, main)
