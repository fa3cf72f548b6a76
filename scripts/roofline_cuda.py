"""What one NVIDIA GPU can do: copying memory, multiplying in the field, butterflies (a, b) -> (a + w b, a - w b) and
Keccak-f[1600], by kernels that do nothing else; and how the benchmarks time work on it.
"""

import statistics
from collections.abc import Callable
from functools import partial

import cupy
import numpy as np

import checkout  # noqa: F401 (finds the package)
from graphprover.field import P
from graphprover.kernels.cuda import launch
from graphprover.kernels.cuda.sources import source

ROUNDS = 256
KERNELS = """
extern "C" __global__ void multiply(const u64* x, u64* z, u64 rounds) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x, y[4], w = x[i];
    for (int k = 0; k < 4; k++) y[k] = w + k;
    for (u64 r = 0; r < rounds; r++)
        for (int k = 0; k < 4; k++) y[k] = field::mul_word(y[k], w);
    z[i] = y[0] ^ y[1] ^ y[2] ^ y[3];
}
extern "C" __global__ void butterfly(const u64* x, u64* z, u64 rounds) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x, a[4], b[4], w = x[i];
    for (int k = 0; k < 4; k++) {
        a[k] = w + k;
        b[k] = w - k;
    }
    for (u64 r = 0; r < rounds; r++)
        for (int k = 0; k < 4; k++) {
            u64 product = field::mul(b[k], w), sum = field::add(a[k], product);
            b[k] = field::sub(a[k], product);
            a[k] = sum;
        }
    z[i] = a[0] ^ a[1] ^ a[2] ^ a[3] ^ b[0] ^ b[1] ^ b[2] ^ b[3];
}
extern "C" __global__ void permute(const u64* x, u64* z, u64 rounds) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x, state[25];
    for (int k = 0; k < 25; k++) state[k] = x[i] + k;
    for (u64 r = 0; r < rounds; r++) keccak::permute(state);
    z[i] = state[0] ^ state[24];
}
"""


def seconds(work: Callable[[], object], repetitions: int = 15) -> float:
    """The median time of ``work`` on the device."""
    for _ in range(2):
        work()
    times = []
    for _ in range(repetitions):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)
    return statistics.median(times)


def words(*shape: int) -> cupy.ndarray:
    """Random canonical words on the device."""
    row = np.random.default_rng(1).integers(0, P, min(1 << 22, int(np.prod(shape))), dtype=np.uint64)
    return cupy.resize(cupy.asarray(row), shape)


def roofline() -> dict[str, float]:
    """Operations (or bytes) a second."""
    threads, blocks = 256, 132 * 64
    compiled = launch.compiled(source("ext.cuh") + source("keccak.cuh").replace(source("field.cuh"), "") + KERNELS)
    x = words(threads * blocks)
    z = cupy.empty_like(x)
    result = {}
    for name, operations, rounds in (("multiply", 4, ROUNDS), ("butterfly", 4, ROUNDS), ("permute", 1, ROUNDS // 16)):
        time = seconds(partial(launch.launch, compiled, name, blocks, threads, x, z, rounds))
        result[name] = threads * blocks * operations * rounds / time
    big = cupy.empty(1 << 28, dtype=np.uint64)
    copy = cupy.empty_like(big)
    result["copy"] = 2 * big.nbytes / seconds(lambda: copy.data.copy_from_device_async(big.data, big.nbytes))
    return result
