"""The text of the machine's CUDA kernels, with the constants shared with the rest of the machine as defines."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from graphprover.field import P
from graphprover.kernels.cuda.sources import list_of, source
from graphprover.vm.executor.record import INTERVAL, NO_REGISTER, REGISTERS
from graphprover.vm.kernels import bumps, calls, keys, lanes, tape
from graphprover.vm.kernels.lanes import Op as LaneOp
from graphprover.vm.program import host_calls
from graphprover.vm.program.curves import ALL_CURVES
from graphprover.vm.program.io import EXIT, POINT
from graphprover.vm.program.isa import A1, Op
from graphprover.vm.program.sha256 import ROUND_CONSTANTS, ROUNDS
from graphprover.vm.tables import clock, keccak_classes, keccak_limbs, keccak_planes, keccak_rounds, sha256
from graphprover.vm.tables.absorb import PLANE_WORDS
from graphprover.vm.tables.bump import REACH
from graphprover.vm.tables.buses import REGISTER_BASE
from graphprover.vm.tables.clock import FAR
from graphprover.vm.tables.integers import OFFSET, SIGN
from graphprover.vm.tables.keccak_digits import FACTORS, NUMBERS, Lookup
from graphprover.vm.traces.ways import FAR_BASE, WAYS

_FOLDER = Path(__file__).parent

LANES_THREADS, LANES_EACH = 64, 4  # threads of a block, lanes of a thread
_LANES = {
    **{f"OP_{op.name}": int(op) for op in LaneOp},
    **{name: getattr(lanes, name) for name in ("IMMEDIATE", "MOST_SOURCES", "LOG_SOURCES")},
    "FAR": FAR,
    "LANES_THREADS": LANES_THREADS,
    "LANES_EACH": LANES_EACH,
}
_KEYS = ("TERMS_END", "CONSTANT", "FLAG", "FIRST", "NUMBERS", "KEY_WORDS", "COLUMN", "WEIGHT", "TERM_WORDS")
COUNT_PIECE, COUNT_KEYS = 1 << 14, 1 << 13  # entries and rows of a block
COUNT_SLOTS, COUNT_EACH = 1 << 11, 4  # numbers that it counts in its own memory; rows of a thread at a time
BUMPS_CYCLES = 1 << 12  # cycles of a block that looks for bumps
COUNT_DIGITS_PARTS = 2  # of a tag's numbers; a block counts one of them in its own memory
_PLANES = {name.upper(): column for name, column in keccak_planes.FIRST_COLUMNS.items()}
_KECCAK_F: dict[str, int | str] = {
    **{name.upper(): column for name, column in keccak_rounds.FIRST_COLUMNS.items()},
    **{name: column for name, column in _PLANES.items() if name != "CALL"},
    **{lookup.name: int(lookup) for lookup in Lookup},
    **{f"FACTOR_{by}": factor for by, factor in enumerate(FACTORS)},
    "PLANE_CALL": _PLANES["CALL"],
    **{f"CLASSES_{name.upper()}": column for name, column in keccak_classes.FIRST_COLUMNS.items()},
    **{f"LIMBS_{name.upper()}": column for name, column in keccak_limbs.FIRST_COLUMNS.items()},
    "CLASS_ROWS": keccak_classes.ROWS,
    "STEP_BASE": keccak_classes.BASE,
    "LIMB_ROWS": keccak_limbs.ROWS,
    "LIMB_BLOCK": keccak_limbs.PLANE_ROWS,
    "MINUS_ONE": f"{P - 1}ull",
    "ROUND_ROWS": keccak_rounds.ROWS,
    "PLANE_ROWS": keccak_planes.ROWS,
    "NUMBERS": NUMBERS,
    "PARTS": COUNT_DIGITS_PARTS,
    "COUNTED": -(-NUMBERS // COUNT_DIGITS_PARTS),
}
_CALLS = {
    **{name: getattr(host_calls, name) for name in ("FIRST_NUMBER", "LISTED", "MOST_WORDS", "MOST_FURTHER")},
    **{f"LIST_{name}": list_of(getattr(host_calls, name)) for name in ("WORDS_OF", "FURTHER_OF", "WAY_OF")},
    "LIST_SLOT_OF": list_of(host_calls.ACCESS_OF[:, :, 2]),
    "SLOT_FURTHER": host_calls.SLOT_FURTHER,
    "A1": A1,
}
_REPLAY = {
    **{name: getattr(clock, name) for name in ("FAR", "SLOTS", "SLOT_A", "SLOT_B", "SLOT_MEMORY", "SLOT_D")},
    **{name: getattr(tape, name) for name in ("NO_STEP", "ACCESSES", "UNPROVED", "UNREACHED")},
    **{f"LATE_{name}": getattr(tape, name) for name in ("A", "A_IN_PLACE", "B", "D", "M", "FURTHER", "WORD")},
    **{f"OP_{op.name}": int(op) for op in Op},
    "INTERVAL": INTERVAL,
    "REGISTERS": REGISTERS,
    "NO_REGISTER": NO_REGISTER,
    "WAYS": WAYS,
    "FAR_BASE": FAR_BASE,
    "EXIT": EXIT,
    **_CALLS,
    "REACH": REACH,
    "ROW_WORDS": tape.ROW_WORDS,
}
_BUMPS: dict[str, int | str] = {
    **{name: getattr(bumps, name) for name in ("FIRST", "LAST", "ACCESS", "SLOT", "POINTER", "OFFSET", "SOUGHT_WORDS")},
    **{name: getattr(bumps, name) for name in ("AT", "TIME", "LOW", "HIGH", "STEP_LOW", "STEP_HIGH")},
    **{name: getattr(tape, name) for name in ("A", "A_IN_PLACE", "B", "D", "M2", "FURTHER", "WORD")},
    **{name: getattr(clock, name) for name in ("FAR", "SLOTS")},
    "REGISTER_BASE": REGISTER_BASE,
    **_CALLS,
    **{f"ROW_{name.upper()}": i for i, name in enumerate(tape.WIDE)},
    **{f"HALF_{name.upper()}": tape.FIRST_NARROW + i for i, name in enumerate(tape.NARROW)},
    "ROW_WORDS": tape.ROW_WORDS,
    "BLOCK_CYCLES": BUMPS_CYCLES,
}
_CALL_TRACES = {
    **{f"POINT_{name.upper()}": column for name, column in calls.POINT.items()},
    **{f"ABSORB_{name.upper()}": column for name, column in calls.ABSORB.items()},
    **{f"SHA256_{name.upper()}": column for name, column in calls.SHA256.items()},
    **{f"SHA256_{name}": getattr(sha256, name) for name in ("ROWS", "STEPS", "FIRST_ROUND", "BLOCK_END")},
    **{f"SHA256_{name}": getattr(sha256, name) for name in ("DELAY", "JOINED", "READ_A0", "READ_A1", "READ_A7")},
    "SHA256_ROUNDS": ROUNDS,
    "LIST_SHA256_CONSTANTS": list_of(np.array(ROUND_CONSTANTS)),
    "LIST_SHA256_SLOT_OF": list_of(np.array(sha256.SLOT_OF)),
    **{name: getattr(clock, name) for name in ("FAR", "SLOTS", "SLOT_A", "SLOT_B", "SLOT_MEMORY", "SLOT_D")},
    **{
        name: getattr(host_calls, name)
        for name in (
            "CURVES",
            "MOST_FURTHER",
            "NUMBER_WORDS",
            "POINT_WORDS",
            "RATE_WORDS",
            "WORDS",
            "BLOCK_WORDS",
        )
    },
    **{f"ROW_{name.upper()}": tape.WIDE.index(name) for name in ("a", "b", "t_a", "t_b")},
    "ROW_WORDS": tape.ROW_WORDS,
    "ABSORB_ROWS": calls.ABSORB_ROWS,
    "PLANE_WORDS": PLANE_WORDS,
    "POINT": POINT,
    "LIMBS": calls.LIMBS,
    "OFFSET": OFFSET,
    "SIGN": SIGN,
    "LIST_PRIMES": list_of(np.array(calls.PRIME_LIMBS)),
    "LIST_INVERSES": list_of(np.array(calls.PRIME_INVERSES)),
    "LIST_COEFFICIENTS": list_of(np.array([curve.a for curve in ALL_CURVES])),
}
_DEFINES: dict[str, Mapping[str, int | str]] = {
    "bumps.cu": _BUMPS,
    "calls.cu": _CALL_TRACES,
    "lanes.cu": _LANES,
    "counting.cu": {
        **{name: getattr(keys, name) for name in _KEYS},
        "COUNT_PIECE": COUNT_PIECE,
        "COUNT_KEYS": COUNT_KEYS,
        "COUNT_SLOTS": COUNT_SLOTS,
        "COUNT_EACH": COUNT_EACH,
    },
    "keccak_f.cu": _KECCAK_F,
    "tape.cu": _REPLAY,
}


@cache
def text(file: str) -> str:
    """Return the text of a file of this folder, as a compiler takes it."""
    return source(_FOLDER / file, _DEFINES[file])


def texts() -> dict[str, str]:
    """Return the texts of all files, by name."""
    return {file: text(file) for file in _DEFINES}
