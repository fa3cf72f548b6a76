"""Tables are assigned to shards of about equal work, each table to one shard, deterministically."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover import Statement
from graphprover.examples import synthetic
from graphprover.prover.assign import deal, table_seconds
from tests.random_statements import random_statement
from tests.trace_tasks import as_trace_tasks


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), tables=st.integers(2, 8), data=st.data())
def test_every_table_is_in_one_shard_and_no_shard_is_empty(seed: int, tables: int, data: st.DataObject) -> None:
    _, statement = random_statement(seed, tables=tables)
    shards = data.draw(st.integers(2, tables))
    shares = deal(statement, shards).shares
    assert sorted(table for share in shares for table in share) == list(range(tables))
    assert len(shares) == shards and all(share == tuple(sorted(share)) and share for share in shares)
    assert deal(as_trace_tasks(statement), shards).shares == shares, "a trace task weighs what its trace does"


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), shards=st.integers(2, 4))
def test_no_shard_could_be_lighter_by_giving_a_table_to_another(seed: int, shards: int) -> None:
    _, statement = random_statement(seed, tables=8)
    weights = table_seconds(statement)
    loads = {share: sum(weights[table] for table in share) for share in deal(statement, shards).shares}
    for share, load in loads.items():
        lightest = min(weights[table] for table in share)
        assert len(share) == 1 or load - lightest <= min(loads.values()) * (1 + 1e-9)


def test_equal_tables_are_dealt_equally() -> None:
    statement = Statement([synthetic.table(8, 20, 4)] * 6)
    assert [len(share) for share in deal(statement, 3).shares] == [2, 2, 2]


def test_taller_and_wider_tables_weigh_more() -> None:
    tables = [
        synthetic.table(8, 20, 4),
        synthetic.table(9, 20, 4),
        synthetic.table(9, 40, 4),
        synthetic.table(9, 40, 8),
    ]
    weights = table_seconds(Statement(tables))
    assert weights == sorted(weights) and weights[1] > 1.8 * weights[0]


def test_shards_that_cannot_be_are_refused() -> None:
    _, statement = random_statement(1, tables=3)
    with pytest.raises(ValueError, match=r"4 shards, .* the statement has 3"):
        deal(statement, 4)
    with pytest.raises(ValueError, match="2 to 1024 shards"):
        deal(statement, 1)
