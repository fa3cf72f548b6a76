"""The rows of segments in a trace, and the numbers and memory cells that they look up (``segments.cu``)."""

from typing import TYPE_CHECKING

import cupy

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch
from graphprover.recursion.kernels.cuda.sources import PARTS, text
from graphprover.recursion.kernels.segments import RowSegments

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_THREADS = 128


def fill_segments(
    device: "CudaDevice",
    segments: RowSegments,
    digests: cupy.ndarray,
    cells: cupy.ndarray,
    main: cupy.ndarray,
    first: int,
) -> None:
    """Write the rows of segments; see ``graphprover.recursion.kernels.fill_segments``."""
    of = segments
    addresses = [array.data.ptr for array in (of.owners, of.firsts)]
    numbers = [array.data.ptr for array in (of.numbers, digests)]
    if blocks := len(of.words):
        with device.operation("fill_segments"):
            launch(
                compiled(text("segments.cu"), "segments.cu"), "fill_segments",
                blocks_for(PARTS * blocks, _THREADS), _THREADS,
                of.words, *addresses, of.places, *numbers, blocks, cells, cells.shape[1], main, main.shape[1], first,
            )  # fmt: skip


def count_halves(device: "CudaDevice", segments: RowSegments, counts: cupy.ndarray) -> None:
    """Count numbers of 16 bits; see ``graphprover.recursion.kernels.count_halves``."""
    if words := segments.words.size:
        with device.operation("count_halves"):
            blocks = blocks_for(words, _THREADS)
            launch(
                compiled(text("segments.cu"), "segments.cu"),
                "count_halves",
                blocks,
                _THREADS,
                segments.words,
                words,
                counts,
            )


def count_cells(device: "CudaDevice", segments: RowSegments, counts: cupy.ndarray) -> None:
    """Count lookups in memory; see ``graphprover.recursion.kernels.count_cells``."""
    of = segments
    if words := of.words.size:
        addresses = [array.data.ptr for array in (of.owners, of.firsts, of.numbers)]
        with device.operation("count_cells"):
            blocks = blocks_for(words, _THREADS)
            launch(
                compiled(text("segments.cu"), "segments.cu"), "count_cells", blocks, _THREADS, *addresses, words, counts
            )


def count_numbers(device: "CudaDevice", numbers: cupy.ndarray, counts: cupy.ndarray) -> None:
    """Count numbers; see ``graphprover.recursion.kernels.count_numbers``."""
    if count := numbers.size:
        with device.operation("count_numbers"):
            blocks = blocks_for(count, _THREADS)
            launch(
                compiled(text("segments.cu"), "segments.cu"),
                "count_numbers",
                blocks,
                _THREADS,
                numbers.data.ptr,
                count,
                counts,
            )
