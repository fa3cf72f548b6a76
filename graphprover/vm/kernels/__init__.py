"""The machine's own kernels: what a trace needs that no other statement does.

``cpu/`` and ``cuda/`` are twins: each has ``fill_lanes`` and ``count_keys``, for the devices of its kind. They take the
device as well, which gives what is general: pieces of rows, streams, and the count of what was launched. Formats that
both read are in lanes.py and keys.py.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from graphprover.device import Array, Device
from graphprover.vm.kernels.keys import Keys
from graphprover.vm.kernels.lanes import Cell, Lanes

# By the kind of a device, the module with its functions; imported when it is needed, since it may need a compiler.
TWINS = {"cpu": "graphprover.vm.kernels.cpu", "cuda": "graphprover.vm.kernels.cuda"}


def _twin(device: Device) -> Any:
    return import_module(TWINS[device.kind])


def fill_lanes(device: Device, cells: Sequence[Cell], lanes: Lanes) -> None:
    """Write the cells of all lanes of a table that are copies.

    Raises ValueError for a cell of other lanes, and for arrays that are not contiguous.
    """
    _twin(device).fill_lanes(device, cells, lanes)


def count_keys(device: Device, main: Array, keys: Keys, counts: Array) -> None:
    """Add how often the rows of a trace ask for each number to ``counts``.

    ``main`` is uint64 (columns, rows), rows a multiple of 8; ``counts`` uint64 (numbers,). Raises ValueError for keys
    that read a column or count in a place that is not there.
    """
    keys.require(len(main), len(counts))
    _twin(device).count_keys(device, main, keys, counts)


def count_entries(device: Device, entries: Array, counts: Array) -> None:
    """Add how often each number is among ``entries``, uint32 (n,), to ``counts``, uint64, which has a place for all."""
    _twin(device).count_entries(device, entries, counts)
