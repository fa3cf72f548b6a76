"""The kernels of the recursion machine: its traces on a CPU and on a GPU.

``cpu/`` and ``cuda/`` are twins: each has the functions below, for the devices of its kind. compressions.py has the
format that both read.
"""

from typing import Any

from graphprover.device import Array, Device
from graphprover.device.twins import twin
from graphprover.recursion.kernels.compressions import Compressions, require_counts, require_rows

# The module of the functions for each kind of device.
TWINS = {
    "cpu": "graphprover.recursion.kernels.cpu.compress",
    "cuda": "graphprover.recursion.kernels.cuda.compress",
}


def _twin(device: Device) -> Any:
    return twin(TWINS, device)


def fill_compress(device: Device, calls: Compressions, main: Array) -> None:
    """Write the trace of `Compress`: the calls in their order, then idle calls.

    Args:
        device: The device of all arrays.
        calls: The calls.
        main: uint64 (columns, rows), contiguous. All of it is written.

    Raises:
        ValueError: For arrays of other kinds, and for calls that do not fit the rows.
    """
    calls.require(main.shape[-1])
    require_rows(main)
    _twin(device).fill_compress(device, calls, main)


def count_xors(device: Device, calls: Compressions, rows: int, counts: Array) -> None:
    """Add to ``counts`` how often the trace of these calls looks up each pair of bytes on each bus.

    Args:
        device: The device of all arrays.
        calls: The calls.
        rows: The rows of their trace, idle calls included.
        counts: uint64 (3, 2^16), contiguous: the columns of `Xor`.

    Raises:
        ValueError: For arrays of other kinds, and for calls that do not fit the rows.
    """
    calls.require(rows)
    require_counts(counts)
    _twin(device).count_xors(device, calls, rows, counts)
