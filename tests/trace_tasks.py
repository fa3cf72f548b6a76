"""Trace tasks that make given traces by every operation that a device has for traces."""

from dataclasses import replace
from typing import Any

import numpy as np

from graphprover import Statement
from graphprover.statement.trace_task import TraceTask


def shared(device: Any, *, inversions: int) -> int:
    """What all traces here need: how often a column is inverted below, an even number."""
    return inversions


def copied(device: Any, inversions: int, *, columns: np.ndarray) -> Any:
    """The columns, a shard of rows at a time; the first one is inverted and inverted again."""
    there = device.load(columns)
    trace = device.arrays.empty(columns.shape, dtype=np.uint64)

    def shard(first: int, last: int) -> None:
        trace[:, first:last] = there[:, first:last]

    device.split_rows(shard, columns.shape[1])
    for _ in range(inversions):
        trace[0] = device.inverse(trace[0])
    return trace


def as_trace_tasks(statement: Statement) -> Statement:
    """The statement with a trace task for each trace."""
    common = TraceTask("common", shared, {"inversions": 2})
    tables = []
    for table in statement.tables:
        main = np.asarray(table.main, dtype=np.uint64)
        tables.append(replace(table, main=TraceTask("copy", copied, {"columns": main}, (common,), main.shape)))
    return Statement(tables, statement.label)
