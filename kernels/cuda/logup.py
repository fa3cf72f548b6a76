"""LogUp columns from the resident trace by a kernel generated for the table, and their running sum (``logup.cu``).

CPU twin: kernels/cpu/logup.py after the table's lookup program.
"""

from collections.abc import Sequence
from functools import lru_cache

import cupy

from graphprover.air.description import AirDescription
from graphprover.air.program import Program, constants, lookup_program
from graphprover.field import Ext
from graphprover.kernels.cuda import generate
from graphprover.kernels.cuda.inverse import NO_ZERO, no_zero
from graphprover.kernels.cuda.module import blocks_for, launch, load
from graphprover.kernels.cuda.program import none, run

_SCAN = 1024  # threads of the block that scans the sums of blocks, as in logup.cu


def lookup_columns(
    air: AirDescription,
    main: cupy.ndarray,
    preprocessed: cupy.ndarray | None,
    public_values: Sequence[int],
    prefixes: Sequence[Ext],
    beta: Ext,
) -> tuple[cupy.ndarray, Ext]:
    """The accumulator and fraction columns (3(k + 1), n) of a trace in natural order, and the sum of all fractions.

    ``main`` and ``preprocessed`` are the trace, (columns, n). Waits for the sum. Raises ZeroDivisionError, naming the
    row, for a denominator of zero, whatever its multiplicity.
    """
    program = _program(air)
    words = constants(program, public_values, prefixes, beta)
    groups = tuple(len(lookup.tuples) for lookup in air.lookups)
    rows = main.shape[1]
    columns = cupy.empty((3 * (len(groups) + 1), rows), dtype=cupy.uint64)
    blocks = blocks_for(rows, generate.THREADS)
    # The sums of blocks of rows, then of all rows; then the first row with a zero.
    totals = cupy.empty(3 * (blocks + 1) + 1, dtype=cupy.uint64)
    first_zero = no_zero(totals[-1:])
    for code in generate.lookup_sources(program, groups):
        run(
            code, "lookups", blocks, words,
            main, rows, none(preprocessed), rows, columns, totals, first_zero, rows,
        )  # fmt: skip
    module = load("logup.cu")
    launch(module, "scan_totals", 1, _SCAN, totals, blocks)
    launch(module, "accumulate", blocks, generate.THREADS, columns, rows, totals)
    a, b, c, row = totals[-4:].get().tolist()
    if row != NO_ZERO:
        raise ZeroDivisionError(f"a denominator is zero in row {row} of {air.name}")
    return columns, (a, b, c)


@lru_cache(maxsize=256)
def _program(air: AirDescription) -> Program:
    return lookup_program(air)
