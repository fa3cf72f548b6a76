"""The machine's own kernels: operations on traces that no other statement needs.

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
from graphprover.vm.kernels.calls import (
    ABSORB_ROWS,
    ABSORB_WIDTH,
    FP2_ROWS,
    MODULAR_ROWS,
    POINT_ROWS,
    POINT_WIDTH,
    SHA256_WIDTH,
    Calls,
    width_of,
)
from graphprover.vm.kernels.keys import Keys
from graphprover.vm.kernels.lanes import Code, Lanes
from graphprover.vm.kernels.tape import Cycles, Tape
from graphprover.vm.tables import keccak_classes, keccak_limbs, keccak_planes, keccak_rounds, sha256
from graphprover.vm.tables.fp2 import Fp2
from graphprover.vm.tables.keccak_digits import NUMBERS, Lookup
from graphprover.vm.tables.keccak_f import WORDS
from graphprover.vm.tables.modular import Modular

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


def fill_modular(device: Device, calls: Calls, main: Array, table: Modular) -> None:
    """Write the rows of calls of the modular operation to the first rows of ``main``, uint64 (columns, rows), of zeros.

    Raises ValueError for calls that do not fit it, and for other arrays than the formats say.
    """
    calls.require(main, width_of(table), MODULAR_ROWS)
    _twin(device).fill_modular(device, calls, main, table)


def fill_fp2(device: Device, calls: Calls, main: Array, table: Fp2) -> None:
    """Write the rows of calls of a b + c in Fp2; see `fill_modular`."""
    calls.require(main, width_of(table), FP2_ROWS)
    _twin(device).fill_fp2(device, calls, main, table)


def fill_points(device: Device, calls: Calls, main: Array) -> None:
    """Write the rows of sums and doubles of points; see `fill_modular`."""
    calls.require(main, POINT_WIDTH, POINT_ROWS)
    _twin(device).fill_points(device, calls, main)


def fill_absorbs(device: Device, calls: Calls, main: Array) -> None:
    """Write the rows of calls that absorb a block; see `fill_modular`."""
    calls.require(main, ABSORB_WIDTH, ABSORB_ROWS)
    _twin(device).fill_absorbs(device, calls, main)


def fill_sha256(device: Device, calls: Calls, main: Array) -> None:
    """Write the rows of compressions of SHA-256, 36 each; idle rows stay as they are. See `fill_modular`."""
    calls.require(main, SHA256_WIDTH, sha256.ROWS)
    _twin(device).fill_sha256(device, calls, main)


def permuted(device: Device, states: Array) -> Array:
    """Return Keccak-f[1600] of each state: uint64 (25, calls), contiguous, to the same of a new array."""
    _require_states(states, 0, 0)
    return _twin(device).permuted(device, states)


def fill_keccak_rounds(device: Device, states: Array, clocks: Array, first: int, last: int, main: Array) -> None:
    """Write the trace of `KeccakRounds` for the calls first..last, whose numbers are their clocks, to all of ``main``.

    ``states`` (25, calls) are the states before the calls, ``clocks`` (calls,), ``main`` (columns, rows): all uint64.
    Raises ValueError for arrays that are not contiguous, and for calls that are missing or do not fit the rows.
    """
    _require_calls(states, clocks, first, last, main, keccak_rounds.WIDTH, keccak_rounds.ROWS)
    _twin(device).fill_keccak_rounds(device, states, clocks, first, last, main)


def fill_keccak_planes(device: Device, states: Array, clocks: Array, first: int, last: int, main: Array) -> None:
    """Write the trace of `KeccakPlanes` for these calls; arguments and errors as of ``fill_keccak_rounds``."""
    _require_calls(states, clocks, first, last, main, keccak_planes.WIDTH, keccak_planes.ROWS)
    _twin(device).fill_keccak_planes(device, states, clocks, first, last, main)


def fill_keccak_classes(device: Device, states: Array, clocks: Array, first: int, last: int, main: Array) -> None:
    """Write the trace of `KeccakClasses` for these calls; arguments and errors as of ``fill_keccak_rounds``."""
    _require_calls(states, clocks, first, last, main, keccak_classes.WIDTH, keccak_classes.ROWS)
    _twin(device).fill_keccak_classes(device, states, clocks, first, last, main)


def fill_keccak_limbs(device: Device, states: Array, clocks: Array, first: int, last: int, main: Array) -> None:
    """Write the trace of `KeccakLimbs` for these calls; arguments and errors as of ``fill_keccak_rounds``."""
    _require_calls(states, clocks, first, last, main, keccak_limbs.WIDTH, keccak_limbs.ROWS)
    _twin(device).fill_keccak_limbs(device, states, clocks, first, last, main)


def count_keccak_digits(device: Device, states: Array, counts: Array, narrow: bool) -> None:
    """Add to ``counts``, uint64 (tags, NUMBERS), how often the traces of these calls look up each number.

    ``narrow``: the traces are of `KeccakClasses` and `KeccakLimbs`, not of `KeccakRounds` and `KeccakPlanes`.
    Raises ValueError for arrays that are not contiguous.
    """
    _require_states(states, 0, states.shape[-1])
    if counts.shape != (len(Lookup), NUMBERS) or counts.dtype != "uint64" or not counts.flags.c_contiguous:
        raise ValueError(f"counts are contiguous uint64 ({len(Lookup)}, {NUMBERS}), not {counts.dtype} {counts.shape}")
    _twin(device).count_keccak_digits(device, states, counts, narrow)


def _require_states(states: Array, first: int, last: int) -> None:
    if states.ndim != 2 or len(states) != WORDS or states.dtype != "uint64" or not states.flags.c_contiguous:
        raise ValueError(f"states are contiguous uint64 ({WORDS}, calls), not {states.dtype} {states.shape}")
    if not 0 <= first <= last <= states.shape[1]:
        raise ValueError(f"calls [{first}, {last}) of {states.shape[1]}")


def _require_calls(
    states: Array, clocks: Array, first: int, last: int, main: Array, width: int, rows_of_call: int
) -> None:
    _require_states(states, first, last)
    if clocks.shape != states.shape[1:] or clocks.dtype != "uint64" or not clocks.flags.c_contiguous:
        raise ValueError(f"clocks {clocks.dtype} {clocks.shape} of {states.shape[1]} calls")
    if main.shape[0] != width or not main.flags.c_contiguous or main.dtype != "uint64":
        raise ValueError(f"a trace is contiguous uint64 ({width}, rows), not {main.dtype} {main.shape}")
    if rows_of_call * (last - first) > main.shape[1]:
        raise ValueError(f"{last - first} permutations do not fit {main.shape[1]} rows")
