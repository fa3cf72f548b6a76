"""check(): what is wrong with a statement's traces, without a proof."""

import logging

from graphprover.air.debugger import Filled, Finding, findings
from graphprover.air.unread import unread
from graphprover.statement.statement import Statement, as_columns, with_traces

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr


def check(statement: Statement) -> list[Finding]:
    """All that is wrong with the traces of ``statement``, table by table and bus by bus; nothing when `prove` would
    prove it. Warns as `warn` does.

    Raises ValueError where a trace is missing or not a matrix of field elements.
    """
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
    """Logs a warning for all that the tables leave to the prover: see `graphprover.air.unread`."""
    for found in unread(table.air for table in statement.tables):
        _log.warning("graphprover: warning: %s", found)
