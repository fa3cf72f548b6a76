"""Rounds of one table on one NVIDIA GPU against their lower bounds.

    python scripts/bench_rounds_cuda.py [--device 0] [--only keccak] [--json]

A lower bound is the longer of two times: bytes (everything read and written once) at the rate of copying, and field
products at the rate of a kernel that does nothing else, both measured in the same run. Products whose sums are reduced
once count at the rate of such sums, and compressions of BLAKE3 at the rate of a kernel of these.
"""
# ruff: noqa: E402 (--help works without CuPy)

import argparse
from collections.abc import Callable
from functools import partial

from figures import Figures, add_option

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--device", type=int, default=0, help="number of the GPU")
parser.add_argument("--only", choices=("synthetic", "keccak", "recursion"), help="tables (default: all)")
add_option(parser)
OPTIONS = parser.parse_args()

import cupy
import numpy as np

import checkout  # noqa: F401 (finds the package)
from graphprover.air.bytecode import Bytecode, Opcode, lookup_bytecode, quotient_bytecode
from graphprover.air.description import AirDescription
from graphprover.device.cuda import CudaDevice
from graphprover.examples.synthetic import Synthetic
from graphprover.kernels.constant_planes import constants
from graphprover.kernels.cuda import bytecode, deep, fri, inverse, launch, logup, opening, quotient, source_cache
from graphprover.kernels.cuda.sources import source
from graphprover.kernels.operands import Height, Operands
from graphprover.recursion.kernels import count_xors, fill_blake3, hash_segments
from graphprover.recursion.kernels.compressions import Compressions, empty_calls
from graphprover.recursion.kernels.segments import RowSegments
from graphprover.recursion.openings import OpenedRows
from graphprover.recursion.tables.blake3 import WIDTH
from graphprover.recursion.tables.fixed import ROWS as PAIRS
from graphprover.recursion.tables.fixed import XORS
from graphprover.recursion.tables.places import ROWS
from graphprover.recursion.witness.hashes import RowGroup, segments_of_rows
from graphprover.vm.accelerators.keccak.digits import NUMBERS, Lookup
from graphprover.vm.accelerators.keccak.kernels import SHAPES, count_keccak_digits, fill_permutations
from graphprover.vm.accelerators.keccak.permutation import WORDS
from graphprover.vm.accelerators.keccak.rounds import KeccakRounds
from graphprover.vm.statement.table_numbers import LANES
from graphprover.vm.tables.chips import CHIPS
from roofline_cuda import ROUNDS, roofline, seconds, words

WORD = 8
POINT = (2**40 + 1, 2**63 + 5, 2**64 - 2**33)
ACCUMULATE = """
extern "C" __global__ void accumulate(const u64* x, u64* z, u64 rounds) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x, w = x[i];
    Sum sums_[4] = {};
    for (u64 r = 0; r < rounds; r++)
        for (int k = 0; k < 4; k++) sums::accumulate(sums_[k], w + r, w + k);
    z[i] = sums::total(sums_[0]) ^ sums::total(sums_[1]) ^ sums::total(sums_[2]) ^ sums::total(sums_[3]);
}
"""


class Report:
    """A printer of times and lower bounds."""

    def __init__(self) -> None:
        self.ceiling = roofline()
        threads, blocks = 256, 132 * 64
        compiled = launch.compiled(source("sums.cuh") + ACCUMULATE)
        x = words(threads * blocks)
        z = cupy.empty_like(x)
        time = seconds(lambda: launch.launch(compiled, "accumulate", blocks, threads, x, z, ROUNDS))
        self.ceiling["accumulate"] = threads * blocks * 4 * ROUNDS / time
        self._out = Figures(OPTIONS.json)
        self._out.text(", ".join(f"{name} {rate / 1e9:.4g} G/s" for name, rate in self.ceiling.items()))
        for name, rate in self.ceiling.items():
            self._out(f"ceiling: {name}", rate / 1e9, "GB/s" if name == "copy" else "G/s")

    def __call__(
        self,
        name: str,
        work: Callable[[], object],
        moved: int,
        products: float,
        summed: float = 0,
        compressions: float = 0,
    ) -> None:
        """Print a line: ``moved`` words, ``products`` reduced one by one, ``summed`` ones reduced as sums, and
        ``compressions`` of BLAKE3.
        """
        time = seconds(work)
        memory = moved * WORD / self.ceiling["copy"]
        arithmetic = products / self.ceiling["multiply"] + summed / self.ceiling["accumulate"]
        arithmetic += compressions / self.ceiling["blake3"]
        floor = max(memory, arithmetic)
        self._out.text(
            f"{name:44} {time * 1e3:8.3f} ms   floor: memory {memory * 1e3:7.3f}, arithmetic {arithmetic * 1e3:7.3f} "
            f"ms   {floor / time:5.2f} of floor"
        )
        self._out(name, time * 1e3, "ms", floor / time, memory=memory * 1e3, arithmetic=arithmetic * 1e3)


