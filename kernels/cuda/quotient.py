"""A table's quotient, by the kernel that is generated for it or the interpreter (``bytecode``)."""

from collections.abc import Sequence

import cupy

from graphprover.air.bytecode import constants
from graphprover.field import GENERATOR, ZERO, Ext, P
from graphprover.kernels.cuda import bytecode, ntt, source_cache
from graphprover.kernels.cuda.launch import empty_arrays
from graphprover.kernels.domain import run_shift
from graphprover.kernels.operands import Operands


def quotient(tables: Sequence[Operands], tau: Ext, alpha: Ext, log_blowup: int) -> list[cupy.ndarray]:
    """Return all constraints of each table over the vanishing polynomial, uint64 (3, n c) on 7 K in bit-reversed order.

    The matrices are the extensions (columns, n 2^log_blowup). If the quotient's domain is larger, they are extended
    again. Main and permutation may be on H instead, (columns, n) in natural order: then they are extended to one run of
    n points of the domain after the other.
    """
    sizes = [table.main.shape[1] >> (log_blowup if table.extended else 0) for table in tables]
    targets = empty_arrays(
        (3, rows << table.air.log_quotient_chunks) for table, rows in zip(tables, sizes, strict=True)
    )
    for table, rows, target in zip(tables, sizes, targets, strict=True):
        _quotient(table, rows.bit_length() - 1, tau, alpha, log_blowup, target)
    return targets


def _quotient(table: Operands, log_rows: int, tau: Ext, alpha: Ext, log_blowup: int, target: cupy.ndarray) -> None:
    log_chunks = table.air.log_quotient_chunks
    matrices = [table.main, table.preprocessed, table.permutation]
    program = source_cache.quotient_program(table.air)
    words = constants(program.bytecode, table.public_values, table.prefixes, tau, alpha, table.terminal or ZERO)
    if not table.extended:
        for run in range(1 << log_chunks):
            on_run = _on_run(table, log_rows, run, log_chunks)
            part = cupy.empty((3, 1 << log_rows), dtype=target.dtype)
            bytecode.evaluate(program, words, on_run, part, log_rows, log_chunks, run)
            target[:, run << log_rows : run + 1 << log_rows] = part
            del on_run  # before the next ones are made
        return
    if log_chunks > log_blowup:
        matrices = [
            None
            if matrix is None
            else ntt.coset_ldes([matrix[:, : 1 << log_rows]], [0], log_chunks, 1, bit_reversed_source=True)[0]
            for matrix in matrices
        ]
    bytecode.evaluate(program, words, matrices, target, log_rows, log_chunks)


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
