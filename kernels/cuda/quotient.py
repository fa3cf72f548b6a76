"""A table's quotient, by the kernel that is generated for it or the interpreter (``bytecode``)."""

from collections.abc import Sequence

import cupy

from graphprover.air.bytecode import constants
from graphprover.field import ZERO, Ext
from graphprover.kernels.cuda import bytecode, ntt, source_cache
from graphprover.kernels.cuda.launch import empty_arrays
from graphprover.kernels.operands import Operands


def quotient(tables: Sequence[Operands], tau: Ext, alpha: Ext, log_blowup: int) -> list[cupy.ndarray]:
    """Return all constraints of each table over the vanishing polynomial, uint64 (3, n c) on 7 K in bit-reversed order.

    The matrices are the extensions (columns, n 2^log_blowup). If the quotient's domain is larger, they are extended
    again.
    """
    targets = empty_arrays((3, table.main.shape[1] >> log_blowup << table.air.log_quotient_chunks) for table in tables)
    for table, target in zip(tables, targets, strict=True):
        _quotient(table, tau, alpha, log_blowup, target)
    return targets


def _quotient(table: Operands, tau: Ext, alpha: Ext, log_blowup: int, target: cupy.ndarray) -> None:
    log_rows, log_chunks = table.main.shape[1].bit_length() - 1 - log_blowup, table.air.log_quotient_chunks
    matrices = [table.main, table.preprocessed, table.permutation]
    if log_chunks > log_blowup:
        matrices = [
            None
            if matrix is None
            else ntt.coset_ldes([matrix[:, : 1 << log_rows]], [0], log_chunks, 1, bit_reversed_source=True)[0]
            for matrix in matrices
        ]
    program = source_cache.quotient_program(table.air)
    words = constants(program.bytecode, table.public_values, table.prefixes, tau, alpha, table.terminal or ZERO)
    bytecode.evaluate(program, words, matrices, target, log_rows)
