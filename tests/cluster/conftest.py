"""Fixtures of cluster tests; kernels are compiled before, so that tests do not wait for compilers."""

from collections.abc import Iterator

import dask
import pytest
from distributed import Client

from graphprover import ShardedProof, Statement, prove
from graphprover.device import CpuDevice
from graphprover.examples import memory
from graphprover.jobs.warmup import prove_smallest
from graphprover.runtime import settings
from tests.cluster.processes import workers
from tests.graphs.test_proof_graph import FEW, example

SINGLE = [[0], [1], [2], [3]]  # each table of `statement` in a shard of its own


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    prove_smallest("cpu")
    for executor in ("sync", "threads"):
        prove(example(memory), executor, parameters=FEW, device="cpu")


@pytest.fixture(scope="package")
def patience() -> Iterator[None]:
    """Wait longer for workers, since a machine may be slow."""
    with dask.config.set({settings.WAIT: 200}):
        yield


@pytest.fixture(scope="package")
def pair(patience: None) -> Iterator[Client]:
    """Start two workers, which are restarted when they die."""
    with workers(2) as client:
        yield client


@pytest.fixture(scope="module")
def statement() -> Statement:
    """Return a statement of four tables, the example's twice."""
    tables = example(memory).tables
    return Statement([*tables, *tables][:4])


@pytest.fixture(scope="module")
def proof(statement: Statement) -> ShardedProof:
    """Return its proof with each table in a shard of its own."""
    made = prove(statement, "sync", parameters=FEW, device=CpuDevice(1), shards=SINGLE)
    assert isinstance(made, ShardedProof)
    return made
