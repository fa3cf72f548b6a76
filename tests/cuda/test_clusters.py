"""Clusters and shards on the GPUs of this host: the CPU's bytes, also if workers die, stop or lose their GPU."""

import os
import random
import signal
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client

from graphprover import Job, Prover, Statement, observed, prove, prove_many
from graphprover.cluster.local import started
from graphprover.device.choose import gpus
from graphprover.examples import synthetic
from graphprover.runtime.settings import MPS, SILENCE
from tests.cluster.processes import pids, present, proving, until

pytestmark = pytest.mark.gpu

KIND, EXECUTOR = "cuda", "cuda"  # "cpu" and "processes" run these tests without a GPU
GUESTS = Path(__file__).parents[2] / "examples/guests"
FIB, SHA256, KECCAK = (GUESTS / f"{name}.elf" for name in ("fib_iterative", "sha256", "keccak"))
TEXT = bytes(range(256)) * 4
RUNS = [(FIB, struct.pack("<Q", 20_000)), (SHA256, b""), (SHA256, TEXT), (KECCAK, TEXT)]
SEEDS = range(12)  # of statements of tables
CYCLES = 250_000  # of a proof of a batch with a fault
SILENT = 10.0  # seconds until a stopped worker is given up


def devices() -> list[str]:
    return [f"cuda:{number}" for number in range(gpus())] if KIND == "cuda" else ["cpu"]


def tables(seed: int) -> Statement:
    """Return up to three tables of 2^4 to 2^11 rows."""
    rng = random.Random(seed)
    shapes = [(rng.randint(4, 4 + seed % 8), rng.randint(8, 40), 2 * rng.randint(1, 4)) for _ in range(1 + seed % 3)]
    return Statement([synthetic.table(*shape, f"t{i}") for i, shape in enumerate(shapes)])


def proof_of_tables(seed: int, executor: Any, device: str, **options: Any) -> bytes:
    return prove(tables(seed), executor, security=60, rate=(2, 4, 8)[seed % 3], device=device, **options).to_bytes()


def proofs_of(jobs: list[Job], executor: Any, device: str, after_the_first: Callable[[], None] | None = None) -> Any:
    """Return the bytes of the proofs, or their errors, by the jobs' names."""
    found: dict[str, bytes | str] = {}
    for result in prove_many(jobs, executor, device):
        found[result.job.name] = result.proof.to_bytes() if result.proof else str(result.error)
        if after_the_first and len(found) == 1:
            after_the_first()
    return found


def guests() -> list[Job]:
    return [Prover(elf).job(data, name=f"{elf.stem} {len(data)}") for elf, data in RUNS]


