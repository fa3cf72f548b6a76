"""A table's quotient, by the kernel that is generated for it or the interpreter (``bytecode``)."""

from collections.abc import Sequence

import cupy
import numpy as np

from graphprover.field import GENERATOR, ZERO, Ext, P
from graphprover.kernels.constant_planes import constants
from graphprover.kernels.cuda import bytecode, ntt, source_cache
from graphprover.kernels.cuda.launch import empty_arrays
from graphprover.kernels.cuda.tape import taped
from graphprover.kernels.domain import run_shift
from graphprover.kernels.operands import Operands


def quotient(tables: Sequence[Operands], tau: Ext, alpha: Ext, log_blowup: int) -> list[cupy.ndarray]:
    """Return all constraints of each table over the vanishing polynomial, uint64 (3, n c) on 7 K in bit-reversed order.

    The matrices are the extensions (columns, n 2^log_blowup). If the quotient's domain is larger, they are extended
    again. Main and permutation may be on H instead, (columns, n) in natural order: then they are extended to one run of
    n points of the domain after the other.
    """
    sized = [(table, _log_rows(table, log_blowup)) for table in tables]
    if all(table.extended for table in tables):
        words = [_words(table, _constants(table, tau, alpha), log_rows, 0) for table, log_rows in sized]
        return taped(_of_extensions, tables, log_blowup, words=words)
    return [
        _of_extensions([table], log_blowup, [_words(table, _constants(table, tau, alpha), log_rows, 0)])[0]
        if table.extended
        else _of_trace(table, log_rows, tau, alpha)
        for table, log_rows in sized
    ]


def _log_rows(table: Operands, log_blowup: int) -> int:
    """Return log2 of the rows of a table's trace."""
    return int(table.main.shape[1]).bit_length() - 1 - (log_blowup if table.extended else 0)


def _constants(table: Operands, tau: Ext, alpha: Ext) -> np.ndarray:
    """Return the constants of a table's program."""
    program = source_cache.quotient_program(table.air)
    return constants(program.bytecode, table.public_values, table.prefixes, tau, alpha, table.terminal or ZERO)


def _words(table: Operands, own: np.ndarray, log_rows: int, run: int) -> np.ndarray:
    """Return the words of a table's program, from its ``own`` constants, for the rows from a run on."""
    return np.concatenate([own, bytecode.of_chunks(log_rows, table.air.log_quotient_chunks, run)])


def _of_extensions(tables: Sequence[Operands], log_blowup: int, words: Sequence[np.ndarray]) -> list[cupy.ndarray]:
    """Return the quotients of tables that are extensions; ``words`` are the constants of each table's program."""
    sizes = [table.main.shape[1] >> log_blowup for table in tables]
    targets = empty_arrays(
        (3, rows << table.air.log_quotient_chunks) for table, rows in zip(tables, sizes, strict=True)
    )
    for table, rows, of_table, target in zip(tables, sizes, words, targets, strict=True):
        log_chunks = table.air.log_quotient_chunks
        matrices = [table.main, table.preprocessed, table.permutation]
        if log_chunks > log_blowup:
            matrices = [
                None
                if matrix is None
                else ntt.coset_ldes([matrix[:, :rows]], [0], log_chunks, 1, bit_reversed_source=True)[0]
                for matrix in matrices
            ]
        program = source_cache.quotient_program(table.air)
        bytecode.evaluate(program, of_table, matrices, target, rows.bit_length() - 1, log_chunks)
    return targets


def _of_trace(table: Operands, log_rows: int, tau: Ext, alpha: Ext) -> cupy.ndarray:
    """Return the quotient of a table whose columns are on H, one run of the domain after the other."""
    log_chunks = table.air.log_quotient_chunks
    program, own = source_cache.quotient_program(table.air), _constants(table, tau, alpha)
    target = cupy.empty((3, 1 << log_rows + log_chunks), dtype=cupy.uint64)
    for run in range(1 << log_chunks):
        on_run = _on_run(table, log_rows, run, log_chunks)
        part = cupy.empty((3, 1 << log_rows), dtype=cupy.uint64)
        words = _words(table, own, log_rows, run)
        bytecode.evaluate(program, words, on_run, part, log_rows, log_chunks, run)
        target[:, run << log_rows : run + 1 << log_rows] = part
        del on_run  # before the next ones are made
    return target


def _on_run(table: Operands, log_rows: int, run: int, log_runs: int) -> list[cupy.ndarray | None]:
    """Return main, preprocessed and lookup columns on a run of n points of the quotient's domain.

    The preprocessed columns are extensions; main and lookup columns are on H, and share launches.
    """
    shift = run_shift(log_rows, run, log_runs)
    traces = [matrix for matrix in (table.main, table.permutation) if matrix is not None]
    main, *permutation = ntt.coset_ldes(traces, [0] * len(traces), 0, shift * GENERATOR % P, bit_reversed_source=False)
    preprocessed = None
    if table.preprocessed is not None:
        block = table.preprocessed[:, : 1 << log_rows]
        preprocessed = ntt.coset_ldes([block], [0], 0, shift, bit_reversed_source=True)[0]
    return [main, preprocessed, permutation[0] if permutation else None]
