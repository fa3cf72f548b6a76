"""check(): what is wrong with a statement's traces, without a proof."""

from graphprover.air import check as check_traces
from graphprover.air.debugger import Finding
from graphprover.statement import Statement, as_columns, with_traces


def check(statement: Statement) -> list[Finding]:
    """All findings of `graphprover.air.check` on the traces of ``statement``; none when `prove` would prove it.

    Raises ValueError where a trace is missing or not a matrix of field elements.
    """
    inputs = []
    statement = with_traces(statement)
    for table, description in zip(statement.tables, statement.descriptions, strict=True):
        if table.main is None:
            raise ValueError(f"table {description.name}: no trace to check")
        main = as_columns(table.main, description.main_width, f"trace of table {description.name}")
        inputs.append((table.air, main, [int(value) for value in table.public_values or ()]))
    return check_traces(inputs)
