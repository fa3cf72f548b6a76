"""Whole proofs: a GPU gives the same bytes as the CPU on every executor, and they verify."""

import pytest

from graphprover import Statement, Table, prove, verify
from graphprover.device import CpuDevice
from graphprover.examples import fibonacci, keccak, memory
from tests.graphs.test_proof_graph import FEW
from tests.random_statements import random_statement

pytestmark = pytest.mark.gpu


@pytest.fixture
def device():  # type: ignore[no-untyped-def]
    from graphprover.device import cuda

    return cuda.device(0)


@pytest.mark.parametrize("module", [fibonacci, keccak, memory], ids=["fibonacci", "keccak", "memory"])
def test_examples(module, device) -> None:  # type: ignore[no-untyped-def]
    inputs = module.prove_inputs(None)
    tables = [Table(air, values, main) for air, (main, values) in zip(module.tables(), inputs, strict=True)]
    statement = Statement(tables)
    expected = prove(statement, executor="sync", parameters=FEW, device=CpuDevice(1))
    device.usage.clear()
    assert prove(statement, executor="sync", parameters=FEW, device=device) == expected
    assert prove(statement, executor="threads", parameters=FEW, device=device) == expected
    assert device.usage["extend"].launches >= 2 * len(tables)  # the proof ran on the device
    verify(expected, statement, security=0)


@pytest.mark.parametrize("seed", range(50))
def test_random_statements(seed: int, device) -> None:  # type: ignore[no-untyped-def]
    size = {"tables": 1 + seed % 4, "max_log_height": 3 + seed % 9, "max_degree": 1 + seed % 7}
    parameters, statement = random_statement(seed, **size)
    expected = prove(statement, executor="sync", parameters=parameters, device=CpuDevice(1))
    assert prove(statement, executor="sync", parameters=parameters, device=device) == expected
    verify(expected, statement, security=0)
