"""Kernels on one NVIDIA GPU against the roofline measured in the same run.

    python scripts/bench_kernels_cuda.py [--device 0] [--columns 32] [--committed 20] [--only commitment] [--json]

The roofline: copying memory, multiplying in the field, butterflies (a, b) -> (a + w b, a - w b), Keccak-f[1600] and
compressions of BLAKE3, each by a kernel that does nothing else, in registers. Times are medians over repetitions, by
the device's own clock.
"""
# ruff: noqa: E402 (--help works without CuPy)

import argparse
from functools import partial

from figures import Figures, add_option

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--device", type=int, default=0, help="number of the GPU")
parser.add_argument("--columns", type=int, default=32, help="of the transforms")
parser.add_argument("--committed", type=int, default=20, help="columns that are extended and committed to")
parser.add_argument("--only", choices=("transforms", "hashes", "commitment"), help="what to measure (default: all)")
add_option(parser)
OPTIONS = parser.parse_args()
OUT = Figures(OPTIONS.json)

import cupy
import numpy as np

import checkout  # noqa: F401 (finds the package)
from graphprover.device.cuda import CudaDevice
from graphprover.field import P
from graphprover.kernels.cuda import grind, merkle, ntt
from graphprover.kernels.cuda.hashes import KERNELS
from graphprover.protocol.hashing import HASHES
from roofline_cuda import roofline, seconds, words


def report(name: str, time: float, rate: float, unit: str, ceiling: float) -> None:
    OUT.text(f"{name:44} {time * 1e3:9.3f} ms {rate / 1e9:9.2f} G {unit}/s  {rate / ceiling:6.2f} of ceiling")
    OUT(name, rate / 1e9, f"G {unit}/s", rate / ceiling, milliseconds=time * 1e3)


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


def hashes(ceiling: dict[str, float], hash: str) -> None:
    most, unit = ceiling[hash], HASHES[hash].call
    for log_rows, width in ((10, 15), (16, 15), (20, 100), (22, 20), (17, 2633)):
        rows = 1 << log_rows
        matrix, digests = words(width, rows), cupy.empty((rows, 4), dtype=np.uint64)
        time = seconds(partial(KERNELS[hash].hash_rows, [matrix], digests))
        report(f"{hash} rows of {width} x 2^{log_rows}", time, rows * HASHES[hash].calls(width) / time, unit, most)
    for log_leaves in (16, 20, 22):
        layers = merkle.allocate(1 << log_leaves, 0)
        layers[0][...] = words(*layers[0].shape)
        time = seconds(partial(merkle.build, layers, {}, hash))
        report(f"{hash} tree over 2^{log_leaves} leaves", time, len(layers[0]) / time, unit, most)
    seed = np.arange(4, dtype=np.uint64).tobytes()
    for bits in (24, 28):
        nonce = grind.grind(seed, bits, hash)
        time = seconds(lambda: grind.grind(seed, bits, hash), 5)  # noqa: B023
        report(f"{hash} grinding of {bits} bits, {nonce / 1e6:.3g} M nonces", time, (nonce + 1) / time, unit, most)


def commitment(device: CudaDevice, columns: int) -> None:
    """Measure the extension of 20 columns of 2^20 to 2^22 and its tree; the target with Keccak-256 is 7 ms."""
    data = words(columns, 1 << 20)
    for name, work in (
        ("extension 2^20 -> 2^22", lambda: device.extend([data], 2)),
        ("extension and keccak tree 2^20 -> 2^22", lambda: device.merkle_tree(device.extend([data], 2), 0, "keccak")),
        ("extension and blake3 tree 2^20 -> 2^22", lambda: device.merkle_tree(device.extend([data], 2), 0, "blake3")),
    ):
        time = seconds(work)
        OUT.text(f"{name} of {columns} columns: {time * 1e3:.3f} ms")
        OUT(name, time * 1e3, "ms", columns=columns)
    trace = np.random.default_rng(2).integers(0, P, (16, 1 << 20), dtype=np.uint64)
    time = seconds(lambda: device.load(trace), 5)
    OUT.text(f"upload of {trace.nbytes >> 20} MiB: {time * 1e3:.3f} ms, {trace.nbytes / time / 1e9:.1f} GB/s")
    OUT(f"upload of {trace.nbytes >> 20} MiB", trace.nbytes / time / 1e9, "GB/s")


def main() -> None:
    device = CudaDevice(OPTIONS.device)
    with device.task():
        ceiling = roofline()
        name = cupy.cuda.runtime.getDeviceProperties(OPTIONS.device)["name"].decode()
        OUT.text(
            f"{name}, memory from {device.memory.name}: "
            + ", ".join(f"{operation} {rate / 1e9:.4g} G/s" for operation, rate in ceiling.items())
        )
        for operation, rate in ceiling.items():
            OUT(f"ceiling: {operation}", rate / 1e9, "GB/s" if operation == "copy" else "G/s")
        if OPTIONS.only in (None, "transforms"):
            transforms(ceiling, OPTIONS.columns)
        if OPTIONS.only in (None, "hashes"):
            for hash in HASHES:
                hashes(ceiling, hash)
        if OPTIONS.only in (None, "commitment"):
            commitment(device, OPTIONS.committed)


if __name__ == "__main__":
    main()
