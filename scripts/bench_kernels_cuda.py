"""Kernels on one NVIDIA GPU against ceilings measured in the same run: ``python scripts/bench_kernels_cuda.py``.

Ceilings: copying memory, multiplying in the field, butterflies (a, b) -> (a + w b, a - w b) and Keccak-f[1600], each
by a kernel that does nothing else, in registers. Times are medians over repetitions, by the device's own clock.
"""

import argparse
import statistics
from collections.abc import Callable
from functools import partial

import cupy
import numpy as np

from graphprover.device.cuda import CudaDevice
from graphprover.field import P
from graphprover.kernels.cuda import grind, keccak, launch, merkle, ntt
from graphprover.kernels.cuda.sources import source

ROUNDS = 256
CEILINGS = """
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


def ceilings() -> dict[str, float]:
    """Operations (or bytes) a second."""
    threads, blocks = 256, 132 * 64
    compiled = launch.compiled(source("ext.cuh") + source("keccak.cuh").replace(source("field.cuh"), "") + CEILINGS)
    x = words(threads * blocks)
    z = cupy.empty_like(x)
    result = {}
    for name, each, rounds in (("multiply", 4, ROUNDS), ("butterfly", 4, ROUNDS), ("permute", 1, ROUNDS // 16)):
        time = seconds(partial(launch.launch, compiled, name, blocks, threads, x, z, rounds))
        result[name] = threads * blocks * each * rounds / time
    big = cupy.empty(1 << 28, dtype=np.uint64)
    copy = cupy.empty_like(big)
    result["copy"] = 2 * big.nbytes / seconds(lambda: copy.data.copy_from_device_async(big.data, big.nbytes))
    return result


def report(name: str, time: float, rate: float, unit: str, ceiling: float) -> None:
    print(f"{name:44} {time * 1e3:9.3f} ms {rate / 1e9:9.2f} G {unit}/s  {rate / ceiling:6.2f} of ceiling")


def transforms(ceiling: dict[str, float], columns: int) -> None:
    for log_size in (14, 16, 18, 20, 22, 24):
        data = words(columns, 1 << log_size)
        count = columns * log_size << (log_size - 1)
        time = seconds(partial(ntt.ntt, data))
        report(f"NTT of {columns} columns of 2^{log_size}", time, count / time, "butterflies", ceiling["butterfly"])
    for log_size, log_blowup, width in ((10, 1, 15), (16, 1, 15), (20, 1, 100), (20, 2, 20)):
        data = words(width, 1 << log_size)
        count = width * ((log_size << (log_size - 1)) * (1 + (1 << log_blowup)))
        time = seconds(partial(ntt.coset_ldes, [data], [0], log_blowup, 7, False))
        name = f"LDE of {width} columns 2^{log_size} -> 2^{log_size + log_blowup}"
        report(name, time, count / time, "butterflies", ceiling["butterfly"])


def hashes(ceiling: dict[str, float]) -> None:
    for log_rows, width in ((10, 15), (16, 15), (20, 100), (22, 20)):
        rows = 1 << log_rows
        matrix = words(width, rows)
        layers = merkle.allocate(rows, 0)
        count = rows * (width // keccak.RATE + 1)
        time = seconds(partial(keccak.hash_rows, [matrix], layers[0]))
        report(f"rows of {width} x 2^{log_rows}", time, count / time, "permutations", ceiling["permute"])
        time = seconds(partial(merkle.build, layers, {}))
        report(f"tree over 2^{log_rows} leaves", time, (rows - 1) / time, "permutations", ceiling["permute"])
    seed = np.arange(4, dtype=np.uint64).tobytes()
    nonce = grind.grind(seed, 24)
    time = seconds(lambda: grind.grind(seed, 24), 5)
    report(f"grinding, nonce {nonce}", time, (nonce + 1) / time, "permutations", ceiling["permute"])


def commitment(device: CudaDevice) -> None:
    """Bar: the extension of 20 columns of 2^20 to 2^22 and its tree in 7 ms."""
    data = words(20, 1 << 20)
    time = seconds(lambda: device.merkle_tree(device.extend([data], 2), 0))
    print(f"commitment to 20 columns 2^20 -> 2^22: {time * 1e3:.3f} ms")
    trace = np.random.default_rng(2).integers(0, P, (16, 1 << 20), dtype=np.uint64)
    time = seconds(lambda: device.load(trace), 5)
    print(f"upload of {trace.nbytes >> 20} MiB: {time * 1e3:.3f} ms, {trace.nbytes / time / 1e9:.1f} GB/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", type=int, default=0, help="number of the GPU")
    parser.add_argument("--columns", type=int, default=32, help="of the transforms")
    arguments = parser.parse_args()
    device = CudaDevice(arguments.device)
    with device.task():
        ceiling = ceilings()
        name = cupy.cuda.runtime.getDeviceProperties(arguments.device)["name"].decode()
        print(
            f"{name}, memory from {device.memory.name}: "
            + ", ".join(f"{k} {v / 1e9:.4g} G/s" for k, v in ceiling.items())
        )
        transforms(ceiling, arguments.columns)
        hashes(ceiling)
        commitment(device)


if __name__ == "__main__":
    main()
