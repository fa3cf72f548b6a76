"""The trace of BLAKE3's compressions, and the pairs of bytes that it looks up (``blake3_calls.cu``)."""

from typing import TYPE_CHECKING

import cupy

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch
from graphprover.recursion.kernels.compressions import Compressions
from graphprover.recursion.kernels.cuda.sources import text
from graphprover.recursion.tables.places import ROWS

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_THREADS = 128


def fill_blake3(device: "CudaDevice", calls: Compressions, main: cupy.ndarray) -> None:
    """Write a trace; see ``graphprover.recursion.kernels.fill_blake3``."""
    rows = main.shape[1]
    with device.operation("fill_blake3"):
        launch(
            compiled(text("blake3_calls.cu"), "blake3_calls.cu"), "fill_blake3", blocks_for(rows, _THREADS), _THREADS,
            *_addresses(calls), len(calls), main, rows,
        )  # fmt: skip


def count_xors(device: "CudaDevice", calls: Compressions, rows: int, counts: cupy.ndarray) -> None:
    """Count lookups; see ``graphprover.recursion.kernels.count_xors``."""
    idle = rows // ROWS - len(calls)
    counted = ROWS * (len(calls) + (idle > 0))  # idle calls are equal: one is counted for all
    with device.operation("count_xors"):
        launch(
            compiled(text("blake3_calls.cu"), "blake3_calls.cu"), "count_xors", blocks_for(counted, _THREADS), _THREADS,
            *_addresses(calls), len(calls), idle, counts,
        )  # fmt: skip


def _addresses(calls: Compressions) -> list[int]:
    """Return the addresses of the arrays, whose elements are no words of 64 bits."""
    return [array.data.ptr for array in (calls.values, calls.blocks, calls.parameters, calls.uses)]
