"""Keccak-f and the traces of its tables from the states before calls (``keccak_f.cu``)."""

from typing import TYPE_CHECKING

import cupy

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch
from graphprover.vm.kernels.cuda.sources import COUNT_DIGITS_PARTS, text
from graphprover.vm.tables.keccak_digits import Lookup

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_THREADS = 128
_COUNTING = 64  # most blocks that count the same numbers: each counts in its own memory first


def permuted(device: "CudaDevice", states: cupy.ndarray) -> cupy.ndarray:
    """Permute states; see ``graphprover.vm.kernels.permuted``."""
    count = states.shape[1]
    with device.operation("permuted"):
        target = cupy.empty_like(states)
        launch(compiled(text("keccak_f.cu")), "permuted", blocks_for(count, _THREADS), _THREADS, states, target, count)
        return target


def fill_keccak_rounds(
    device: "CudaDevice", states: cupy.ndarray, clocks: cupy.ndarray, first: int, last: int, main: cupy.ndarray
) -> None:
    """Write the trace; see ``graphprover.vm.kernels.fill_keccak_rounds``."""
    _fill("fill_keccak_rounds", device, states, clocks, first, last, main)


def fill_keccak_planes(
    device: "CudaDevice", states: cupy.ndarray, clocks: cupy.ndarray, first: int, last: int, main: cupy.ndarray
) -> None:
    """Write the trace; see ``graphprover.vm.kernels.fill_keccak_planes``."""
    _fill("fill_keccak_planes", device, states, clocks, first, last, main)


def fill_keccak_classes(
    device: "CudaDevice", states: cupy.ndarray, clocks: cupy.ndarray, first: int, last: int, main: cupy.ndarray
) -> None:
    """Write the trace; see ``graphprover.vm.kernels.fill_keccak_classes``."""
    _fill("fill_keccak_classes", device, states, clocks, first, last, main)


def fill_keccak_limbs(
    device: "CudaDevice", states: cupy.ndarray, clocks: cupy.ndarray, first: int, last: int, main: cupy.ndarray
) -> None:
    """Write the trace; see ``graphprover.vm.kernels.fill_keccak_limbs``."""
    _fill("fill_keccak_limbs", device, states, clocks, first, last, main)


def _fill(
    kernel: str,
    device: "CudaDevice",
    states: cupy.ndarray,
    clocks: cupy.ndarray,
    first: int,
    last: int,
    main: cupy.ndarray,
) -> None:
    rows = main.shape[1]
    with device.operation(kernel):
        launch(
            compiled(text("keccak_f.cu")), kernel, blocks_for(rows, _THREADS), _THREADS,
            states.data.ptr + 8 * first, states.shape[1], clocks.data.ptr + 8 * first, last - first, main, rows,
        )  # fmt: skip


def count_keccak_digits(device: "CudaDevice", states: cupy.ndarray, counts: cupy.ndarray, narrow: bool) -> None:
    """Count lookups; see ``graphprover.vm.kernels.count_keccak_digits``."""
    calls = states.shape[1]
    with device.operation("count_keccak_digits"):
        blocks = min(blocks_for(calls, _THREADS), _COUNTING)
        grid = blocks, COUNT_DIGITS_PARTS * len(Lookup)
        launch(compiled(text("keccak_f.cu")), "count_keccak_digits", grid, _THREADS, states, calls, counts, int(narrow))
