"""Traces that a proof computes by trace tasks."""

from dataclasses import replace

import numpy as np
import pytest
from distributed import Client, LocalCluster

from graphprover import Statement, prove
from graphprover.device import CpuDevice
from graphprover.graphs.builder import Graph
from graphprover.graphs.rounds import trace
from graphprover.graphs.task_keys import key_of, place_of
from graphprover.protocol.layout import MAIN
from graphprover.prover.prepare import checked_traces, prepare
from graphprover.statement.statement import with_traces
from graphprover.statement.trace_task import TraceTask
from tests.graphs.test_proof_graph import FEW
from tests.random_statements import random_statement
from tests.trace_tasks import as_trace_tasks


@pytest.fixture(scope="module")
def statement() -> Statement:
    return random_statement(7, tables=2)[1]


def test_every_executor_makes_the_same_traces(statement: Statement) -> None:
    proof = prove(statement, executor="sync", parameters=FEW)
    trace_tasks = as_trace_tasks(statement)
    for executor in ("sync", "threads"):
        assert prove(trace_tasks, executor=executor, parameters=FEW) == proof
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, Client(cluster) as client:
        assert prove(trace_tasks, executor=client, parameters=FEW) == proof


def test_what_traces_share_is_one_task(statement: Statement) -> None:
    trace_tasks = as_trace_tasks(statement)
    layout = prepare(trace_tasks, parameters=FEW).layout
    graph = Graph(CpuDevice(1), "", ())
    trace.build(graph, layout, MAIN, dict(enumerate(checked_traces(trace_tasks))))
    shared = key_of(trace.SHARED, "common", "")
    assert [key for key in graph.tasks if place_of(key).round == trace.SHARED] == [shared]
    for table in range(2):
        (needed,) = graph.tasks[key_of("trace_main", f"{table}.table{table}", "")].dependencies
        assert needed == shared


def test_arrays_for_whoever_wants_them(statement: Statement) -> None:
    made = with_traces(as_trace_tasks(statement), CpuDevice(1))
    for table, expected in zip(made.tables, statement.tables, strict=True):
        np.testing.assert_array_equal(table.main, expected.main)
    assert with_traces(statement) is statement


def test_trace_tasks_say_what_they_make(statement: Statement) -> None:
    trace_tasks = as_trace_tasks(statement)
    first = trace_tasks.tables[0].main
    assert isinstance(first, TraceTask)
    columns, rows = first.shape
    for shape in ((columns, rows + 1), (columns + 1, rows), (0, 0)):
        wrong = Statement([replace(trace_tasks.tables[0], main=replace(first, shape=shape)), trace_tasks.tables[1]])
        with pytest.raises(ValueError, match="its trace task gives"):
            prove(wrong, parameters=FEW)
    shorter = replace(first, fixed={"columns": first.fixed["columns"][:, : rows // 2].copy()})
    with pytest.raises(ValueError, match="copied made uint64"):
        prove(Statement([replace(trace_tasks.tables[0], main=shorter), trace_tasks.tables[1]]), "sync", parameters=FEW)
