"""The calls that hash the segments of opened rows, and the digests of segments (``hashing.cu``)."""

from typing import TYPE_CHECKING

import cupy

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch
from graphprover.recursion.kernels.compressions import Compressions
from graphprover.recursion.kernels.cuda.sources import text
from graphprover.recursion.kernels.segments import RowSegments

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_THREADS = 32  # there are a few thousand segments, so that small blocks use more multiprocessors


def hash_segments(device: "CudaDevice", segments: RowSegments, calls: Compressions, digests: cupy.ndarray) -> None:
    """Write the calls of segments; see ``graphprover.recursion.kernels.hash_segments``."""
    of = segments
    read = [array.data.ptr for array in (of.firsts, of.numbers)]
    written = [array.data.ptr for array in (calls.values, calls.blocks, calls.parameters, calls.uses, digests)]
    if count := len(of.firsts):
        blocks = blocks_for(count, _THREADS)
        with device.operation("hash_segments"):
            kernels = compiled(text("hashing.cu"), "hashing.cu")
            launch(kernels, "hash_chunks", blocks, _THREADS, *read, count, of.words, len(of.words), *written)
            launch(kernels, "hash_parents", blocks, _THREADS, *read, count, of.children.data.ptr, *written)
