"""The text of the machine's CUDA kernels, with the constants shared with the rest of the machine as defines."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from graphprover.kernels.cuda.sources import list_of, source
from graphprover.vm.accelerators import host_call, registry
from graphprover.vm.accelerators import sources as accelerators
from graphprover.vm.executor.record import INTERVAL, NO_REGISTER, REGISTERS
from graphprover.vm.kernels import bumps, keys, lanes, tape
from graphprover.vm.kernels.lanes import Op as LaneOp
from graphprover.vm.program.io import EXIT
from graphprover.vm.program.isa import A1, Op
from graphprover.vm.tables import clock
from graphprover.vm.tables.bump import REACH
from graphprover.vm.tables.buses import REGISTER_BASE
from graphprover.vm.tables.clock import FAR
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
_CALLS = {
    **{name: getattr(registry, name) for name in ("FIRST_NUMBER", "LISTED", "MOST_WORDS")},
    **{f"LIST_{name}": list_of(getattr(registry, name)) for name in ("WORDS_OF", "FURTHER_OF", "WAY_OF")},
    "LIST_SLOT_OF": list_of(registry.ACCESS_OF[:, :, 2]),
    "MOST_FURTHER": host_call.MOST_FURTHER,
    "SLOT_FURTHER": host_call.SLOT_FURTHER,
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
_DEFINES: dict[str, Mapping[str, int | str]] = {
    "bumps.cu": _BUMPS,
    "lanes.cu": _LANES,
    "counting.cu": {
        **{name: getattr(keys, name) for name in _KEYS},
        "COUNT_PIECE": COUNT_PIECE,
        "COUNT_KEYS": COUNT_KEYS,
        "COUNT_SLOTS": COUNT_SLOTS,
        "COUNT_EACH": COUNT_EACH,
    },
    "tape.cu": _REPLAY,
}


@cache
def text(file: str) -> str:
    """Return the text of a file of this folder, as a compiler takes it."""
    return source(_FOLDER / file, _DEFINES[file])


def texts() -> dict[str, str]:
    """Return the texts of all files, and of the accelerators', by name."""
    return accelerators.texts() | {file: text(file) for file in _DEFINES}
