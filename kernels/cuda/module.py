"""CUDA C++ to kernels that can be launched.

A kernel's parameters are arrays of 64-bit words, passed as pointers, and 64-bit integers (``unsigned long long``), so
that no size is ever cut. Its source is compiled for the device at hand on first use; CuPy keeps the result on disk,
under a name that depends on all of the source, the headers included.

    from graphprover.kernels.cuda.module import launch, load

    launch(load("merkle.cu"), "compress", blocks, THREADS, layer, target, nodes)
"""

import threading
from collections import Counter
from functools import cache

import cupy
import numpy as np

from graphprover.kernels.cuda import faults
from graphprover.kernels.cuda.sources import STANDARD, source

_MAX_BLOCKS = (2**31 - 1, 65535, 65535)
_MAX_THREADS = 1024
_LAUNCH_FAILED = 719  # CUDA_ERROR_LAUNCH_FAILED, what a kernel that reads where nothing is leaves behind
_STATIC_SHARED = 32 << 10  # bytes a block may have without being granted more: 48 KiB less what is static

launches: Counter[str] = Counter()  # of each kernel in this process, for whoever wants to know which path ran
_lock = threading.Lock()
_thread = threading.local()


class Module:
    """The kernels of one source text on one device."""

    def __init__(self, code: str) -> None:
        self._module = cupy.RawModule(code=code, options=(f"-std={STANDARD}",), backend="nvrtc")
        self._kernels: dict[str, cupy.RawKernel] = {}
        self._granted: dict[str, int] = {}  # bytes of shared memory, above what every kernel may have

    def kernel(self, name: str, shared: int) -> cupy.RawKernel:
        """The kernel called ``name``, allowed ``shared`` bytes of dynamic shared memory a block."""
        with _lock:
            kernel = self._kernels.get(name)
            if kernel is None:
                kernel = self._kernels[name] = self._module.get_function(name)
            if shared > self._granted.get(name, _STATIC_SHARED):
                kernel.max_dynamic_shared_size_bytes = self._granted[name] = shared
        return kernel


@cache
def _module(code: str, device: int) -> Module:
    return Module(code)


@cache
def _file(file: str) -> str:
    return source(file)


def load(file: str) -> Module:
    """The kernels of a ``.cu`` file of this folder on the current device."""
    return compiled(_file(file))


def compiled(code: str) -> Module:
    """The kernels of a source text, which may come from `source`, on the current device."""
    return _module(code, cupy.cuda.runtime.getDevice())


@cache
def multiprocessors(device: int) -> int:
    """How many a device has."""
    return int(cupy.cuda.runtime.getDeviceProperties(device)["multiProcessorCount"])


def blocks_for(items: int, threads: int) -> int:
    """How many blocks of ``threads`` cover ``items``."""
    return -(-items // threads)


def launch(
    module: Module, name: str, blocks: int | tuple[int, ...], threads: int, *arguments: object, shared: int = 0
) -> None:
    """Enqueue a kernel on the current stream; nothing, if there are no blocks.

    ``arguments`` are arrays of 8-byte elements on the device, C-contiguous; integers in [-2^63, 2^64); and NumPy arrays
    of uint64, for parameters that are structs of words. ``shared`` is in bytes of dynamic shared memory a block. Raises
    ValueError for anything else and for sizes that a grid cannot have.
    """
    grid = (blocks,) if isinstance(blocks, int) else blocks
    if any(not 0 <= size <= limit for size, limit in zip(grid, _MAX_BLOCKS, strict=False)) or not (
        0 < threads <= _MAX_THREADS
    ):
        raise ValueError(f"kernel {name}: no grid of {grid} blocks of {threads} threads")
    if 0 in grid:
        return
    if faults.launch.due():
        raise cupy.cuda.driver.CUDADriverError(_LAUNCH_FAILED)
    kernel = module.kernel(name, shared)
    kernel(grid, (threads,), tuple(_argument(name, each) for each in arguments), shared_mem=shared)
    _thread.launched = launched() + 1
    with _lock:
        launches[name] += 1


def launched() -> int:
    """How many kernels this thread has launched."""
    return getattr(_thread, "launched", 0)


def _argument(kernel: str, value: object) -> object:
    if isinstance(value, cupy.ndarray):
        if value.dtype.itemsize != 8 or not value.flags.c_contiguous:
            raise ValueError(f"kernel {kernel}: a {value.dtype} array of shape {value.shape} is not contiguous words")
        return value
    if isinstance(value, (int, np.integer)):
        return np.uint64(int(value) & 0xFFFFFFFFFFFFFFFF)
    if isinstance(value, np.ndarray) and value.dtype == np.uint64:
        return value.view(np.dtype((np.void, value.nbytes)))  # a struct of so many words
    raise ValueError(f"kernel {kernel}: {type(value).__name__} is no argument")
