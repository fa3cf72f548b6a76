"""prove() says so if small traces satisfy no proof."""

import logging

import numpy as np
import pytest

from graphprover import Statement, Table, VerificationError, prove, verify
from graphprover.examples.fibonacci import Fibonacci, trace
from graphprover.statement import check as checking


def false_statement() -> Statement:
    main, values = trace(64)
    main[1, 5] += np.uint64(1)
    return Statement([Table(Fibonacci(), values, main)])


def test_a_false_trace_gives_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    statement = false_statement()
    with caplog.at_level(logging.WARNING):
        proof = prove(statement, "sync", device="cpu")
    (said,) = (record.getMessage() for record in caplog.records)
    assert "no verifier will accept this proof" in said and "constraint fails on row 4" in said
    assert said.endswith("and 1 more: print check(statement)")
    with pytest.raises(VerificationError):
        verify(proof, statement)


@pytest.mark.parametrize("limit", ["MOST_CHECKED", "MOST_NODES"])
def test_a_large_trace_is_not_checked(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(checking, limit, 10)
    monkeypatch.setattr(checking, "findings", lambda tables: pytest.fail("checked"))
    prove(false_statement(), "sync", device="cpu")
    assert not caplog.records


def test_a_true_trace_gives_none(caplog: pytest.LogCaptureFixture) -> None:
    main, values = trace(64)
    prove(Statement([Table(Fibonacci(), values, main)]), "sync", device="cpu")
    assert not caplog.records
