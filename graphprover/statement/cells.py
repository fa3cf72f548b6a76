"""Committed cells: a measure of the cost of a proof."""

from graphprover.air import AirDescription
from graphprover.field import EXTENSION_DEGREE
from graphprover.protocol.layout import Layout
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement


def cells_per_row(air: AirDescription) -> int:
    """Return the committed base-field cells of a row: main, lookup argument and quotient."""
    return air.main_width + air.permutation_width + (EXTENSION_DEGREE << air.log_quotient_chunks)


def cells_of(layout: Layout) -> int:
    """Return the committed cells of all tables of a layout."""
    sized = zip(layout.tables, layout.log_heights, strict=True)
    return sum(cells_per_row(air) << log_rows for air, log_rows in sized)


def committed_cells(statement: Statement | ShardedStatement) -> dict[str, int]:
    """Return the committed cells of each kind of table, in all shards; the statement has traces."""
    cells: dict[str, int] = {}
    for shard in statement.statements:
        for table, air in zip(shard.tables, shard.descriptions, strict=True):
            assert table.main is not None
            cells[air.name] = cells.get(air.name, 0) + table.main.shape[1] * cells_per_row(air)
    return cells
