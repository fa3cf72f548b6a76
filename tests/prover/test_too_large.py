"""A proof whose planned memory exceeds the device's is refused before the device has any work."""

from types import SimpleNamespace

import dask
import pytest

from graphprover import Prover, prove
from graphprover.admission.admission import TooLarge
from graphprover.device import CpuDevice
from graphprover.device.interface import CUDA_BATCH, CUDA_THREADS
from graphprover.examples import memory
from graphprover.jobs.job import Job
from graphprover.jobs.made import made
from graphprover.protocol.parameters import RATES
from graphprover.prover.peak_memory import memory_plan
from graphprover.prover.prepare import prepare
from graphprover.runtime.settings import MEMORY_LIMIT, POOL
from tests.failing_device import FailingDevice
from tests.graphs.test_proof_graph import example


def gpu(total: int) -> FailingDevice:
    """Return a device with the plan of a GPU that has this much memory, which must not do any work."""
    device = FailingDevice()
    device.kind, device.threads, device.log_batch_rows = "cuda", CUDA_THREADS, CUDA_BATCH
    device.memory = SimpleNamespace(keeps=True, total=total, identity=f"GPU of {total}")  # type: ignore[assignment]
    return device


@pytest.mark.parametrize("on", ["cpu", "cuda"])
def test_a_rate_that_needs_too_much_memory_is_refused(on: str) -> None:
    """Name the needed and the available bytes and a remedy; a higher rate fits."""
    statement = example(memory)
    device = gpu(1 << 40) if on == "cuda" else FailingDevice()
    setting, option = (POOL, "--pool") if on == "cuda" else (MEMORY_LIMIT, "--memory-limit")
    with dask.config.set({setting: 1}):  # the plans that need the least memory
        needed = {rate: memory_plan(prepare(statement, rate=rate, security=80), device).bytes for rate in RATES}
    assert sorted(needed.values()) == [*needed.values()] and needed[64] > 20 * needed[2]
    with dask.config.set({setting: needed[64] - 1}):
        with pytest.raises(TooLarge) as refused:
            prove(statement, "sync", security=80, rate=64, device=device)
        message = str(refused.value)
        assert f"needs {needed[64]:,} bytes, and proofs may hold {needed[64] - 1:,} of" in message
        assert "take a higher rate" in message and "more shards" in message and option in message
        job = Job(Prover("examples/memory", security=80, rate=64))
        with pytest.raises(TooLarge, match="take a higher rate"):
            made(job, "sync", device)
    assert not any(device.calls.values())


def test_a_higher_rate_fits() -> None:
    statement, device = example(memory), CpuDevice(1)
    needed = memory_plan(prepare(statement, rate=2, security=80), device).bytes
    with dask.config.set({MEMORY_LIMIT: needed}):
        prove(statement, "sync", security=80, rate=2, device=device)
        with pytest.raises(TooLarge):
            prove(statement, "sync", security=80, rate=4, device=device)
