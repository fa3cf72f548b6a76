"""The text of the recursion machine's CUDA kernels, with the constants shared with its tables as defines."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from graphprover.kernels.cuda.sources import list_of, source
from graphprover.recursion.kernels.segments import NUMBERS, Kind
from graphprover.recursion.tables import compress, row
from graphprover.recursion.tables.compress import Use
from graphprover.recursion.tables.places import LANES, LAST, ROWS, TO_COLUMNS, TO_DIAGONALS
from graphprover.recursion.tables.xor import ROWS as PAIRS

_FOLDER = Path(__file__).parent


def _columns(first: Mapping[str, int]) -> dict[str, int | str]:
    return {f"COLUMN_{name.upper()}": column for name, column in first.items()}


_COMPRESS: dict[str, int | str] = {
    **_columns(compress.FIRST_COLUMNS),
    **{f"USE_{use.name}": int(use) for use in Use},
    "ROWS": ROWS,
    "LAST": LAST,
    "LANES": LANES,
    "PAIRS": PAIRS,
    "LIST_TO_COLUMNS": list_of(np.array(TO_COLUMNS)),
    "LIST_TO_DIAGONALS": list_of(np.array(TO_DIAGONALS)),
}
_ROW: dict[str, int | str] = {
    **_columns(row.FIRST_COLUMNS),
    **{f"KIND_{kind.name}": int(kind) for kind in Kind},
    "WIDTH": row.WIDTH,
    "WORDS": row.WORDS,
    "BLOCK_ROWS": row.BLOCK_ROWS,
    "STRIDE": row.STRIDE,
    "NUMBERS": NUMBERS,
}
_DEFINES: dict[str, Mapping[str, int | str]] = {"compress.cu": _COMPRESS, "row.cu": _ROW}


@cache
def text(file: str) -> str:
    """Return the text of a file of this folder, as a compiler takes it."""
    return source(_FOLDER / file, _DEFINES[file])


def texts() -> dict[str, str]:
    """Return the texts of all files, by name."""
    return {file: text(file) for file in _DEFINES}
