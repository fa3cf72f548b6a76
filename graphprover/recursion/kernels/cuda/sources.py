"""The text of the recursion machine's CUDA kernels, with the constants shared with its tables as defines."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from graphprover.kernels.cuda.sources import list_of, source
from graphprover.recursion.kernels.segments import NUMBERS, SegmentKind
from graphprover.recursion.kernels.steps import FROM_MEMORY, GATE, USES_B, USES_D
from graphprover.recursion.tables import blake3, segments, steps
from graphprover.recursion.tables.blake3 import CallUse
from graphprover.recursion.tables.fixed import ROWS as PAIRS
from graphprover.recursion.tables.places import LANES, LAST, ROWS, TO_COLUMNS, TO_DIAGONALS

_FOLDER = Path(__file__).parent
PARTS = segments.QUARTERS + 1  # of a block: its quarters and the end of its segment


def _columns(first: Mapping[str, int]) -> dict[str, int | str]:
    return {f"COLUMN_{name.upper()}": column for name, column in first.items()}


def _first(columns: Any) -> int:
    """Return the first one of columns in nested tuples."""
    while not isinstance(columns, int):
        columns = columns[0]
    return columns


_USES: dict[str, int | str] = {f"USE_{use.name}": int(use) for use in CallUse}
_KINDS: dict[str, int | str] = {**{f"KIND_{kind.name}": int(kind) for kind in SegmentKind}, "NUMBERS": NUMBERS}
_BLAKE3: dict[str, int | str] = {
    **_columns(blake3.FIRST_COLUMNS),
    **_USES,
    "ROWS": ROWS,
    "LAST": LAST,
    "LANES": LANES,
    "PAIRS": PAIRS,
    "LIST_TO_COLUMNS": list_of(np.array(TO_COLUMNS)),
    "LIST_TO_DIAGONALS": list_of(np.array(TO_DIAGONALS)),
}
_SEGMENTS: dict[str, int | str] = {
    **_columns({name: _first(columns) for name, columns in vars(segments.COLUMNS).items()}),
    **_KINDS,
    "WORDS": segments.WORDS,
    "QUARTERS": segments.QUARTERS,
    "PARTS": PARTS,
    "STRIDE": segments.STRIDE,
}
_STEPS: dict[str, int | str] = {
    **_columns({name: _first(columns) for name, columns in vars(steps.COLUMNS).items()}),
    "COLUMN_FLAGS": _first(getattr(steps.COLUMNS, steps.FLAGS[0])),
    "FLAGS": len(steps.FLAGS),
    "GATE": GATE,
    "FROM_MEMORY": FROM_MEMORY,
    "USES_B": USES_B,
    "USES_D": USES_D,
}
_DEFINES: dict[str, Mapping[str, int | str]] = {
    "blake3_calls.cu": _BLAKE3,
    "hashing.cu": {**_USES, **_KINDS},
    "segments.cu": _SEGMENTS,
    "steps.cu": _STEPS,
}


@cache
def text(file: str) -> str:
    """Return the text of a file of this folder, as a compiler takes it."""
    return source(_FOLDER / file, _DEFINES[file])


def texts() -> dict[str, str]:
    """Return the texts of all files, by name."""
    return {file: text(file) for file in _DEFINES}
