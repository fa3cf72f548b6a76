"""Whole proofs on workers of a Dask cluster: the bytes are the same, whoever dies, and nothing waits without a word."""

import gc
import logging
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import dask
import pytest
from distributed import Client, LocalCluster

from graphprover import Proof, Statement, cluster, members, prove, settings
from graphprover.cluster import ClusterError
from graphprover.device import CpuDevice, DeviceLost
from graphprover.examples import memory, synthetic
from graphprover.prover import prepare, prove_prepared
from graphprover.recipe import Recipe
from graphprover.statement import Table
from tests.graphs.test_proof import FEW, example

ROOT = Path(__file__).parents[1]
LONG = synthetic.statement(14, 40, 8)  # a second or so


@pytest.fixture(scope="module")
def expected() -> Proof:
    return prove(LONG, "sync", parameters=FEW, device=CpuDevice(1))


@contextmanager
def workers(number: int) -> Iterator[Client]:
    """Processes with a nanny each, which starts another when one dies."""
    made = LocalCluster(
        n_workers=number, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=logging.ERROR
    )
    with made, Client(made) as client:
        yield client


@contextmanager
def by_hand(tmp_path: Path, preloads: list[str], *more: str) -> Iterator[tuple[Client, subprocess.Popen[bytes]]]:
    """A scheduler, and a worker without a nanny for each preload, which is Python that it runs first."""
    file, environment = tmp_path / "scheduler.json", os.environ | {"PYTHONPATH": str(ROOT)}
    options = ["--scheduler-file", str(file)]
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    scheduler = subprocess.Popen(
        [*program, *options, "--port", "0", "--no-dashboard"], env=environment, stderr=subprocess.DEVNULL
    )
    started = [scheduler]
    try:
        for number, preload in enumerate(preloads):
            path = tmp_path / f"preload{number}.py"
            path.write_text(textwrap.dedent(preload))
            command = [sys.executable, "-m", "distributed.cli.dask_worker", *options, "--no-nanny", "--nthreads", "1"]
            command += ["--no-dashboard", "--preload", str(path), "--local-directory", str(tmp_path), *more]
            started.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))
        until(file.is_file)
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(len(preloads), timeout=60)
            yield client, scheduler
    finally:
        for process in started:
            process.kill()
            process.wait()


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


def pids(client: Client) -> dict[str, int]:
    return client.run(os.getpid)


def proving(client: Client) -> list[str]:
    """The addresses of the workers that have a proof."""
    return [address for address, keys in client.processing().items() if keys]


def in_background(function: Callable[[], Proof]) -> "Future[Proof]":
    pool = ThreadPoolExecutor(1)
    future = pool.submit(function)
    pool.shutdown(wait=False)
    return future


def test_two_clients_and_proofs_one_after_another() -> None:
    statement = example(memory)
    proof = prove(statement, "sync", parameters=FEW)
    with workers(2) as client, Client(client.scheduler.address) as other:
        futures = [in_background(lambda c=c: prove(statement, c, parameters=FEW)) for c in (client, other) * 3]
        assert all(future.result(120) == proof for future in futures)
        resources = [worker["resources"] for worker in client.scheduler_info()["workers"].values()]
        assert [resource[members.SLOT] for resource in resources] == [1, 1]


def test_a_cluster_without_workers_is_waited_for_and_said(caplog: pytest.LogCaptureFixture) -> None:
    with workers(0) as client:
        with (
            dask.config.set({settings.WAIT: 0.5}),
            pytest.raises(ClusterError, match=r"has no worker, and none came in"),
        ):
            prove(LONG, client, parameters=FEW)
        assert "has no worker; waiting up to 0.5 s" in caplog.text
        later = in_background(lambda: prove(example(memory), client, parameters=FEW))
        client.cluster.scale(1)
        assert later.result(120) == prove(example(memory), "sync", parameters=FEW)


@pytest.mark.parametrize(
    ("preload", "line"),
    [
        ("import sys; sys.modules['graphprover'] = None", r"cannot import graphprover \(.*\): install 'graphprover"),
        ("import graphprover; graphprover.__version__ = '0.0'", r"has graphprover 0\.0, and here is graphprover "),
        ("import dask; dask.__version__ = '1.0'", r"has dask 1\.0, and here is dask "),
    ],
    ids=["no package", "another version", "another dask"],
)
def test_workers_that_do_not_fit_are_named_and_live(preload: str, line: str, tmp_path: Path) -> None:
    with by_hand(tmp_path, [preload, ""]) as (client, _):
        before = pids(client)
        with pytest.raises(ClusterError) as raised:
            prove(example(memory), client, parameters=FEW)
        (named,) = str(raised.value).splitlines()
        assert re.search(rf"^worker tcp://\S+: {line}", named)
        assert pids(client) == before and not any(client.processing().values())


def test_a_worker_may_have_the_resource_from_its_start(tmp_path: Path) -> None:
    with by_hand(tmp_path, [""], "--resources", f"{members.SLOT}=1") as (client, _):
        assert prove(example(memory), client, parameters=FEW) == prove(example(memory), "sync", parameters=FEW)
        (worker,) = client.scheduler_info()["workers"].values()
        assert worker["resources"] == {members.SLOT: 1, members.GPUS: 0}


