"""A table's quotient, by the interpreter of its constraints (``bytecode``)."""

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np

from graphprover.air.bytecode import quotient_bytecode
from graphprover.field import GENERATOR, ZERO, Ext, P, root_of_unity
from graphprover.kernels.constant_planes import constants
from graphprover.kernels.cpu import bytecode, domain, ntt, pages
from graphprover.kernels.cpu.parallel import Threads, split_rows
from graphprover.kernels.domain import run_shift
from graphprover.kernels.operands import Operands


def quotient(threads: Threads, tables: Sequence[Operands], tau: Ext, alpha: Ext, log_blowup: int) -> list[np.ndarray]:
    """Return all constraints of each table over the vanishing polynomial, uint64 (3, n c) on 7 K in bit-reversed order.

    The matrices are the extensions (columns, n 2^log_blowup). If the quotient's domain is larger, they are extended
    again. Main and permutation may be on H instead, (columns, n) in natural order: then they are extended to one run of
    n points of the domain after the other.
    """
    return [_quotient(threads, table, tau, alpha, log_blowup) for table in tables]


def _quotient(threads: Threads, table: Operands, tau: Ext, alpha: Ext, log_blowup: int) -> np.ndarray:
    log_rows, log_chunks = table.main.shape[1].bit_length() - 1, table.air.log_quotient_chunks
    if table.extended:
        log_rows -= log_blowup
    lowered = quotient_bytecode(table.air)
    words = constants(lowered, table.public_values, table.prefixes, tau, alpha, table.terminal or ZERO)

    def over(matrices: Sequence[np.ndarray | None], first: int, last: int) -> np.ndarray:
        """Return the quotient on rows first..last of its domain; row 0 of the matrices is row first."""
        inputs = (*matrices, _selectors(log_rows, log_chunks, first, last))
        target = pages.empty((3, last - first))

        def rows(first: int, last: int) -> None:
            bytecode.evaluate(lowered, words, inputs, (target,), log_rows, True, first, last)

        split_rows(threads, rows, last - first)
        return target

    def on_run(matrix: np.ndarray | None, run: int, extended: bool) -> np.ndarray | None:
        """Return the columns of a matrix, which is an extension or on H, on a run of n points of the domain."""
        if matrix is None:
            return None
        shift = run_shift(log_rows, run, log_chunks) * (1 if extended else GENERATOR) % P
        return ntt.coset_ldes(threads, [matrix[:, : 1 << log_rows]], [0], 0, shift, bit_reversed_source=extended)[0]

    matrices = (table.main, table.preprocessed, table.permutation)
    if not table.extended:
        runs = []
        for run in range(1 << log_chunks):
            columns = [on_run(matrix, run, matrix is table.preprocessed) for matrix in matrices]
            runs.append(over(columns, run << log_rows, run + 1 << log_rows))
            del columns  # before the next ones are made
        return np.concatenate(runs, axis=1)
    traces = [None if matrix is None else matrix[:, : 1 << log_rows] for matrix in matrices]
    parts = [over(matrices, 0, 1 << log_rows + min(log_chunks, log_blowup))]
    for log_cosets in range(log_blowup, log_chunks):
        # The next half of a domain in bit-reversed order is the one before it, times the root of unity of both.
        half, shift = 1 << log_rows + log_cosets, root_of_unity(log_rows + log_cosets + 1)
        extend = partial(ntt.coset_ldes, threads, log_chunks=[0], log_cosets=log_cosets, bit_reversed_source=True)
        further = [None if trace is None else extend([trace], shift=shift)[0] for trace in traces]
        parts.append(over(further, half, 2 * half))
    return np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]


@lru_cache(maxsize=64)  # of as many sizes as a proof has, each perhaps in runs
def _selectors(log_rows: int, log_chunks: int, first: int, last: int) -> np.ndarray:
    """Return the selectors of rows first..last of the quotient's domain."""
    return np.ascontiguousarray(domain.selectors(log_rows, log_chunks)[:, first:last])
