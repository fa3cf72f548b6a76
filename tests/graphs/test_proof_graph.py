"""The graph gives the same bytes by every executor and on every device, and they verify."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover import Statement, Table, prove, verify
from graphprover.device import CpuDevice
from graphprover.device.interface import CPU_BATCH
from graphprover.examples import fibonacci, memory, synthetic
from graphprover.graphs import proof_graph
from graphprover.graphs.batches import batches
from graphprover.graphs.builder import Graph
from graphprover.graphs.task_keys import place_of
from graphprover.protocol.parameters import DEFAULT_HASH, Parameters
from graphprover.prover.prepare import checked_traces, prepare
from tests.naive_device import NaiveDevice
from tests.random_statements import random_statement
from tests.trace_tasks import as_trace_tasks

FEW = Parameters(
    hash=DEFAULT_HASH,
    log_blowup=1,
    num_queries=5,
    log_final_poly_len=1,
    max_log_arity=2,
    cap_height=1,
    lookup_pow_bits=3,
    ood_pow_bits=1,
    batch_pow_bits=2,
    commit_pow_bits=2,
    query_pow_bits=5,
)


def example(module) -> Statement:  # type: ignore[no-untyped-def]
    inputs = module.prove_inputs(None)
    return Statement([Table(air, values, main) for air, (main, values) in zip(module.tables(), inputs, strict=True)])


@pytest.mark.parametrize("module", [fibonacci, memory], ids=["fibonacci", "memory"])
def test_every_executor_gives_the_same_bytes(module) -> None:  # type: ignore[no-untyped-def]
    statement = example(module)
    proof = prove(statement, executor="sync", parameters=FEW).to_bytes()
    assert prove(statement, executor="threads", parameters=FEW).to_bytes() == proof
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            assert prove(statement, executor=client, parameters=FEW).to_bytes() == proof
        assert prove(statement, executor=cluster.scheduler_address, parameters=FEW).to_bytes() == proof
    verify(proof, statement, security=0)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_number_of_threads_changes_no_byte(threads: int) -> None:
    statement = example(memory)
    proof = prove(statement, executor="threads", parameters=FEW, device=CpuDevice(threads))
    assert proof == prove(statement, executor="sync", parameters=FEW)


@pytest.mark.parametrize("threads", [1, 2])
def test_nothing_is_held_when_a_proof_ends(threads: int) -> None:
    """Free all arrays without the garbage collector: no array may be in a reference cycle."""
    statement, device = synthetic.statement(12, 100, 20), CpuDevice(threads)
    prove(statement, device=device)  # fill the caches that live as long as the process
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        proof = prove(statement, device=device)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert peak > 10 << 20
    assert held < len(proof.payload) + (1 << 19)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), tables=st.integers(1, 3), max_degree=st.integers(1, 7))
def test_the_cpu_gives_the_bytes_of_the_definitions(seed: int, tables: int, max_degree: int) -> None:
    parameters, statement = random_statement(seed, tables=tables, max_log_height=4, max_degree=max_degree)
    naive = prove(statement, executor="sync", parameters=parameters, device=NaiveDevice())
    assert prove(statement, parameters=parameters) == naive
    verify(naive, statement, security=0)


def test_no_byte_comes_from_memory_that_nobody_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    statements = [random_statement(seed, tables=1 + seed % 3) for seed in range(10)]
    proofs = [prove(statement, executor="sync", parameters=parameters) for parameters, statement in statements]
    noise = np.random.default_rng(1).integers(0, 2**64, 1 << 16, dtype=np.uint64)
    filled = 0

    def garbage(make: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        def made(*shape: Any, **options: Any) -> np.ndarray:
            nonlocal filled
            array = make(*shape, **options)
            if array.dtype == np.uint64:
                filled += 1
                array.reshape(-1)[:] = noise[(filled + np.arange(array.size)) % noise.size]
            return array

        return made

    monkeypatch.setattr(np, "empty", garbage(np.empty))
    monkeypatch.setattr(np, "empty_like", garbage(np.empty_like))
    for (parameters, statement), proof in zip(statements, proofs, strict=True):
        assert prove(statement, executor="sync", parameters=parameters) == proof
    assert filled > 100


def test_dask_groups_tasks_by_rounds_and_keys_name_the_tables() -> None:
    """Use a statement with trace tasks, preprocessed columns and lookups, which has all kinds of tasks."""
    statement = as_trace_tasks(example(memory))
    layout = prepare(statement, parameters=FEW).layout
    traces = dict(enumerate(checked_traces(statement)))
    fixed = {i: t.preprocessed for i, t in enumerate(statement.tables) if t.preprocessed is not None}
    values = [t.public_values or () for t in statement.tables]
    graph = Graph(CpuDevice(), "0123abcd", batches(layout, CPU_BATCH))
    graph = dict(proof_graph.build(graph, layout, "", traces, fixed, values).__dask_graph__())
    prefixes = {dask.utils.key_split(key) for key in graph}
    assert prefixes == {
        *("trace", "extend", "tree", "transcript", "lookup", "quotient", "opening", "deep", "fri", "query")
    }
    assert {key[-1] for key in graph} == {"0123abcd"}
    named = {place_of(key) for key in graph}
    for batch in batches(layout, CPU_BATCH):
        assert {("extend_main", batch.name), ("quotient", batch.name), ("deep", batch.name)} <= named
    assert {("tree", "main"), ("fri_fold", "0"), ("transcript", "begin")} <= named
    assert ("trace_main", f"0.{layout.tables[0].name}") in named