def test_a_stopped_worker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "ANSWER_SECONDS", 1.0)
    with workers(1) as client:
        [(address, pid)] = pids(client).items()
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(ClusterError, match=f"worker {address}: no answer in 1 s"):
                prove(example(memory), client, parameters=FEW)
        finally:
            os.kill(pid, signal.SIGCONT)


def test_no_worker_with_the_gpu_asked_for() -> None:
    with workers(1) as client, pytest.raises(ClusterError, match="device cuda:7: it sees 0 GPUs"):
        prove(example(memory), client, parameters=FEW, device="cuda:7")


def test_what_cannot_be_imported_fails_the_proof_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recipes of a module that only the client has."""
    (tmp_path / "mine.py").write_text("def made(device, *, columns):\n    return device.load(columns)\n")
    monkeypatch.syspath_prepend(tmp_path)
    import mine  # type: ignore[import-not-found]

    statement = example(memory)
    recipes = Statement(
        [
            Table(
                table.air, table.public_values, Recipe("mine", mine.made, {"columns": table.main}, (), table.main.shape)
            )
            for table in statement.tables
        ]
    )
    with by_hand(tmp_path, [""]) as (client, _):
        before = pids(client)
        with pytest.raises(ModuleNotFoundError, match="mine"):
            prove(recipes, client, parameters=FEW)
        assert prove(statement, client, parameters=FEW) == prove(statement, "sync", parameters=FEW)
        assert pids(client) == before


@pytest.mark.parametrize("number", [1, 2])
def test_a_proof_outlives_its_workers(number: int, expected: Proof, caplog: pytest.LogCaptureFixture) -> None:
    """One of two, and the only one: its nanny starts another, which is asked and enlisted."""
    with workers(number) as client:
        prove(example(memory), client, parameters=FEW)  # all workers are known
        proof = in_background(lambda: prove(LONG, client, parameters=FEW))
        before = pids(client)
        until(lambda: bool(proving(client)))
        os.kill(before[proving(client)[0]], signal.SIGKILL)
        assert proof.result(120) == expected


def test_proofs_outlive_all_workers(expected: Proof) -> None:
    """Those that come then are asked for one of the proofs, and the others go to them, too."""
    with workers(2) as client:
        prove(example(memory), client, parameters=FEW)
        proofs = [in_background(lambda: prove(LONG, client, parameters=FEW)) for _ in range(3)]
        before = pids(client)
        until(lambda: len(proving(client)) == 2)
        for pid in before.values():
            os.kill(pid, signal.SIGKILL)
        assert all(proof.result(120) == expected for proof in proofs)


def lose_device() -> None:
    """What this process proves next loses its device."""
    from graphprover import worker

    def lost(*arguments: object) -> None:
        raise DeviceLost("as a test wants it")

    worker.made = lost


def test_a_lost_device_ends_its_worker_and_no_proof() -> None:
    statement = example(memory)
    proof = prove(statement, "sync", parameters=FEW)
    with workers(2) as client:
        prove(statement, client, parameters=FEW)
        before = pids(client)
        client.run(lose_device)
        with ThreadPoolExecutor(2) as pool:
            proofs = [pool.submit(prove, statement, client, parameters=FEW) for _ in range(12)]
            assert all(future.result(240) == proof for future in proofs)
        assert not set(before.values()) & set(pids(client).values())


def test_a_scheduler_that_dies_is_told(tmp_path: Path) -> None:
    with by_hand(tmp_path, [""]) as (client, scheduler):
        prove(example(memory), client, parameters=FEW)
        proof = in_background(lambda: prove(LONG, client))
        until(lambda: bool(proving(client)))
        started = time.monotonic()
        scheduler.kill()
        with pytest.raises(ClusterError, match="the scheduler is gone, and with it prove-"):
            proof.result(120)
        assert time.monotonic() - started < 60


def test_no_commitment_is_taken_from_a_worker() -> None:
    """Or a bad one could prove a statement with other preprocessed columns."""
    prepared = prepare(example(memory), parameters=FEW)
    assert prepared.preprocessed and prove_prepared(prepared, "sync")[1] is not None
    with workers(1) as client:
        proof, cap = prove_prepared(prepared, client)
    assert cap is None and proof == prove(example(memory), "sync", parameters=FEW)


def test_no_client_is_kept() -> None:
    with workers(1) as client:
        prove(example(memory), client, parameters=FEW)
        assert client in cluster._clusters
    kept = weakref.ref(client)
    del client
    gc.collect()
    assert kept() is None


def test_no_thread_is_left(expected: Proof) -> None:
    before = {thread.name for thread in threading.enumerate() if not thread.daemon}
    with workers(1) as client:
        assert prove(LONG, client, parameters=FEW) == expected
    assert {thread.name for thread in threading.enumerate() if not thread.daemon} <= before | {"MainThread"}
