"""Finds late accesses, and makes their bumps (``bumps.cu``)."""

from typing import TYPE_CHECKING

import cupy
import numpy as np

from graphprover.kernels.cuda.launch import compiled, launch
from graphprover.vm.kernels.bumps import FIRST, LAST, Accessed
from graphprover.vm.kernels.cuda.sources import BUMPS_CYCLES, text

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_THREADS = 256  # as in bumps.cu


def fill_bumps(device: "CudaDevice", accessed: Accessed, sought: np.ndarray, bumps: cupy.ndarray) -> None:
    """Write bumps, counted block by block; see ``graphprover.vm.kernels.fill_bumps``."""
    blocks = -(-(sought[:, LAST] - sought[:, FIRST]).astype(np.int64) // BUMPS_CYCLES)
    starts = (np.cumsum(blocks) - blocks).astype(np.uint64)
    words, count = device.load(np.concatenate([sought.ravel(), starts])), int(blocks.sum())
    columns = [accessed.cycles.order, accessed.cycles.rows, accessed.old, accessed.cycles.new, accessed.time]
    columns += [accessed.a_at, accessed.b_at, accessed.d_at, accessed.offset]
    run = np.array([*(column.data.ptr for column in columns), accessed.first_clock], dtype=np.uint64)
    looked_at = run, words, words[sought.size :], len(sought)
    with device.operation("fill_bumps"):
        kernels, counts = compiled(text("bumps.cu"), "bumps.cu"), cupy.empty(count, dtype=cupy.uint32)
        launch(kernels, "count_bumps", count, _THREADS, *looked_at, counts.data.ptr)
        ends = cupy.cumsum(counts, dtype=cupy.uint32)
        launch(kernels, "fill_bumps", count, _THREADS, *looked_at, ends.data.ptr, bumps, bumps.shape[1])
