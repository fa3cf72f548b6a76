"""The machine's own kernels: what a trace needs that no other statement does.

``cpu/`` and ``cuda/`` are twins: each has the functions below, for the devices of its kind. They take the device as
well, which gives what is general: pieces of rows, streams, and the count of what was launched. Formats that both read
are in lanes.py, keys.py and tape.py.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from graphprover.device import Array, Device
from graphprover.vm.kernels.keys import Keys
from graphprover.vm.kernels.lanes import Cell, Lanes
from graphprover.vm.kernels.tape import Cycles, Tape

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


def census(device: Device, tape: Tape, steps: Array, counts: Array, late: Array, refused: Array) -> None:
    """Count what the cycles of a window need.

    ``steps`` is uint64 (WAYS * instructions,), see tape.py. ``counts`` uint32 (groups, intervals), all zero: becomes
    how many cycles of the window each group has in each interval. ``late`` uint64 (groups, ACCESSES) grows by how many
    accesses come late. ``refused`` uint64 (2,), by UNPROVED and UNREACHED: falls to the smallest cycle of the run that
    no table proves, and to the smallest of the others with an access that no bump reaches. Raises ValueError for a tape
    that is none.
    """
    tape.require()
    _twin(device).census(device, tape, steps, counts, late, refused)


def replay(device: Device, tape: Tape, steps: Array, places: Array, cycles: Cycles) -> None:
    """Write what the cycles of a window were.

    ``places`` is uint32 (groups, intervals): where the first cycle of each group in each interval goes; further ones go
    behind. What it holds afterwards is of no use. Cycles that no table proves are not written. Raises ValueError for a
    tape that is none.
    """
    tape.require()
    _twin(device).replay(device, tape, steps, places, cycles)
