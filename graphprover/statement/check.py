"""check(): the errors of a statement's traces, without a proof."""

import logging

from graphprover.air.debugger import Filled, Finding, findings
from graphprover.air.unread import unread
from graphprover.statement.shards import expect_statement
from graphprover.statement.statement import Statement, as_columns, with_traces

_log = logging.getLogger(__name__)  # warnings go to stderr by default


def check(statement: Statement) -> list[Finding]:
    """Return the errors of a statement's traces, without a proof; warns as `warn` does.

    Args:
        statement: The statement, with traces.

    Returns:
        The findings, table by table and bus by bus; none if a proof of the statement would verify.

    Raises:
        ValueError: if a trace is missing or not a matrix of field elements.
    """
    expect_statement(statement, "check")
    warn(statement)
    tables = []
    statement = with_traces(statement)
    for table, description in zip(statement.tables, statement.descriptions, strict=True):
        if table.main is None:
            raise ValueError(f"table {description.name}: no trace to check")
        main = as_columns(table.main, description.main_width, f"trace of table {description.name}")
        tables.append(Filled(description, tuple(table.public_values or ()), main, table.preprocessed))
    return findings(tables)


def warn(statement: Statement) -> None:
    """Log a warning for each cell that no constraint reads (`graphprover.air.unread`)."""
    for found in unread(table.air for table in statement.tables):
        _log.warning("graphprover: warning: %s", found)
