"""The permutation, and the traces of its tables, on both devices."""

from collections.abc import Mapping
from types import MappingProxyType

from graphprover.device import Array, Device
from graphprover.device.twins import twin
from graphprover.field import P
from graphprover.vm.accelerators.keccak import classes, limbs, planes, rounds
from graphprover.vm.accelerators.keccak.digits import FACTORS, NUMBERS, Lookup
from graphprover.vm.accelerators.keccak.permutation import WORDS

# The module of the functions for each kind of device.
TWINS = {"cpu": "graphprover.vm.accelerators.keccak.cpu", "cuda": "graphprover.vm.accelerators.keccak.cuda"}
# The columns and the rows of a permutation of each table that has every permutation's rows.
SHAPES: Mapping[str, tuple[int, int]] = MappingProxyType({
    "keccak_rounds": (rounds.WIDTH, rounds.ROWS),
    "keccak_planes": (planes.WIDTH, planes.ROWS),
    "keccak_classes": (classes.WIDTH, classes.ROWS),
    "keccak_limbs": (limbs.WIDTH, limbs.ROWS),
})  # fmt: skip

COUNT_DIGITS_PARTS = 2  # of a tag's numbers; a block counts one of them in its own memory
_OF_PLANES = {name.upper(): column for name, column in planes.FIRST_COLUMNS.items()}
DEFINES: Mapping[str, int | str] = {
    **{name.upper(): column for name, column in rounds.FIRST_COLUMNS.items()},
    **{name: column for name, column in _OF_PLANES.items() if name != "CALL"},
    **{lookup.name: int(lookup) for lookup in Lookup},
    **{f"FACTOR_{by}": factor for by, factor in enumerate(FACTORS)},
    "PLANE_CALL": _OF_PLANES["CALL"],
    **{f"CLASSES_{name.upper()}": column for name, column in classes.FIRST_COLUMNS.items()},
    **{f"LIMBS_{name.upper()}": column for name, column in limbs.FIRST_COLUMNS.items()},
    "CLASS_ROWS": classes.ROWS,
    "STEP_BASE": classes.BASE,
    "LIMB_ROWS": limbs.ROWS,
    "LIMB_BLOCK": limbs.PLANE_ROWS,
    "MINUS_ONE": f"{P - 1}ull",
    "ROUND_ROWS": rounds.ROWS,
    "PLANE_ROWS": planes.ROWS,
    "NUMBERS": NUMBERS,
    "PARTS": COUNT_DIGITS_PARTS,
    "COUNTED": -(-NUMBERS // COUNT_DIGITS_PARTS),
}


def permuted(device: Device, states: Array) -> Array:
    """Return Keccak-f[1600] of each state: uint64 (25, calls), contiguous, to the same of a new array."""
    _require_states(states, 0, 0)
    result: Array = twin(TWINS, device).permuted(device, states)
    return result


def fill_permutations(
    device: Device, table: str, states: Array, clocks: Array, first: int, last: int, main: Array
) -> None:
    """Write the trace of a table of SHAPES for the calls first..last, whose numbers are their clocks.

    Args:
        device: The device of all arrays.
        table: Its name.
        states: uint64 (25, calls), the states before the calls.
        clocks: uint64 (calls,).
        first: The first call.
        last: The one behind the last.
        main: uint64 (columns, rows), all of which is written.

    Raises:
        ValueError: For arrays that are not contiguous, and for calls that are missing or do not fit the rows.
    """
    width, rows = SHAPES[table]
    _require_states(states, first, last)
    if clocks.shape != states.shape[1:] or clocks.dtype != "uint64" or not clocks.flags.c_contiguous:
        raise ValueError(f"clocks {clocks.dtype} {clocks.shape} of {states.shape[1]} calls")
    if main.shape[0] != width or not main.flags.c_contiguous or main.dtype != "uint64":
        raise ValueError(f"a trace is contiguous uint64 ({width}, rows), not {main.dtype} {main.shape}")
    if rows * (last - first) > main.shape[1]:
        raise ValueError(f"{last - first} permutations do not fit {main.shape[1]} rows")
    twin(TWINS, device).fill_permutations(device, table, states, clocks, first, last, main)


def count_keccak_digits(device: Device, states: Array, counts: Array, narrow: bool) -> None:
    """Add to ``counts``, uint64 (tags, NUMBERS), how often the traces of these calls look up each number.

    ``narrow``: the traces are of `KeccakClasses` and `KeccakLimbs`, not of `KeccakRounds` and `KeccakPlanes`.
    Raises ValueError for arrays that are not contiguous.
    """
    _require_states(states, 0, states.shape[-1])
    if counts.shape != (len(Lookup), NUMBERS) or counts.dtype != "uint64" or not counts.flags.c_contiguous:
        raise ValueError(f"counts are contiguous uint64 ({len(Lookup)}, {NUMBERS}), not {counts.dtype} {counts.shape}")
    twin(TWINS, device).count_keccak_digits(device, states, counts, narrow)


def _require_states(states: Array, first: int, last: int) -> None:
    if states.ndim != 2 or len(states) != WORDS or states.dtype != "uint64" or not states.flags.c_contiguous:
        raise ValueError(f"states are contiguous uint64 ({WORDS}, calls), not {states.dtype} {states.shape}")
    if not 0 <= first <= last <= states.shape[1]:
        raise ValueError(f"calls [{first}, {last}) of {states.shape[1]}")
