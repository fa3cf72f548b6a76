"""The text of the accelerators' CUDA kernels, with the constants shared with their tables as defines."""

from functools import cache
from pathlib import Path
from typing import cast

import numpy as np

from graphprover.kernels.cuda.sources import list_of, source
from graphprover.vm.accelerators.host_call import MOST_FURTHER
from graphprover.vm.accelerators.keccak import kernels
from graphprover.vm.accelerators.registry import ACCELERATORS
from graphprover.vm.accelerators.table import CallTable, columns_of
from graphprover.vm.kernels import tape
from graphprover.vm.tables import clock

_FOLDER = Path(__file__).parent
_CYCLE = {
    **{name: getattr(clock, name) for name in ("FAR", "SLOTS", "SLOT_A", "SLOT_B", "SLOT_MEMORY", "SLOT_D")},
    **{f"ROW_{name.upper()}": tape.WIDE.index(name) for name in ("a", "b", "t_a", "t_b")},
    "ROW_WORDS": tape.ROW_WORDS,
    "MOST_FURTHER": MOST_FURTHER,
}
PERMUTATIONS = "keccak/keccak_f.cu"
FILES = (PERMUTATIONS, *dict.fromkeys(one.cuda.file for one in ACCELERATORS if one.cuda))


@cache
def text(file: str) -> str:
    """Return the text of a file of this folder, as a compiler takes it."""
    return source(_FOLDER / file, kernels.DEFINES if file == PERMUTATIONS else _defines(file))


def _defines(file: str) -> dict[str, int | str]:
    """Return the constants of a file of accelerators."""
    defines: dict[str, int | str] = dict(_CYCLE)
    for accelerator in ACCELERATORS:
        if accelerator.cuda is None or accelerator.cuda.file != file:
            continue
        chip, table = accelerator.chip.upper(), cast(CallTable, accelerator.table(lanes=1))
        defines[f"{chip}_ROWS"] = accelerator.rows
        defines |= {f"{chip}_{name.upper()}": column for name, column in columns_of(table).items()}
        for name, value in accelerator.cuda.defines.items():
            defines[name] = value if isinstance(value, int | str) else list_of(np.array(value))
    return defines


def texts() -> dict[str, str]:
    """Return the texts of all files, by name."""
    return {file: text(file) for file in FILES}
