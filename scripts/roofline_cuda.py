"""The roofline of one NVIDIA GPU, and the timing of work on it.

Measures copying memory, multiplying in the field, butterflies (a, b) -> (a + w b, a - w b), Keccak-f[1600] and
compressions of BLAKE3, by kernels that do nothing else.
"""

import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cupy
import numpy as np

import checkout  # noqa: F401 (finds the package)
from graphprover.field import P
from graphprover.kernels.cuda import launch
from graphprover.kernels.cuda.sources import source

ROUNDS = 256
_KERNELS = Path(__file__).with_suffix(".cu")
_BUSY = 1 << 20  # cycles, 0.5 ms: more than the host needs to enqueue a tree


def seconds(work: Callable[[], object], repetitions: int = 15) -> float:
    """Return the median time of ``work`` on the device.

    The device waits until ``work`` is enqueued, unless that takes the host longer than `_BUSY`.
    """
    kernels = launch.compiled(source(_KERNELS))
    for _ in range(2):
        work()
    times = []
    for _ in range(repetitions):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        launch.launch(kernels, "wait", 1, 1, _BUSY)
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)
    return statistics.median(times)


def words(*shape: int) -> cupy.ndarray:
    """Return random canonical words on the device."""
    row = np.random.default_rng(1).integers(0, P, min(1 << 22, int(np.prod(shape))), dtype=np.uint64)
    return cupy.resize(cupy.asarray(row), shape)


def roofline() -> dict[str, float]:
    """Return operations (or bytes) for each second."""
    threads, blocks = 256, 132 * 64
    compiled = launch.compiled(source(_KERNELS))
    x = words(threads * blocks)
    z = cupy.empty_like(x)
    result = {}
    for name, kernel, operations, rounds in (
        ("multiply", "multiply", 4, ROUNDS),
        ("butterfly", "butterfly", 4, ROUNDS),
        ("keccak", "permute", 1, ROUNDS // 16),
        ("blake3", "compress", 1, ROUNDS // 4),
    ):
        time = seconds(partial(launch.launch, compiled, kernel, blocks, threads, x, z, rounds))
        result[name] = threads * blocks * operations * rounds / time
    big = cupy.empty(1 << 28, dtype=np.uint64)
    copy = cupy.empty_like(big)
    result["copy"] = 2 * big.nbytes / seconds(lambda: copy.data.copy_from_device_async(big.data, big.nbytes))
    return result
