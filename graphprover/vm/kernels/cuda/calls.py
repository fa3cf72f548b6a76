"""Traces of host calls of several rows (``calls.cu``)."""

from typing import TYPE_CHECKING

import cupy
import numpy as np

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch
from graphprover.vm.executor.integers import words_of
from graphprover.vm.kernels.calls import Calls, Fp2Columns, ModularColumns, columns_of
from graphprover.vm.kernels.cuda.sources import text
from graphprover.vm.program.host_calls import calls_of
from graphprover.vm.tables.fp2 import Fp2
from graphprover.vm.tables.modular import Modular

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_THREADS = 64


def fill_modular(device: "CudaDevice", calls: Calls, main: cupy.ndarray, table: Modular) -> None:
    """Write the rows of calls; see ``graphprover.vm.kernels.fill_modular``."""
    columns = np.array(ModularColumns(**columns_of(table)), dtype=np.uint64)
    quotient = calls_of(table.name)[1].number
    with device.operation("fill_modular"):
        _launch(f"fill_{table.name}", calls, main, columns, quotient)


def fill_fp2(device: "CudaDevice", calls: Calls, main: cupy.ndarray, table: Fp2) -> None:
    """Write the rows of calls; see ``graphprover.vm.kernels.fill_fp2``."""
    columns, field = np.array(Fp2Columns(**columns_of(table)), dtype=np.uint64), table.field
    prime = np.array([*words_of(field.p, field.words), pow(field.p, -1, 1 << 32)], dtype=np.uint64)
    with device.operation("fill_fp2"):
        _launch(f"fill_{table.name}", calls, main, columns, prime)


def fill_points(device: "CudaDevice", calls: Calls, main: cupy.ndarray) -> None:
    """Write the rows of calls; see ``graphprover.vm.kernels.fill_points``."""
    with device.operation("fill_points"):
        _launch("fill_points", calls, main)


def fill_absorbs(device: "CudaDevice", calls: Calls, main: cupy.ndarray) -> None:
    """Write the rows of calls; see ``graphprover.vm.kernels.fill_absorbs``."""
    with device.operation("fill_absorbs"):
        _launch("fill_absorbs", calls, main)


def fill_sha256(device: "CudaDevice", calls: Calls, main: cupy.ndarray) -> None:
    """Write the rows of calls; see ``graphprover.vm.kernels.fill_sha256``."""
    with device.operation("fill_sha256"):
        _launch("fill_sha256", calls, main, each=1)


def _launch(name: str, calls: Calls, main: cupy.ndarray, *parameters: np.ndarray | int, each: int = _THREADS) -> None:
    """Start a thread for each call, or with ``each`` = 1 a block of threads, of which each writes a row."""
    count = len(calls.order)
    arrays = calls.order, calls.rows, calls.old, calls.time, calls.new, calls.pc
    words = np.array([*(array.data.ptr for array in arrays), calls.first_clock, count], dtype=np.uint64)
    kernels = compiled(text("calls.cu"))
    launch(kernels, name, blocks_for(count, each), _THREADS, words, *parameters, main, main.shape[1])
