"""What an execution costs to prove, in committed cells."""

from graphprover.air import AirDescription
from graphprover.field import EXTENSION_DEGREE
from graphprover.statement import Statement


def cells_per_row(air: AirDescription) -> int:
    """Committed base-field cells of a row: main, lookup argument and quotient."""
    return air.main_width + air.permutation_width + (EXTENSION_DEGREE << air.log_quotient_chunks)


def committed_cells(statement: Statement) -> dict[str, int]:
    """The committed cells of each kind of table; the statement has traces."""
    cells: dict[str, int] = {}
    for table, air in zip(statement.tables, statement.descriptions, strict=True):
        assert table.main is not None
        cells[air.name] = cells.get(air.name, 0) + table.main.shape[1] * cells_per_row(air)
    return cells


def cells_text(statement: Statement) -> str:
    """What an execution costs, for people: committed cells a cycle, in all and by kind of table."""
    cells = committed_cells(statement)
    assert statement.tables[0].public_values
    cycles = statement.tables[0].public_values[0]
    lines = [f"{sum(cells.values()) / cycles:.1f} committed cells a cycle ({cycles:,} cycles), of these"]
    for name, count in sorted(cells.items(), key=lambda kind: -kind[1]):
        if count >= cycles / 100:
            lines.append(f"{count / cycles:8.2f} {name}")
    return "\n".join(lines)
