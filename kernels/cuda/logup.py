"""LogUp columns from resident traces by each table's program (``bytecode``), and their running sums (``logup.cu``)."""

from collections.abc import Sequence

import cupy
import numpy as np

from graphprover.field import Ext
from graphprover.kernels.constant_planes import constants
from graphprover.kernels.cuda import generate, source_cache
from graphprover.kernels.cuda.bytecode import evaluate_lookups
from graphprover.kernels.cuda.inverse import NO_ZERO, no_zero
from graphprover.kernels.cuda.launch import (
    blocks_for,
    empty_arrays,
    kernels_of,
    launch,
    to_host,
)
from graphprover.kernels.cuda.multi_table import batched
from graphprover.kernels.cuda.tape import taped
from graphprover.kernels.operands import Operands

SCAN = 1024  # threads of the block that scans a table's sums of blocks, as in logup.cu


def lookup_columns(tables: Sequence[Operands], tau: Ext) -> list[tuple[cupy.ndarray, Ext]]:
    """For each table the accumulator and fraction columns (3(k + 1), n) of its trace, and the sum of all fractions.

    The traces are (columns, n) in natural order. Waits for the sums, unless all tables have their terminals, which an
    earlier call returned for the same inputs. Raises ZeroDivisionError, naming table and row, for a denominator of
    zero, whatever its multiplicity.
    """
    words = [
        constants(source_cache.lookup_program(table.air).bytecode, table.public_values, table.prefixes, tau)
        for table in tables
    ]
    columns, results = taped(_made, tables, words=words)
    known = [table.terminal for table in tables if table.terminal is not None]
    if len(known) == len(tables):
        return list(zip(columns, known, strict=True))
    terminals = to_host(results).tolist()
    for table, (*_, row) in zip(tables, terminals, strict=True):
        if row != NO_ZERO:
            raise ZeroDivisionError(f"a denominator is zero in row {row} of {table.air.name}")
    return [(target, (a, b, c)) for target, (a, b, c, _) in zip(columns, terminals, strict=True)]


def _made(tables: Sequence[Operands], words: Sequence[np.ndarray]) -> tuple[list[cupy.ndarray], cupy.ndarray]:
    """Return the columns of each table, and (tables, 4): its terminal and its first row with a zero.

    ``words`` are the constants of each table's program.
    """
    columns = empty_arrays((table.air.permutation_width, table.main.shape[1]) for table in tables)
    # The sums of each table's blocks of rows.
    totals = empty_arrays((blocks_for(target.shape[1], generate.THREADS), 3) for target in columns)
    results = no_zero(cupy.empty((len(tables), 4), dtype=cupy.uint64))

    for table, target, sums, result, of_table in zip(tables, columns, totals, results, words, strict=True):
        program = source_cache.lookup_program(table.air)
        groups = tuple(len(lookup.tuples) for lookup in table.air.lookups)
        evaluate_lookups(program, groups, of_table, (table.main, table.preprocessed), target, sums, result[3:])

    items = [
        ([target.data.ptr, target.shape[1], sums.data.ptr, result.data.ptr], len(sums))
        for target, sums, result in zip(columns, totals, results, strict=True)
    ]
    for described, count, blocks in batched(items):
        launch(kernels_of("logup.cu"), "scan_totals", count, SCAN, described)
        launch(kernels_of("logup.cu"), "accumulate", blocks, generate.THREADS, described, count)
    return columns, results
