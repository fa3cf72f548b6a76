"""check(): the errors of a statement's traces, without a proof."""

import logging

import numpy as np

from graphprover.air.debugger import Filled, Finding, findings
from graphprover.air.unread import unread
from graphprover.statement.cells import committed_cells
from graphprover.statement.shards import ShardedStatement, expect_statement
from graphprover.statement.statement import Statement, as_columns, with_traces

MOST_CHECKED = 1 << 17  # committed cells of a statement that `warn_of_false` checks
MOST_NODES = 1 << 10  # nodes of all its constraints and messages: each takes some 10 µs

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
    return _findings(statement)


def warn_of_false(statement: Statement | ShardedStatement) -> None:
    """Log a warning if small traces, given as arrays, do not satisfy the statement; larger ones are not checked.

    Up to `MOST_CHECKED` cells and `MOST_NODES` nodes the check takes about a tenth of the time of the proof. Without
    these limits it can take half as long as the proof.
    """
    if not isinstance(statement, Statement):
        return
    if not all(isinstance(table.main, np.ndarray) for table in statement.tables):
        return
    if sum(committed_cells(statement).values()) > MOST_CHECKED:
        return
    if sum(len(air.nodes) for air in statement.descriptions) > MOST_NODES:
        return
    if found := _findings(statement):
        others = f", and {len(found) - 1} more" if len(found) > 1 else ""
        _log.warning(
            "graphprover: warning: no verifier will accept this proof, because the traces are wrong: %r%s: "
            "print check(statement)", found[0], others,
        )  # fmt: skip


def _findings(statement: Statement) -> list[Finding]:
    """Return the errors of a statement's traces."""
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
