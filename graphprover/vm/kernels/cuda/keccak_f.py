"""Keccak-f and its traces from the states before calls (``keccak_f.cu``)."""

from typing import TYPE_CHECKING

import cupy

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch
from graphprover.vm.kernels.cuda.sources import text

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_THREADS = 128
_COUNTING = 256  # threads of a block, which first counts in its own memory


def permuted(device: "CudaDevice", states: cupy.ndarray) -> cupy.ndarray:
    """Permute states; see ``graphprover.vm.kernels.permuted``."""
    count = states.shape[1]
    with device.operation("permuted"):
        target = cupy.empty_like(states)
        launch(compiled(text("keccak_f.cu")), "permuted", blocks_for(count, _THREADS), _THREADS, states, target, count)
        return target


def fill_keccak_f(
    device: "CudaDevice", states: cupy.ndarray, clocks: cupy.ndarray, first: int, last: int, main: cupy.ndarray
) -> None:
    """Write the trace; see ``graphprover.vm.kernels.fill_keccak_f``."""
    rows = main.shape[1]
    with device.operation("fill_keccak_f"):
        launch(
            compiled(text("keccak_f.cu")), "fill_keccak_f", blocks_for(rows, _THREADS), _THREADS,
            states.data.ptr + 8 * first, states.shape[1], clocks.data.ptr + 8 * first, last - first, main, rows,
        )  # fmt: skip


def count_evens(
    device: "CudaDevice", states: cupy.ndarray, first: int, last: int, rows: int, counts: cupy.ndarray
) -> None:
    """Count lookups; see ``graphprover.vm.kernels.count_evens``."""
    with device.operation("count_evens"):
        launch(
            compiled(text("keccak_f.cu")), "count_evens", blocks_for(rows, _COUNTING), _COUNTING,
            states.data.ptr + 8 * first, states.shape[1], last - first, rows, counts,
        )  # fmt: skip
