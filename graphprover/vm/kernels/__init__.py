"""The machine's own kernels: operations on traces that no other statement needs, beside those of vm/accelerators/.

``cpu/`` and ``cuda/`` are twins: each has the functions below, for the devices of its kind. The device comes as an
argument and provides the general parts: row ranges, streams, and the count of launches. Formats that both read are in
bumps.py, keys.py, lanes.py and tape.py.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphprover.device import Array, Device
from graphprover.device.twins import twin
from graphprover.vm.kernels.bumps import Accessed
from graphprover.vm.kernels.keys import Keys
from graphprover.vm.kernels.lanes import Code, Lanes
from graphprover.vm.kernels.tape import Cycles, Tape

# The module of the functions for each kind of device.
TWINS = {"cpu": "graphprover.vm.kernels.cpu", "cuda": "graphprover.vm.kernels.cuda"}


def _twin(device: Device) -> Any:
    return twin(TWINS, device)


def expect(device: Device) -> None:
    """Compile these kernels in the background by a GPU's compiler, which does not need Python."""
    if device.kind == "cuda":
        _twin(device).expect(device)


def fill_lanes(device: Device, traces: Sequence[tuple[Code, Lanes, Array]]) -> None:
    """Write the cells of all lanes of traces: the executing lanes' cells, and zeros for idle ones.

    Args:
        device: The device of all arrays.
        traces: Each with its code and its lanes: uint64 (columns, rows) whose columns are contiguous. A trace may be
            some rows of a table.

    Raises:
        ValueError: For lanes that do not fit their trace, and for sources that are missing or not the ones that the
            code reads.
    """
    for code, lanes, main in traces:
        lanes.require(code, main)
    _twin(device).fill_lanes(device, traces)


def count_keys(device: Device, traces: Sequence[tuple[Array, Keys]], counts: Array) -> None:
    """Add to ``counts`` how often the rows of traces look up each number.

    Args:
        device: The device of all arrays.
        traces: Traces, uint64 (columns, rows) whose columns are contiguous; each with its keys, at least one. A trace
            may be some rows of a table.
        counts: uint64 (numbers,).

    Raises:
        ValueError: For keys with a column or count out of range.
    """
    for main, keys in traces:
        keys.require(len(main), len(counts))
    _twin(device).count_keys(device, traces, counts)


def count_entries(device: Device, entries: Array, counts: Array) -> None:
    """Add to ``counts``, uint64 with an element for each number, how often ``entries`` has it.

    ``entries`` is uint32 (n,), and may be a column of a matrix.
    """
    _twin(device).count_entries(device, entries, counts)


def census(
    device: Device, tape: Tape, steps: Array, redirects: Array, counts: Array, late: Array, refused: Array
) -> None:
    """Count the cycles of a cycle range by group, and its late accesses.

    Args:
        device: The device of all arrays.
        tape: The cycle range's record.
        steps: uint64, see tape.py.
        redirects: uint64 (groups,), see tape.py.
        counts: uint32 (groups, intervals), all zero: becomes the cycles of the range by group and interval.
        late: uint64 (groups, ACCESSES): grows by the late accesses.
        refused: uint64 (2,), by UNPROVED and UNREACHED: falls to the smallest cycle of the run that no table proves,
            and to the smallest other cycle with an access that no bump reaches.

    Raises:
        ValueError: For an invalid tape.
    """
    tape.require()
    _twin(device).census(device, tape, steps, redirects, counts, late, refused)


def replay(device: Device, tape: Tape, steps: Array, redirects: Array, places: Array, cycles: Cycles) -> None:
    """Write the cycles of a cycle range.

    ``places`` is uint32 (groups, intervals): the place of the first cycle of each group in each interval; further
    cycles follow it. Its contents afterwards are undefined. Cycles that no table proves are not written. Raises
    ValueError for an invalid tape.
    """
    tape.require()
    _twin(device).replay(device, tape, steps, redirects, places, cycles)


def fill_bumps(device: Device, accessed: Accessed, sought: np.ndarray, bumps: Array) -> None:
    """Write the bumps of all late accesses among the sought ones; see bumps.py.

    ``sought`` is uint64 (n, SOUGHT_WORDS); ``bumps`` uint64 (BUMP_WORDS, number of bumps), contiguous. Raises
    ValueError for cycles out of range.
    """
    accessed.require(sought)
    _twin(device).fill_bumps(device, accessed, sought, bumps)
