"""Tests of clusters wait for proofs, not for compilers: what workers load has been compiled before."""

import pytest

from graphprover import prove
from graphprover.examples import memory
from graphprover.smallest import prove_smallest
from tests.graphs.test_proof import FEW, example


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    prove_smallest("cpu")
    for executor in ("sync", "threads"):
        prove(example(memory), executor, parameters=FEW, device="cpu")
