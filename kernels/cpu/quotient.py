"""A table's quotient, by the interpreter of its constraints (``bytecode``)."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from graphprover.air.bytecode import constants, quotient_bytecode
from graphprover.field import ZERO, Ext
from graphprover.kernels.cpu import bytecode, domain, ntt
from graphprover.kernels.cpu.pieces import Threads, split_rows
from graphprover.kernels.operands import Operands

_selectors = lru_cache(maxsize=8)(domain.selectors)


def quotient(threads: Threads, tables: Sequence[Operands], tau: Ext, alpha: Ext, log_blowup: int) -> list[np.ndarray]:
    """All constraints of each table over the vanishing polynomial, uint64 (3, n c) on 7 K in bit-reversed order.

    The matrices are the extensions (columns, n 2^log_blowup); what of the quotient's domain they do not reach they are
    extended to again.
    """
    return [_quotient(threads, table, tau, alpha, log_blowup) for table in tables]


def _quotient(threads: Threads, table: Operands, tau: Ext, alpha: Ext, log_blowup: int) -> np.ndarray:
    log_rows, log_chunks = table.main.shape[1].bit_length() - 1 - log_blowup, table.air.log_quotient_chunks
    matrices = [table.main, table.preprocessed, table.permutation]
    if log_chunks > log_blowup:
        matrices = [
            None
            if matrix is None
            else ntt.coset_ldes(threads, [matrix[:, : 1 << log_rows]], [0], log_chunks, 1, bit_reversed_source=True)[0]
            for matrix in matrices
        ]
    lowered = quotient_bytecode(table.air)
    words = constants(lowered, table.public_values, table.prefixes, tau, alpha, table.terminal or ZERO)
    inputs = (*matrices, _selectors(log_rows, log_chunks))
    target = np.empty((3, 1 << (log_rows + log_chunks)), dtype=np.uint64)

    def rows(first: int, last: int) -> None:
        bytecode.evaluate(lowered, words, inputs, (target,), log_rows, True, first, last)

    split_rows(threads, rows, target.shape[1])
    return target
