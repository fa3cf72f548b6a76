"""Rates of the CPU kernels on one core, each with its ratio to the roofline measured in the same run.

    python scripts/bench_kernels.py [--json]                                     # this processor
    NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES= python scripts/bench_kernels.py   # as with 256-bit registers only

The roofline: Goldilocks multiplications and butterflies on vectors in the first-level cache, Keccak-f[1600] with the
state in registers, BLAKE3 by the package blake3 of one long message (vectors over its chunks), and copying memory. A
figure is the best of several runs, by the thread's processor time, so other
programs affect it through shared caches and memory only.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import blake3
import llvmlite.binding as llvm
import numpy as np
from numba import config, njit

import checkout  # noqa: F401 (finds the package)
from figures import Figures, add_option
from graphprover.field import P
from graphprover.kernels.cpu import keccak, ntt, simd
from graphprover.kernels.cpu.hashes import KERNELS
from graphprover.protocol.hashing import HASHES

REPEATS = 5
ROWS = ((8, 18), (20, 17), (40, 16), (100, 15), (400, 13), (1000, 12))  # columns and log2 of rows
LOG_SIZES_AND_COLUMNS = ((8, 4096), (12, 512), (16, 64), (18, 32), (20, 8), (22, 4), (24, 1))


def best(run: Callable[[], object]) -> float:
    """Return the processor seconds of the fastest of several runs, after one that compiles and touches memory."""
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
    """Return the operations (or bytes) of one core for each second."""
    x, y, state = words(2048), words(2048), words(keccak.STATE)
    large, message = words(1 << 24), words(1 << 21).tobytes()  # zeros would be one page, in the cache
    other = np.empty_like(large)
    compressions = HASHES["blake3"].calls(len(message) // 8)
    return {
        "multiply": 2048 * 1000 / best(lambda: multiply(x, y, 1000)),
        "butterfly": 1024 * 1000 / best(lambda: butterflies(x, y[0], 1000)),
        "keccak": 8 * 10_000 / best(lambda: permutations(state, 10_000)),
        "blake3": compressions / best(lambda: blake3.blake3(message, max_threads=1).digest()),
        "copy": 2 * large.nbytes / best(lambda: np.copyto(other, large)),
    }


def hash_lines(out: Figures, hash: str, ceiling: float) -> None:
    """Print the rates of a hash's kernels, in millions of permutations or compressions a second."""
    kernels, calls_of, unit = KERNELS[hash], HASHES[hash].calls, HASHES[hash].call

    def hash_line(name: str, count: int, run: Callable[[], object]) -> None:
        line(out, f"{hash} {name}", count / best(run) / 1e6, f"M {unit}/s", ceiling, unit)

    out.text("")
    for columns, log_rows in ROWS:
        rows = 1 << log_rows
        matrix, digests = words(columns, rows), np.empty((rows, 4), dtype=np.uint64)
        run = partial(kernels.hash_rows, [matrix], digests, 0, rows)
        hash_line(f"hash_rows 2^{log_rows} x {columns}", rows * calls_of(columns), run)
    for size in (2, 8):
        rows = (1 << 18) // size
        codeword, digests = words(3, 1 << 18), np.empty((rows, 4), dtype=np.uint64)
        run = partial(kernels.hash_groups, codeword, size, digests, 0, rows)
        hash_line(f"hash_groups 2^18 by {size}", rows * calls_of(3 * size), run)
    layer, parents, joining = words(1 << 17, 4), np.empty((1 << 16, 4), dtype=np.uint64), words(1 << 16, 4)
    run = partial(kernels.hash_pairs, layer, None, parents, 0, 1 << 16)
    hash_line("hash_pairs of 2^17 nodes", 1 << 16, run)
    run = partial(kernels.hash_pairs, layer, joining, parents, 0, 1 << 16)
    hash_line("hash_pairs joined to 2^16 nodes", 2 << 16, run)
    run = partial(kernels.hash_messages, [layer.reshape(-1, 8)], parents)
    hash_line("hash_messages 2^16 x 8", 1 << 16, run)
    run = partial(kernels.smallest_nonce, layer[0], 60, 0, 1_000_000)
    hash_line("smallest_nonce of 10^6", 1_000_000, run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(parser)
    out = Figures(parser.parse_args().json)
    processor = config.CPU_NAME or llvm.get_host_cpu_name()  # type: ignore[attr-defined]
    out.text(f"compiled for {processor}, one core\n")
    ceiling = roofline()
    multiplication, butterfly = ceiling["multiply"] / 1e9, ceiling["butterfly"] / 1e9
    line(out, "multiplication, in L1", multiplication, "G/s")
    line(out, "butterfly, one level at a time, in L1", butterfly, "G/s", multiplication, "multiplication")
    line(out, "Keccak-f[1600], in registers", ceiling["keccak"] / 1e6, "M/s")
    line(out, "BLAKE3 of 16 MiB, by the package", ceiling["blake3"] / 1e6, "M/s")
    line(out, "copy of 128 MiB, read + written", ceiling["copy"] / 1e9, "GB/s")

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

    for hash in HASHES:
        hash_lines(out, hash, ceiling[hash] / 1e6)


if __name__ == "__main__":
    main()
