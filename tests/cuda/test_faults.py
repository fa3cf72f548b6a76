"""A GPU that fails at any allocation or launch of a proof: there is no leak, and no silently wrong result."""

import gc
import itertools
import subprocess
import sys
from collections.abc import Iterator

import dask
import pytest

from graphprover import Statement, prove
from graphprover.device import CpuDevice, DeviceLost
from graphprover.kernels.cuda import faults
from graphprover.prover import local
from graphprover.runtime.settings import TAPES
from tests.graphs.test_proof_graph import FEW
from tests.random_statements import random_statement


@pytest.fixture(scope="module")
def statement() -> Statement:
    """Two tables of different heights with preprocessed columns and lookups."""
    return random_statement(7, tables=2)[1]


@pytest.fixture(scope="module")
def expected(statement: Statement):  # type: ignore[no-untyped-def]
    return prove(statement, executor="sync", parameters=FEW, device=CpuDevice(1))


@pytest.fixture
def no_caches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Turn off tapes and copies of constants, which hold memory after a proof and give it up for an allocation."""
    from graphprover.kernels.cuda import constants

    monkeypatch.setattr(constants, "SHARE", 1 << 60)
    with dask.config.set({TAPES: 0}):
        yield


def test_a_fault_is_one_call() -> None:
    fault = faults.Fault()
    with fault.at(3):
        assert [fault.due() for _ in range(5)] == [False, False, True, False, False]
    with fault.at(9):
        assert not fault.due()
    assert not any(fault.due() for _ in range(20))


@pytest.mark.gpu
def test_no_memory_at_any_allocation(statement, expected, no_caches, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    from graphprover.device.cuda import CudaDevice

    gpu = CudaDevice()
    assert prove(statement, executor="sync", parameters=FEW, device=gpu) == expected
    gc.collect()
    held = gpu.memory.held()
    monkeypatch.setattr(local, "device_for", lambda name: CpuDevice(1) if name == "cpu" else gpu)
    for call in itertools.count(1):
        with faults.allocation.at(call):
            try:
                proof = prove(statement, executor="sync", parameters=FEW, device="cuda")
            except MemoryError as error:
                message = str(error)
            else:
                assert proof == expected
                break
        place, _, rest = message.partition(": ")
        assert " of " in place and rest.startswith("no ") and rest.endswith(" bytes held"), message
        gc.collect()
        assert gpu.memory.held() == held, f"allocation {call}, {place}"
        with faults.allocation.at(call):
            assert prove(statement, executor="sync", parameters=FEW) == expected, f"allocation {call}, {place}"
    assert call > 40
    assert prove(statement, executor="sync", parameters=FEW, device=gpu) == expected


@pytest.mark.gpu
def test_a_device_is_lost_at_any_launch(statement, expected, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    from graphprover.device.cuda import CudaDevice

    for call in itertools.count(1):
        gpu = CudaDevice()
        monkeypatch.setattr(local, "device_for", lambda name, gpu=gpu: CpuDevice(1) if name == "cpu" else gpu)
        with faults.launch.at(call):
            try:
                proof = prove(statement, executor="sync", parameters=FEW)
            except DeviceLost as error:
                message = str(error)
            else:
                assert proof == expected
                break
        assert " of " in message.partition(": ")[0]
        assert "GPU 0 failed and is lost to this process, which must end: CUDA_ERROR_LAUNCH_FAILED" in message
        with pytest.raises(DeviceLost, match="lost to this process"):  # also without a fault
            prove(statement, executor="sync", parameters=FEW)
    assert call > 40


@pytest.mark.gpu
def test_a_kernel_that_reads_where_nothing_is_loses_the_device() -> None:
    """In a separate process, because no other test could use the GPU afterwards."""
    program = """
from graphprover.device import DeviceLost
from graphprover.device.cuda import device
from graphprover.kernels.cuda.launch import compiled, launch

gpu = device(0)
code = 'extern "C" __global__ void wild(unsigned long long* x) { *x = 1; }'
for attempt in range(2):
    try:
        with gpu.task():
            launch(compiled(code), "wild", 1, 1, 8)
            gpu.synchronize()
    except DeviceLost as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    first, second = run.stdout.splitlines()
    assert first == second and "GPU 0 failed and is lost to this process, which must end" in first, run.stderr
