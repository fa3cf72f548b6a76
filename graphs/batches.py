"""Batches of tables that share tasks.

A task costs the host the same for 16 rows as for a million, and so does a kernel launch, so small tables share both. A
large table has its own tasks, which can run in parallel with others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeVar

from graphprover.protocol.layout import Layout

T = TypeVar("T")

NAMED = 4  # tables listed in a batch's name


@dataclass(frozen=True)
class Batch:
    """Tables that share one task in every round."""

    name: str  # in task keys: see ``named``
    tables: tuple[int, ...]  # in order


def named(layout: Layout, table: int) -> str:
    """Return the name of a table in task keys."""
    return f"{table}.{layout.tables[table].name}"


def batches(layout: Layout, log_rows: int) -> list[Batch]:
    """Return the batches: one of all tables with at most 2^log_rows rows, one for each larger table; largest first."""
    small = tuple(table for table, log_height in enumerate(layout.log_heights) if log_height <= log_rows)
    large = (table for table, log_height in enumerate(layout.log_heights) if log_height > log_rows)
    alone = sorted(large, key=lambda table: -layout.log_heights[table])
    return [_batch(layout, (table,)) for table in alone] + ([_batch(layout, small)] if small else [])


def _batch(layout: Layout, tables: tuple[int, ...]) -> Batch:
    names = [named(layout, table) for table in tables]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return Batch(", ".join(names[:NAMED]) + more, tables)


def merged(results: Sequence[Mapping[int, T]]) -> dict[int, T]:
    """Merge the batches' results by table, in the order of tables."""
    return dict(sorted(((table, result) for batch in results for table, result in batch.items()), key=itemgetter(0)))
