"""Recipes that make given traces by every operation that a device has for traces."""

from dataclasses import replace
from typing import Any

import numpy as np

from graphprover import Statement
from graphprover.kernels.lanes import Lanes
from graphprover.recipe import Recipe


def shared(device: Any, *, weight: int) -> int:
    """What all traces here need: how often a column is counted below."""
    return weight


def copied(device: Any, weight: int, *, columns: np.ndarray) -> Any:
    """The columns; the first one through two inversions, with a count of nothing added, a piece of rows at a time."""
    width, rows = columns.shape
    there = device.load(columns)
    trace = device.arrays.empty(columns.shape, dtype=np.uint64)
    keys = np.array([[1, 0, width, 0, 0]], dtype=np.uint64)  # whose table has no numbers
    terms = np.array([[0, weight]], dtype=np.uint64)

    def piece(first: int, last: int) -> None:
        trace[:, first:last] = there[:, first:last]

    device.split_rows(piece, rows)
    device.fill_lanes([], Lanes(np.zeros(0, np.uint32), np.zeros(0, np.uint32), there[:1].repeat(3, axis=0)))
    trace[0] = device.inverse(device.inverse(there[0]))
    if rows % 8 == 0:
        nothing = device.arrays.zeros(1, dtype=np.uint64)
        device.count_keys(trace, keys, terms, nothing)
        trace[0, 0] += nothing[0]
    return trace


def as_recipes(statement: Statement) -> Statement:
    """The statement with a recipe for each trace."""
    common = Recipe("common", shared, {"weight": 1})
    tables = []
    for table in statement.tables:
        main = np.asarray(table.main, dtype=np.uint64)
        tables.append(replace(table, main=Recipe("copy", copied, {"columns": main}, (common,), main.shape)))
    return Statement(tables, statement.label)