def operations(code: Bytecode) -> tuple[int, int]:
    """Return the products of bytecode in one row: reduced one by one, and reduced as sums."""
    products = {Opcode.MUL: 1, Opcode.SCALE: 3, Opcode.EXT_MUL: 6}
    alone = sum(products.get(Opcode(op), 0) for op in code.instructions[:, 0].tolist())
    return alone, sum(width * count for op, width, _, _, _, count in code.instructions.tolist() if op == Opcode.LINEAR)


def inverses(report: Report) -> None:
    for log_size in (14, 18, 22, 24):
        n = 1 << log_size
        base = words(n)
        report(f"inverses of 2^{log_size} words", partial(inverse.inverse, base, base), 2 * n, 3 * n)


def lookups(report: Report, air: AirDescription, log_rows: int) -> None:
    n, tuples = 1 << log_rows, sum(len(lookup.tuples) for lookup in air.lookups)
    code, columns = lookup_bytecode(air), len(air.lookups)
    products, summed = operations(code)
    # Of each column: products of denominators, adjugate and norm, numerator, inverse, fraction.
    products += 6 * 2 * (tuples - columns) + (9 + 6 + 3 + 3) * columns
    main = words(air.main_width, n)
    prefixes = [POINT] * columns
    report(
        f"lookup columns, {tuples} tuples in {columns}, 2^{log_rows}",
        lambda: logup.lookup_columns([Operands(air, main, None, [], prefixes)], POINT),
        n * (len(code.inputs) + 3 * (columns + 1) + 6),
        n * products,
        n * summed,
    )


def quotients(report: Report, air: AirDescription, log_rows: int, log_blowup: int) -> None:
    size = 1 << (log_rows + air.log_quotient_chunks)
    permutation = air.permutation_width
    main, lookup = (words(width, 1 << (log_rows + log_blowup)) for width in (air.main_width, max(permutation, 3)))
    code = quotient_bytecode(air)
    products, summed = operations(code)
    prefixes = [POINT] * len(air.lookups)
    shape = f"{air.main_width} + {permutation} columns, 2^{log_rows} in {1 << air.log_quotient_chunks}"
    floor = size * (air.main_width + permutation + 3), size * products, size * summed
    report(
        f"quotient, {shape}",
        lambda: quotient.quotient([Operands(air, main, None, [], prefixes, lookup, POINT)], POINT, POINT, log_blowup),
        *floor,
    )
    of_chunks = bytecode.of_chunks(log_rows, air.log_quotient_chunks, 0)
    filled = np.concatenate([constants(code, [], prefixes, POINT, POINT, POINT), of_chunks])
    matrices, target = (main, None, lookup), words(3, size)
    report(
        f"interpreted, {shape}",
        lambda: bytecode.evaluate(
            source_cache.Program(code, []), filled, matrices, target, log_rows, air.log_quotient_chunks
        ),
        *floor,
    )


def openings(report: Report, log_rows: int, width: int, points: int) -> None:
    n = 1 << log_rows
    matrix = words(width, 2 * n)
    weights = [words(3, n)] * points
    report(
        f"openings of {width} columns 2^{log_rows} at {points}",
        lambda: opening.evaluate([matrix], [weights]),
        n * (width + 3 * points),
        0,
        3 * points * n * width,
    )
    if points == 2:
        report(f"weights, 2^{log_rows}", lambda: opening.interpolation_weights([(log_rows, POINT)]), 3 * n, 25 * n)


def reduced(report: Report, log_rows: int, parts: list[tuple[int, int]]) -> None:
    """Measure the reduced openings; ``parts``: width and points of each matrix."""
    n, width = 1 << log_rows, sum(width for width, _ in parts)
    matrices = [words(width, 2 * n) for width, _ in parts]
    values = [[np.array([POINT] * width, dtype=np.uint64)] * points for width, points in parts]
    inverses = [words(3, n)] * 2
    report(
        f"DEEP of {width} columns 2^{log_rows}",
        lambda: deep.reduced_openings([Height(matrices, values, [0] * len(parts), inverses)], POINT),
        n * (width + 9),
        n * (12 + 6 * sum(points - 1 for _, points in parts)),
        3 * n * width,
    )
    report(f"denominators, 2^{log_rows}", lambda: deep.inverse_denominators([(log_rows, POINT)]), 3 * n, 16 * n)


