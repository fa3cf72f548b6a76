"""Batches of tables that share tasks.

A task costs the host the same for 16 rows as for a million, and so does a kernel launch, so small tables share both. A
large table has its own tasks, which can run in parallel with others. All tables of a batch hold the same columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from operator import itemgetter
from types import MappingProxyType
from typing import TypeVar

from graphprover.protocol.layout import Layout

T = TypeVar("T")

NAMED = 4  # tables listed in a batch's name


class Hold(IntEnum):
    """The main and lookup columns of a table that a device holds between the rounds; each level holds less."""

    EXTENSIONS = 0
    TRACES = 1  # columns on the trace, which are extended again for each use
    MAIN = 2  # main columns on the trace; lookup columns are computed again, too


Holds = Mapping[int, Hold]  # by table; others hold extensions
NO_HOLDS: Holds = MappingProxyType({})  # all tables hold extensions


@dataclass(frozen=True)
class Batch:
    """Tables that share one task in every round."""

    name: str  # in task keys: see ``named``
    tables: tuple[int, ...]  # in order
    hold: Hold = Hold.EXTENSIONS


def named(layout: Layout, table: int) -> str:
    """Return the name of a table in task keys."""
    return f"{table}.{layout.tables[table].name}"


def batches(layout: Layout, log_rows: int, holds: Holds = NO_HOLDS) -> list[Batch]:
    """Return the batches of tables, those of large tables first.

    Args:
        layout: The layout of the proof.
        log_rows: log2 of the most rows of a small table. Small tables that hold the same columns share a batch, and a
            larger table has a batch to itself.
        holds: The columns that the device holds of each table.
    """
    alone, shared = list[int](), dict[Hold, list[int]]()
    for table, log_height in enumerate(layout.log_heights):
        if log_height > log_rows:
            alone.append(table)
        else:
            shared.setdefault(holds.get(table, Hold.EXTENSIONS), []).append(table)
    alone.sort(key=lambda table: -layout.log_heights[table])
    return [
        *(_batch(layout, (table,), holds.get(table, Hold.EXTENSIONS)) for table in alone),
        *(_batch(layout, tuple(tables), hold) for hold, tables in sorted(shared.items())),
    ]


def _batch(layout: Layout, tables: tuple[int, ...], hold: Hold) -> Batch:
    names = [named(layout, table) for table in tables]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return Batch(", ".join(names[:NAMED]) + more, tables, hold)


def merged(results: Sequence[Mapping[int, T]]) -> dict[int, T]:
    """Merge the batches' results by table, in the order of tables."""
    return dict(sorted(((table, result) for batch in results for table, result in batch.items()), key=itemgetter(0)))
