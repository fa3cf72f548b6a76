"""Rates of the CPU kernels on one core, each with its ratio to a ceiling measured in the same run.

    python scripts/bench_kernels.py [--json]                                     # this processor
    NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES= python scripts/bench_kernels.py   # as if it had 256-bit registers only

The ceilings: Goldilocks multiplications and butterflies on vectors in the first-level cache, Keccak-f[1600] with the
state in registers, and copying memory. A figure is the best of several runs, by the thread's processor time, so that
other programs disturb it through the caches and the memory they share only.
"""

import argparse
import time
from collections.abc import Callable

import llvmlite.binding as llvm
import numpy as np
from numba import config, njit

import checkout  # noqa: F401 (finds the package)
from figures import Figures, add_option
from graphprover.field import P
from graphprover.kernels.cpu import grind, keccak, merkle, ntt, simd
from graphprover.protocol.hashing import RATE_WORDS

REPEATS = 5
LOG_SIZES_AND_COLUMNS = ((8, 4096), (12, 512), (16, 64), (18, 32), (20, 8), (22, 4), (24, 1))


def best(run: Callable[[], object]) -> float:
    """Processor seconds of the fastest of several runs, after one that compiles and touches memory."""
    run()
    seconds = []
    for _ in range(REPEATS):
        start = time.thread_time()
        run()
        seconds.append(time.thread_time() - start)
    return min(seconds)


@njit(nogil=True)
def multiply(x, y, repeats):
    for _ in range(repeats):
        for i in range(0, len(x), simd.WIDTH):
            simd.store(x, i, simd.mul(simd.load(x, i), simd.load(y, i)))


@njit(nogil=True)
def butterflies(x, twiddle, repeats):
    half = len(x) // 2
    for _ in range(repeats):
        for i in range(0, half, simd.WIDTH):
            a, b = simd.load(x, i), simd.canonical(simd.mul(simd.load(x, i + half), twiddle))
            simd.store(x, i, simd.add_canonical(a, b))
            simd.store(x, i + half, simd.sub_canonical(a, b))


@njit(nogil=True)
def permutations(state, repeats):
    for _ in range(repeats):
        keccak.permute(state)


def words(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, P, shape, dtype=np.uint64)


def line(out: Figures, name: str, figure: float, unit: str, ceiling: float | None = None, of: str = "") -> None:
    ratio = None if ceiling is None else figure / ceiling
    out.text(f"{name:42}{figure:9.2f} {unit:16}" + ("" if ratio is None else f"{ratio:8.2f} of {of}"))
    out(name, figure, unit, ratio)


def roofline() -> dict[str, float]:
    """Operations (or bytes) a second of one core."""
    x, y, state = words(2048), words(2048), words(keccak.STATE)
    large = words(1 << 24)
    other = np.empty_like(large)
    return {
        "multiply": 2048 * 1000 / best(lambda: multiply(x, y, 1000)),
        "butterfly": 1024 * 1000 / best(lambda: butterflies(x, y[0], 1000)),
        "permute": 8 * 10_000 / best(lambda: permutations(state, 10_000)),
        "copy": 2 * large.nbytes / best(lambda: np.copyto(other, large)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(parser)
    out = Figures(parser.parse_args().json)
    processor = config.CPU_NAME or llvm.get_host_cpu_name()  # type: ignore[attr-defined]
    out.text(f"compiled for {processor}, one core\n")
    ceiling = roofline()
    multiplication, butterfly = ceiling["multiply"] / 1e9, ceiling["butterfly"] / 1e9
    permutation, copy = ceiling["permute"] / 1e6, ceiling["copy"] / 1e9
    line(out, "multiplication, in L1", multiplication, "G/s")
    line(out, "butterfly, one level at a time, in L1", butterfly, "G/s", multiplication, "multiplication")
    line(out, "Keccak-f[1600], in registers", permutation, "M/s")
    line(out, "copy of 128 MiB, read + written", copy, "GB/s")

    for log_size, columns in LOG_SIZES_AND_COLUMNS:
        source, target = words(columns, 1 << log_size), np.empty((columns, 2 << log_size), dtype=np.uint64)
        values = np.empty_like(source)
        count = columns * log_size * (1 << log_size) / 2 / 1e9
        shape = f"2^{log_size} x {columns}"
        out.text("")
        forward = count / best(lambda: ntt.ntt(source, values, 0, columns))  # noqa: B023
        line(out, f"ntt {shape}", forward, "G butterflies/s", butterfly, "butterfly")
        backward = count / best(lambda: ntt.inverse_ntt(source, values, 0, columns))  # noqa: B023
        line(out, f"inverse_ntt {shape}", backward, "G butterflies/s", butterfly, "butterfly")
        lde = best(lambda: ntt.coset_lde(source, target, 1, 1, 7, False, 0, columns))  # noqa: B023
        line(out, f"coset_lde {shape} to 2^{log_size + 1}", 3 * count / lde, "G butterflies/s", butterfly, "butterfly")

    out.text("")
    for columns, log_rows in ((8, 18), (16, 18), (100, 15), (400, 13)):
        rows = 1 << log_rows
        matrix, digests = words(columns, rows), np.empty((rows, 4), dtype=np.uint64)
        count = rows * (columns // RATE_WORDS + 1) / 1e6
        seconds = best(lambda: keccak.hash_rows([matrix], digests, 0, rows))  # noqa: B023
        line(out, f"hash_rows 2^{log_rows} x {columns}", count / seconds, "M Keccak-f/s", permutation, "Keccak-f")
    for size in (2, 8):
        rows = (1 << 18) // size
        codeword, digests = words(3, 1 << 18), np.empty((rows, 4), dtype=np.uint64)
        count = rows * (3 * size // RATE_WORDS + 1) / 1e6
        seconds = best(lambda: keccak.hash_groups(codeword, size, digests, 0, rows))  # noqa: B023
        line(out, f"hash_groups 2^18 by {size}", count / seconds, "M Keccak-f/s", permutation, "Keccak-f")
    layer, parents = words(1 << 17, 4), np.empty((1 << 16, 4), dtype=np.uint64)
    digests = words(1 << 16, 4)
    seconds = best(lambda: merkle.compress(layer, parents, 0, 1 << 16))
    line(out, "compress 2^17 nodes", (1 << 16) / seconds / 1e6, "M Keccak-f/s", permutation, "Keccak-f")
    seconds = best(lambda: merkle.inject(layer, digests, parents, 0, 1 << 16))
    line(out, "inject into 2^16 nodes", 2 * (1 << 16) / seconds / 1e6, "M Keccak-f/s", permutation, "Keccak-f")
    seconds = best(lambda: grind.smallest_nonce(layer[0], 60, 0, 1_000_000))
    line(out, "grind 10^6 nonces", 1 / seconds, "M Keccak-f/s", permutation, "Keccak-f")


if __name__ == "__main__":
    main()
