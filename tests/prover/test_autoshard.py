"""A run is split into shards only if its proof does not fit the device."""

import struct
from pathlib import Path

import dask
import pytest

from graphprover.admission.admission import TooLarge
from graphprover.device import CpuDevice
from graphprover.jobs.job import Job
from graphprover.jobs.made import made
from graphprover.proof.sharded import ShardedProof
from graphprover.prover.peak_memory import memory_plan
from graphprover.prover.prepare import Prepared, PreparedShards
from graphprover.proving.prover import Prover
from graphprover.runtime.settings import MEMORY_LIMIT

FIB = Path(__file__).parents[2] / "examples/guests/fib_iterative.elf"
DATA = struct.pack("<Q", 100_000)  # half a million cycles


def in_memory(size: int) -> dask.config.set:
    return dask.config.set({MEMORY_LIMIT: size})


def test_a_run_is_cut_until_it_fits(caplog: pytest.LogCaptureFixture) -> None:
    device, job = CpuDevice(), Job(Prover(FIB, security=80), DATA)
    whole = job.prepared(device)
    assert isinstance(whole, Prepared) and not caplog.records
    needed = memory_plan(whole, device).bytes
    with in_memory(int(0.7 * needed)):
        cut = job.prepared(device)
        assert isinstance(cut, PreparedShards) and len(cut.shards) < 5
        assert memory_plan(cut, device).bytes <= 0.7 * needed
        assert f"it is made in {len(cut.shards)} shards" in caplog.text
        told = Job(Prover(FIB, security=80, shards=1), DATA).prepared(device)
        assert isinstance(told, Prepared)
        assert isinstance(job.prepared(), Prepared)
    caplog.clear()
    with in_memory(1 << 20):  # cycle ranges that fit are too short
        assert isinstance(job.prepared(device), Prepared) and not caplog.records
        with pytest.raises(TooLarge):
            made(job, "sync", device)


def test_what_is_cut_is_proved() -> None:
    prover = Prover(FIB, security=60)
    device, job = CpuDevice(), Job(prover, DATA)
    needed = memory_plan(job.prepared(), device).bytes
    with in_memory(int(0.7 * needed)):
        proof = made(job, device=device).proof
    assert isinstance(proof, ShardedProof) and prover.verify(proof).shards == len(proof.proofs)
