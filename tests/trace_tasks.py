"""Trace tasks for given traces that use every operation that a device has for traces."""

from dataclasses import replace
from typing import Any

import numpy as np

from graphprover import Statement
from graphprover.statement.trace_task import TraceTask


def shared(device: Any, *, inversions: int) -> int:
    """Return the data that all traces here share: an even number of inversions of a column."""
    return inversions


def copied(device: Any, inversions: int, *, columns: np.ndarray) -> Any:
    """Return the columns, copied by ranges of rows; the first one is inverted twice."""
    there = device.load(columns)
    trace = device.arrays.empty(columns.shape, dtype=np.uint64)

    def copy_rows(first: int, last: int) -> None:
        trace[:, first:last] = there[:, first:last]

    device.split_rows(copy_rows, columns.shape[1])
    for _ in range(inversions):
        trace[0] = device.inverse(trace[0])
    return trace


def as_trace_tasks(statement: Statement) -> Statement:
    """Return the statement with a trace task for each trace."""
    common = TraceTask("common", shared, {"inversions": 2})
    tables = []
    for table in statement.tables:
        main = np.asarray(table.main, dtype=np.uint64)
        tables.append(replace(table, main=TraceTask("copy", copied, {"columns": main}, (common,), main.shape)))
    return Statement(tables, statement.label)
