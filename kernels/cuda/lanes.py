"""Fills the cells of lanes that are copies (``lanes.cu``); kernels/lanes.py says what they are."""

from collections.abc import Sequence

import cupy
import numpy as np

from graphprover.kernels.cuda.module import blocks_for, launch, load
from graphprover.kernels.lanes import FAR, Cell, Lanes

_THREADS = 256


def fill_lanes(cells: Sequence[Cell], lanes: Lanes) -> None:
    """Writes the cells of all lanes. Raises ValueError for a cell of other lanes, or that is not contiguous."""
    count = lanes.cycles.shape[0]
    words = np.zeros((len(cells), 4), dtype=np.uint64)
    for row, cell in zip(words, cells, strict=True):
        if cell.target.shape != (count,):
            raise ValueError(f"a cell of {cell.target.shape} lanes among {count}")
        if not (cell.target.flags.c_contiguous and (cell.source is None or cell.source.flags.c_contiguous)):
            raise ValueError("a cell or its source is not contiguous")
        row[:] = cell.kind, cell.slot, 0 if cell.source is None else cell.source.data.ptr, cell.target.data.ptr
    launch(
        load("lanes.cu"), "fill_lanes", (blocks_for(count, _THREADS), len(cells)), _THREADS,
        cupy.asarray(words), lanes.cycles.data.ptr, lanes.entries.data.ptr, *lanes.values, FAR, count,
    )  # fmt: skip
