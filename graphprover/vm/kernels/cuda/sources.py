"""The text of the machine's CUDA kernels, with the numbers that they share with the rest of the machine as defines."""

from functools import cache
from pathlib import Path

from graphprover.kernels.cuda.sources import source
from graphprover.vm import clock
from graphprover.vm.clock import FAR, SLOT_MEMORY, SLOTS
from graphprover.vm.io import EXIT
from graphprover.vm.isa import Op
from graphprover.vm.kernels import keys, tape
from graphprover.vm.kernels.lanes import Kind
from graphprover.vm.limbs import LIMB_BITS, LIMB_MASK
from graphprover.vm.record import INTERVAL, NO_REGISTER, REGISTERS
from graphprover.vm.tables.bump import REACH
from graphprover.vm.tables.keccak_f import EVENS, FIRST_COLUMNS, IOTA_BITS, ROUNDS, WORDS
from graphprover.vm.ways import FAR_BASE, WAYS

_FOLDER = Path(__file__).parent
_LANES = {"FAR": FAR, "SLOTS": SLOTS, "SLOT_MEMORY": SLOT_MEMORY}
_LIMBS = {"LIMB_BITS": LIMB_BITS, "LIMB_MASK": LIMB_MASK}
_KEYS = ("TERMS_END", "CONSTANT", "FLAG", "FIRST", "NUMBERS", "KEY_WORDS", "COLUMN", "WEIGHT", "TERM_WORDS")
COUNT_PIECE, COUNT_SLOTS = 1 << 14, 1 << 11  # entries of a block, and how many of them it counts by itself
_KECCAK_F = {"EVENS": EVENS, "IOTA_BITS": len(IOTA_BITS), "ROUNDS": ROUNDS}
_REPLAY = {
    **{name: getattr(clock, name) for name in ("FAR", "SLOTS", "SLOT_A", "SLOT_B", "SLOT_MEMORY", "SLOT_D")},
    **{name: getattr(tape, name) for name in ("NO_STEP", "ACCESSES", "UNPROVED", "UNREACHED")},
    **{f"LATE_{name}": getattr(tape, name) for name in ("A", "A_IN_PLACE", "B", "D", "M", "WORD")},
    **{f"OP_{op.name}": int(op) for op in Op},
    "INTERVAL": INTERVAL,
    "REGISTERS": REGISTERS,
    "NO_REGISTER": NO_REGISTER,
    "WAYS": WAYS,
    "FAR_BASE": FAR_BASE,
    "EXIT": EXIT,
    "WORDS": WORDS,
    "REACH": REACH,
}
_DEFINES: dict[str, dict[str, int]] = {
    "lanes.cu": {**_LANES, **_LIMBS, **{f"KIND_{kind.name}": int(kind) for kind in Kind}},
    "counting.cu": {
        **{name: getattr(keys, name) for name in _KEYS},
        "COUNT_PIECE": COUNT_PIECE,
        "COUNT_SLOTS": COUNT_SLOTS,
    },
    "keccak_f.cu": {**_KECCAK_F, **{name.upper(): column for name, column in FIRST_COLUMNS.items()}},
    "tape.cu": _REPLAY,
}


@cache
def text(file: str) -> str:
    """The text of a file of this folder, as a compiler takes it."""
    return source(_FOLDER / file, _DEFINES[file])


def texts() -> dict[str, str]:
    """Those of all files, by name."""
    return {file: text(file) for file in _DEFINES}
