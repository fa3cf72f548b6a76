"""A proof's graph as a Dask collection."""

import hashlib
import importlib.util
from pathlib import Path

import dask
import pytest
from distributed import Client

from graphprover import Proof, Prover, VerificationError, graph, prove, verify
from graphprover.device import CpuDevice
from graphprover.examples import memory
from tests.graphs.test_proof_graph import FEW, example
from tests.trace_tasks import as_trace_tasks

GUESTS = Path(__file__).parents[2] / "examples/guests"


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_its_value_is_the_proof_that_prove_gives(scheduler: str) -> None:
    statement = example(memory)
    proof = graph(statement, parameters=FEW, device=CpuDevice(2)).compute(scheduler=scheduler)
    assert isinstance(proof, Proof) and proof.to_bytes() == prove(statement, parameters=FEW, device="cpu").to_bytes()
    verify(proof, statement, security=0)


def test_two_graphs_share_no_key_and_may_be_computed_together() -> None:
    statements = example(memory), as_trace_tasks(example(memory))
    graphs = [graph(statement, parameters=FEW, device="cpu") for statement in statements]
    assert not graphs[0].__dask_graph__().keys() & graphs[1].__dask_graph__().keys()
    proofs = dask.compute(*dask.optimize(*graphs), scheduler="sync")
    assert proofs[0] == proofs[1]


def test_a_scheduler_of_a_cluster_groups_its_tasks_by_rounds() -> None:
    proof = graph(example(memory), parameters=FEW, device="cpu")
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        assert proof.compute() == prove(example(memory), parameters=FEW, device="cpu")
        groups = client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.task_prefixes))
    rounds = {"trace", "extend", "tree", "transcript", "lookup", "quotient", "opening", "deep", "fri", "query"}
    assert rounds == groups == {dask.utils.key_split(key) for key in proof.__dask_graph__()}


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_the_graph_of_a_guest_gives_the_bytes_of_its_proof(scheduler: str) -> None:
    prover = Prover(GUESTS / "sha256.elf", security=20, device="cpu")
    proof = prover.graph(b"abc", commit_input=True).compute(scheduler=scheduler)
    assert proof.to_bytes() == prover.prove(b"abc", commit_input=True).to_bytes()
    claim = prover.verify(proof).claim
    assert claim and claim.output == hashlib.sha256(b"abc").digest() and claim.input == b"abc"


def test_workers_of_a_cluster_compute_the_graph_of_a_guest() -> None:
    prover = Prover(GUESTS / "fib_iterative.elf", security=20, device="cpu")
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        proof = client.compute(prover.graph(bytes([9, *bytes(7)]))).result()
    assert proof.to_bytes() == prover.prove(bytes([9, *bytes(7)])).to_bytes()


def test_the_graph_of_a_program_of_tables() -> None:
    prover = Prover("examples/fibonacci", security=20, device="cpu")
    assert prover.graph().compute(scheduler="sync") == prover.prove()


def test_what_has_no_graph() -> None:
    with pytest.raises(
        ValueError, match="in 2 shards, which are no single graph: use prove, or a Prover with shards=1"
    ):
        Prover(GUESTS / "sha256.elf", shards=2).graph(b"abc")
    with pytest.raises(VerificationError, match="exit code 1, not 0: not proven"):
        Prover(GUESTS / "json.elf").graph(b"[1,")


def test_arguments_are_those_of_prove() -> None:
    with pytest.raises(ValueError, match="rate 1/3"):
        graph(example(memory), rate=3)
    with pytest.raises(ValueError, match="device 'gpu'"):
        graph(example(memory), device="gpu")


@pytest.mark.skipif(importlib.util.find_spec("graphviz") is None, reason="graphviz is not installed")
def test_dask_draws_it(tmp_path: Path) -> None:
    from dask.dot import to_graphviz

    drawn = to_graphviz(dict(graph(example(memory), parameters=FEW).__dask_graph__()))
    assert "quotient" in drawn.source
