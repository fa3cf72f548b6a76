"""Keccak-f and the traces of its tables from the states before calls (``keccak_f.cu``)."""

from typing import TYPE_CHECKING

import cupy

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch
from graphprover.vm.accelerators.keccak.digits import Lookup
from graphprover.vm.accelerators.keccak.kernels import COUNT_DIGITS_PARTS
from graphprover.vm.accelerators.sources import PERMUTATIONS, text

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_THREADS = 128
_COUNTING = 64  # most blocks that count the same numbers: each counts in its own memory first


def permuted(device: "CudaDevice", states: cupy.ndarray) -> cupy.ndarray:
    """Permute states; see ``kernels.permuted``."""
    count = states.shape[1]
    with device.operation("permuted"):
        target = cupy.empty_like(states)
        launch(
            compiled(text(PERMUTATIONS), PERMUTATIONS),
            "permuted",
            blocks_for(count, _THREADS),
            _THREADS,
            states,
            target,
            count,
        )
        return target


def fill_permutations(
    device: "CudaDevice",
    table: str,
    states: cupy.ndarray,
    clocks: cupy.ndarray,
    first: int,
    last: int,
    main: cupy.ndarray,
) -> None:
    """Write a trace; see ``kernels.fill_permutations``."""
    rows, kernel = main.shape[1], f"fill_{table}"
    with device.operation(kernel):
        launch(
            compiled(text(PERMUTATIONS), PERMUTATIONS), kernel, blocks_for(rows, _THREADS), _THREADS,
            states.data.ptr + 8 * first, states.shape[1], clocks.data.ptr + 8 * first, last - first, main, rows,
        )  # fmt: skip


def count_keccak_digits(device: "CudaDevice", states: cupy.ndarray, counts: cupy.ndarray, narrow: bool) -> None:
    """Count lookups; see ``kernels.count_keccak_digits``."""
    calls = states.shape[1]
    with device.operation("count_keccak_digits"):
        blocks = min(blocks_for(calls, _THREADS), _COUNTING)
        grid = blocks, COUNT_DIGITS_PARTS * len(Lookup)
        launch(
            compiled(text(PERMUTATIONS), PERMUTATIONS),
            "count_keccak_digits",
            grid,
            _THREADS,
            states,
            calls,
            counts,
            int(narrow),
        )