def folds(report: Report, log_size: int, log_arity: int) -> None:
    n = 1 << log_size
    codeword, joining = words(3, n), words(3, n >> log_arity)
    report(
        f"fold of 2^{log_size} by {1 << log_arity}",
        lambda: fri.fold(codeword, log_arity, POINT, joining),
        3 * n + 6 * (n >> log_arity),
        10 * (n - (n >> log_arity)) + 6 * (n >> log_arity),
    )


def keccak_traces(report: Report, device: CudaDevice, log_rows: int) -> None:
    """Measure the traces of Keccak-f's tables from states, and the counts of their lookups."""
    rows = 1 << log_rows
    calls = rows // SHAPES["keccak_rounds"][1]
    states, clocks = words(WORDS, calls), words(calls)
    for table, (width, rows_of_call) in SHAPES.items():
        main, some = words(width, rows), min(calls, rows // rows_of_call)
        filled = partial(fill_permutations, device, table, states, clocks, 0, some, main)
        report(f"trace of {table}, {some} calls, 2^{log_rows}", filled, width * rows, 0)
    count = partial(count_keccak_digits, device, states, words(len(Lookup), NUMBERS), False)
    report(f"lookups of keccak_digits, {calls} calls", count, WORDS * calls, 0)


def compressions(report: Report, device: CudaDevice, log_calls: int) -> None:
    """Report the trace of 2^log_calls compressions of BLAKE3, and the count of its lookups, which only reads calls."""
    count = 1 << log_calls
    values, blocks, parameters = (words(count, halves // 2).view(np.uint32) for halves in (8, 16, 4))
    calls = Compressions(values, blocks, parameters, cupy.zeros(count, dtype=np.uint32))
    main = cupy.empty((WIDTH, ROWS << log_calls), dtype=np.uint64)
    counts = cupy.zeros((XORS, PAIRS), dtype=np.uint64)
    read = sum(array.nbytes for array in (values, blocks, parameters)) // WORD
    report(f"traces of 2^{log_calls} compressions", partial(fill_blake3, device, calls, main), read + main.size, 0)
    report(f"xors of 2^{log_calls} compressions", partial(count_xors, device, calls, main.shape[1], counts), read, 0)


def opened_rows(report: Report, device: CudaDevice, rows: int, width: int) -> None:
    """Report the calls that hash opened rows of ``width`` words."""
    none = np.zeros(rows, dtype=np.uint32)
    opened = OpenedRows(0, 0, np.arange(rows, dtype=np.uint64), words(rows, width).get(), None)
    segments = segments_of_rows([RowGroup(opened, none, none)])
    there = RowSegments(*device.load_all([*vars(segments).values()]))
    calls = empty_calls(device, len(there.words))
    digests = cupy.empty((len(there.firsts), 8), dtype=np.uint32)
    read = (there.words, there.firsts, there.numbers, there.children)
    moved = sum(array.nbytes for array in (*read, *vars(calls).values(), digests)) // WORD
    work = partial(hash_segments, device, there, calls, digests)
    report(f"calls of {rows} rows of {width} words", work, moved, 0, compressions=len(calls))


def main() -> None:
    device = CudaDevice(OPTIONS.device)
    with device.task():
        report = Report()
        if OPTIONS.only in (None, "recursion"):
            for log_calls in (14, 17):
                compressions(report, device, log_calls)
            for rows, width in ((2048, 24), (1 << 14, 379)):
                opened_rows(report, device, rows, width)
        if OPTIONS.only == "recursion":
            return
        if OPTIONS.only != "synthetic":
            air, caller = KeccakRounds().describe(), CHIPS["keccak_call"](LANES[-1]).describe()
            keccak_traces(report, device, 17)
            lookups(report, air, 17)
            for log_rows in (17, 10):
                quotients(report, air, log_rows, 1)
            quotients(report, caller, 11, 1)
        if OPTIONS.only == "keccak":
            return
        inverses(report)
        for log_rows, width, interactions in ((20, 100, 20), (14, 100, 20), (10, 20, 8)):
            air = Synthetic(width, interactions).describe()
            lookups(report, air, log_rows)
            quotients(report, air, log_rows, 1)
        for log_rows, width, points in ((20, 100, 2), (20, 100, 1), (22, 20, 2), (14, 100, 2), (8, 15, 2)):
            openings(report, log_rows, width, points)
        for log_rows, parts in ((20, [(100, 2), (33, 2), (6, 1)]), (22, [(20, 2), (6, 1)]), (10, [(15, 2), (6, 1)])):
            reduced(report, log_rows, parts)
        for log_size, log_arity in ((22, 1), (22, 2), (22, 3), (22, 4), (12, 3)):
            folds(report, log_size, log_arity)


if __name__ == "__main__":
    main()