def batch() -> list[Job]:
    fib = Prover(FIB)
    return [fib.job(struct.pack("<Q", CYCLES // 5 - number), name=str(number)) for number in range(8 * len(devices()))]


@pytest.fixture(scope="module")
def expected_tables() -> list[bytes]:
    return [proof_of_tables(seed, "sync", "cpu") for seed in SEEDS]


@pytest.fixture(scope="module")
def expected_guests() -> Any:
    return proofs_of(guests(), "threads", "cpu")


@pytest.fixture(scope="module", params=[False, True], ids=["", "mps"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    """Start two processes for each GPU; the autouse fixture that skips without a GPU comes later."""
    if KIND == "cuda" and not gpus():
        pytest.skip("needs an NVIDIA GPU")
    if KIND == "cpu" and request.param:
        pytest.skip("CPUs have no such service")
    with dask.config.set({SILENCE: SILENT, MPS: request.param}), started(EXECUTOR, 2) as found:
        yield found


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_by_all_gpus_at_once(seed: int, expected_tables: list[bytes]) -> None:
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda device: proof_of_tables(seed, "threads", device), devices())
    assert all(proof == expected_tables[seed] for proof in found)


def test_tables_by_a_cluster(client: Client, expected_tables: list[bytes]) -> None:
    assert [proof_of_tables(seed, client, KIND) for seed in SEEDS] == expected_tables


def test_guests_by_a_cluster(client: Client, expected_guests: Any) -> None:
    assert proofs_of(guests(), client, KIND) == expected_guests


def test_guests_by_a_cluster_for_one_batch(expected_guests: Any) -> None:
    assert proofs_of(guests(), EXECUTOR, KIND) == expected_guests


@pytest.mark.parametrize("shards", [2, 3])
def test_guests_in_shards(shards: int) -> None:
    for elf, data in (RUNS[0], *RUNS[2:]):
        expected = Prover(elf, device="cpu", shards=shards).prove(data)
        for device in devices():
            assert Prover(elf, device=device, shards=shards).prove(data) == expected, (elf.stem, device)
        assert Prover(elf).verify(expected)


@pytest.mark.parametrize("shards", [2, 3])
@pytest.mark.parametrize("seed", [2, 5, 8])  # three tables
def test_tables_in_shards(seed: int, shards: int) -> None:
    expected = proof_of_tables(seed, "sync", "cpu", shards=shards)
    for device in devices():
        assert proof_of_tables(seed, "threads", device, shards=shards) == expected


@pytest.mark.skipif(KIND == "cpu", reason="a CPU's peak has all memory of the process")
@pytest.mark.parametrize("shards", [1, 4])
def test_memory_of_shards_is_as_planned(shards: int) -> None:
    prover = Prover(FIB, device=KIND, shards=shards)
    with observed() as seen:
        prover.prove(struct.pack("<Q", 1_000_000))
    assert seen[0].memory.peak - seen[0].memory.before <= 1.02 * seen[0].memory.planned


def signalled(client: Client, processes: dict[str, int], number: int) -> int:
    """Send a signal to a worker that proves, and return its process."""
    until(lambda: any(address in processes for address in proving(client)))
    pid = next(processes[address] for address in proving(client) if address in processes)
    os.kill(pid, number)
    return pid


@pytest.mark.parametrize("fault", ["killed", "stopped"])
def test_a_batch_with_a_lost_worker(client: Client, fault: str) -> None:
    jobs, lost = batch(), list[int]()
    expected = proofs_of(jobs, "threads", KIND)
    client.wait_for_workers(2 * len(devices()), timeout=600)
    processes, number = pids(client), {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP}[fault]
    try:
        found = proofs_of(jobs, client, KIND, lambda: lost.append(signalled(client, processes, number)))
    finally:
        if fault == "stopped" and lost:
            os.kill(lost[0], signal.SIGKILL)
    assert lost and found == expected


def fail(launch: int) -> None:
    """Let a later launch of this process fail: then its GPU is lost to it."""
    from graphprover.kernels.cuda import faults

    fault = faults.launch.at(launch)
    fault.__enter__()
    faults.__dict__["armed"] = fault  # else it ends with this function


@pytest.mark.skipif(KIND == "cpu", reason="CPUs have no such fault")
def test_a_batch_in_which_every_gpu_fails(client: Client) -> None:
    jobs = batch()
    expected = proofs_of(jobs, "threads", KIND)
    client.wait_for_workers(2 * len(devices()), timeout=600)
    armed = client.run(fail, 5).keys()
    assert proofs_of(jobs, client, KIND) == expected
    assert not armed & present(client).keys()  # none outlives its GPU


def test_shards_with_a_killed_worker(client: Client) -> None:
    data = struct.pack("<Q", 400_000)
    expected = Prover(FIB, device=KIND, shards=4).prove(data)
    client.wait_for_workers(2 * len(devices()), timeout=600)
    processes, prover = pids(client), Prover(FIB, device=KIND, executor=client, shards=4)
    with ThreadPoolExecutor(1) as pool:
        disturbed = pool.submit(prover.prove, data)
        signalled(client, processes, signal.SIGKILL)
        assert disturbed.result(300) == expected
