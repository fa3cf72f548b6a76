"""Traces of host calls of several rows (``calls.cu``)."""

from typing import TYPE_CHECKING

import cupy
import numpy as np

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch
from graphprover.vm.kernels.calls import Calls
from graphprover.vm.kernels.cuda.sources import text

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_THREADS = 64


def fill_modular(device: "CudaDevice", calls: Calls, main: cupy.ndarray) -> None:
    """Write the rows of calls; see ``graphprover.vm.kernels.fill_modular``."""
    with device.operation("fill_modular"):
        _launch("fill_modular", calls, main)


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


def _launch(name: str, calls: Calls, main: cupy.ndarray, *, each: int = _THREADS) -> None:
    """Start a thread for each call, or with ``each`` = 1 a block of threads, of which each writes a row."""
    count = len(calls.order)
    arrays = calls.order, calls.rows, calls.old, calls.time, calls.new, calls.pc
    words = np.array([*(array.data.ptr for array in arrays), calls.first_clock, count], dtype=np.uint64)
    kernels = compiled(text("calls.cu"))
    launch(kernels, name, blocks_for(count, each), _THREADS, words, main, main.shape[1])
