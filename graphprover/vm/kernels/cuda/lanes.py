"""Fills the cells of lanes that are copies (``lanes.cu``)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import cupy
import numpy as np

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch
from graphprover.vm.kernels.cuda.sources import text
from graphprover.vm.kernels.lanes import Cell, Lanes

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_THREADS = 256


def fill_lanes(device: "CudaDevice", cells: Sequence[Cell], lanes: Lanes) -> None:
    """See ``graphprover.vm.kernels.fill_lanes``."""
    count = len(lanes.cycles)
    words = np.zeros((len(cells), 5), dtype=np.uint64)
    for row, cell in zip(words, cells, strict=True):
        cell.require(lanes)
        source, at = (0 if array is None else array.data.ptr for array in (cell.source, cell.at))
        row[:] = cell.kind, cell.slot, source, at, cell.target.data.ptr
    with device.operation("fill_lanes"):
        launch(
            compiled(text("lanes.cu")), "fill_lanes", (blocks_for(count, _THREADS), len(cells)), _THREADS,
            cupy.asarray(words), lanes.cycles.data.ptr, count, lanes.first_clock,
        )  # fmt: skip
