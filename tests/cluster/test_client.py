"""Workers that fit and workers that do not: nothing runs before they are known, and every wait is reported."""

import asyncio
import gc
import os
import re
import signal
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import dask
import pytest
from distributed import Client, Status, wait

from graphprover import Statement, prove
from graphprover.cluster import ClusterError, dispatcher
from graphprover.cluster import client as joining
from graphprover.cluster import workers as cluster_workers
from graphprover.cluster.client import joined
from graphprover.cluster.dispatcher import Dispatcher
from graphprover.cluster.messages import pack
from graphprover.cluster.tasks import BEGUN, Attempt, ProvingTask
from graphprover.examples import memory
from graphprover.prover.prepare import prepare
from graphprover.proving.prove import prove_prepared
from graphprover.runtime import settings
from graphprover.statement.statement import Table
from graphprover.statement.trace_task import TraceTask
from graphprover.verifier import expect
from tests.cluster.processes import by_hand, in_background, pids, present, until, workers
from tests.graphs.test_proof_graph import FEW, example
from tests.slow import slow_after

NO_PACKAGE = "import sys; sys.modules['graphprover'] = None"
ANOTHER_VERSION = "import graphprover; graphprover.__version__ = '0.0'"


def test_two_clients_and_proofs_one_after_another(pair: Client) -> None:
    statement = example(memory)
    proof = prove(statement, "sync", parameters=FEW)
    with Client(pair.scheduler.address) as other:
        futures = [in_background(lambda c=c: prove(statement, c, parameters=FEW)) for c in (pair, other) * 3]
        assert all(future.result(600) == proof for future in futures)
        resources = [worker["resources"] for worker in present(pair).values()]
        assert [resource[cluster_workers.SLOT] for resource in resources] == [1, 1]


@pytest.mark.parametrize("direct", [False, True])
def test_values_that_are_there_are_fetched_at_the_same_time(
    pair: Client, monkeypatch: pytest.MonkeyPatch, direct: bool
) -> None:
    fetch, fetching = Dispatcher._fetch, list[Attempt]()

    async def slow(self: Dispatcher, attempt: Attempt) -> Any:
        fetching.append(attempt)
        while len(fetching) < 2:
            await asyncio.sleep(0.01)
        return await fetch(self, attempt)

    monkeypatch.setattr(Dispatcher, "_fetch", slow)
    monkeypatch.setattr(dispatcher, "wait", lambda futures, **options: wait(futures))  # for all of them
    monkeypatch.setattr(pair, "direct_to_workers", direct)
    tasks = [ProvingTask(f"{number}", partial(pack, "cpu"), function="target") for number in range(2)]
    with joined(pair) as cluster:
        results = list(cluster.run(tasks, "cpu"))
    assert len(fetching) == 2 and all(result.value is not None and result.attempts == 1 for result in results)


def test_an_asynchronous_client_is_refused(pair: Client) -> None:
    async def proved(address: str) -> None:
        async with Client(address, asynchronous=True) as client:
            prove(example(memory), client, parameters=FEW)

    with pytest.raises(ValueError, match="an asynchronous distributed"):
        asyncio.run(proved(pair.scheduler.address))


def test_a_cluster_without_workers_is_waited_for_and_reported(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a task that the scheduler gives up meanwhile is submitted again."""
    expected, woken = prove(example(memory), "sync", parameters=FEW), list[int]()
    wake = cluster_workers.Workers._wake

    def waking(own: cluster_workers.Workers, tasks: int) -> list[Any]:
        woken.append(tasks)
        return wake(own, tasks)

    monkeypatch.setattr(cluster_workers.Workers, "_wake", waking)
    with dask.config.set({"distributed.scheduler.no-workers-timeout": "200ms"}), workers(0) as client:
        with (
            dask.config.set({settings.WAIT: 0.5}),
            pytest.raises(ClusterError, match=r"has no worker, and none came in"),
        ):
            prove(example(memory), client, parameters=FEW)
        assert "has no worker; waiting up to 0.5 s" in caplog.text
        woken.clear()
        later = in_background(lambda: prove(example(memory), client, parameters=FEW))
        until(lambda: len(woken) > 2)
        client.cluster.scale(1)
        assert later.result(600) == expected and set(woken) == {1}


@pytest.mark.slow
def test_an_adaptive_cluster_without_workers_starts_one() -> None:
    """As `test_batching.test_an_adaptive_cluster_grows_for_short_jobs_and_shrinks`, and again after it has shrunk."""
    expected = prove(example(memory), "sync", parameters=FEW)
    with workers(0) as client:
        client.cluster.adapt(minimum=0, maximum=1, interval="200ms", wait_count=5)
        for _ in range(2):
            assert prove(example(memory), client, parameters=FEW) == expected
            until(lambda: not present(client))
            assert not client.cluster.scheduler.tasks


@pytest.mark.parametrize(
    ("preload", "line"),
    slow_after(
        1,
        [
            (ANOTHER_VERSION, r"has graphprover 0\.0, and the client graphprover "),
            (NO_PACKAGE, r"cannot import graphprover \(.*\): install \S+ with the extra \[prover\] there"),
            ("import dask; dask.__version__ = '1.0'", r"has dask 1\.0, and the client dask "),
        ],
    ),
    ids=["another version", "no package", "another dask"],
)
def test_a_worker_that_does_not_fit_gets_no_proof_and_is_named_once(
    preload: str, line: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even if it has the resource from its start, as the one that fits has."""
    expected = prove(example(memory), "sync", parameters=FEW)
    with by_hand(tmp_path, [preload, ""], "--resources", f"{cluster_workers.SLOT}=1") as (client, _):
        before, named = pids(client), re.compile(rf"worker (tcp://\S+): {line}.*; it gets no proof")
        until(lambda: prove(example(memory), client, parameters=FEW) == expected and bool(named.search(caplog.text)))
        assert [prove(example(memory), client, parameters=FEW) for _ in range(4)] == [expected] * 4
        (wrong,) = named.findall(caplog.text)
        (fits,) = before.keys() - {wrong}
        assert {event["worker"] for _, event in client.get_events(BEGUN)} == {fits}
        assert present(client)[fits]["resources"] == {cluster_workers.SLOT: 1}
        assert pids(client) == before and not any(client.processing().values())


def test_workers_none_of_which_fits_are_named_in_the_error(tmp_path: Path) -> None:
    with by_hand(tmp_path, [NO_PACKAGE, ANOTHER_VERSION]) as (client, _), dask.config.set({settings.WAIT: 0.5}):
        before = pids(client)
        with pytest.raises(ClusterError) as raised:
            prove(example(memory), client, parameters=FEW)
        first, *named = str(raised.value).splitlines()
        assert "has no worker that fits, and none came in 0.5 s: start some" in first
        assert [
            bool(re.match(r"worker tcp://\S+: (cannot import graphprover|has graphprover 0\.0)", n)) for n in named
        ] == [
            True,
            True,
        ]
        assert pids(client) == before and not any(client.processing().values())


def test_a_worker_that_dask_has_paused_is_enlisted() -> None:
    """The scheduler must learn of its resources, because the worker is not asked again."""
    resources_sent: dict[str, float] = {}

    class Paused:
        plugins: ClassVar = {}
        status = Status.paused
        state = SimpleNamespace(total_resources={})

        async def set_resources(self, **resources: float) -> None:
            resources_sent.update(resources)

    asyncio.run(cluster_workers.add_resources(Paused()))  # type: ignore[arg-type]
    assert resources_sent == {cluster_workers.SLOT: 1}


def test_threads_share_the_cluster_of_a_client() -> None:
    def cluster_of(client: Client) -> joining.Cluster:
        with joined(client) as found:
            return found

    with workers(0) as client, ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(cluster_of, [client] * 8))) == 1


def test_a_stopped_worker_is_named_and_gets_proofs_once_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_workers, "ANSWER_SECONDS", 1.0)
    with workers(1) as client:
        [(address, pid)] = pids(client).items()
        os.kill(pid, signal.SIGSTOP)
        try:
            with (
                dask.config.set({settings.WAIT: 0.5}),
                pytest.raises(ClusterError, match=f"worker {address}: no answer in 1 s"),
            ):
                prove(example(memory), client, parameters=FEW)
            with dask.config.set({settings.WAIT: 600}):
                proof = in_background(lambda: prove(example(memory), client, parameters=FEW))
                time.sleep(3)
        finally:
            os.kill(pid, signal.SIGCONT)
        assert proof.result(600) == prove(example(memory), "sync", parameters=FEW)


def test_a_new_client_does_not_wait_for_a_stopped_worker(pair: Client, caplog: pytest.LogCaptureFixture) -> None:
    """The scheduler does not assign proofs to it, either."""
    expected = prove(example(memory), "sync", parameters=FEW)
    prove(example(memory), pair, parameters=FEW)
    seen = len(pair.get_events(BEGUN))
    address, pid = next(iter(pids(pair).items()))
    os.kill(pid, signal.SIGSTOP)
    try:
        with Client(pair.scheduler.address) as other:
            started = time.monotonic()
            assert [prove(example(memory), other, parameters=FEW) for _ in range(4)] == [expected] * 4
            assert time.monotonic() - started < cluster_workers.STRAGGLER_SECONDS + 60
            assert address not in {event["worker"] for _, event in pair.get_events(BEGUN)[seen:]}
            time.sleep(cluster_workers.PATIENCE_SECONDS)
            prove(example(memory), other, parameters=FEW)
            assert f"worker {address} does not answer; it gets no proof until it does" in caplog.text
    finally:
        os.kill(pid, signal.SIGCONT)


def test_no_worker_with_the_gpu_asked_for(pair: Client) -> None:
    waiting = dask.config.set({settings.WAIT: 0.5})
    with waiting, pytest.raises(ClusterError, match="device cuda:7: it sees 0 GPUs"):
        prove(example(memory), pair, parameters=FEW, device="cuda:7")


def test_what_cannot_be_imported_fails_the_proof_alone(
    pair: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement has trace tasks of a module that only the client has."""
    (tmp_path / "mine.py").write_text("def made(device, *, columns):\n    return device.load(columns)\n")
    monkeypatch.syspath_prepend(tmp_path)
    import mine  # type: ignore[import-not-found]

    statement = example(memory)
    trace_tasks = Statement(
        [
            Table(
                table.air,
                table.public_values,
                TraceTask("mine", mine.made, {"columns": table.main}, (), table.main.shape),
            )
            for table in statement.tables
        ]
    )
    before = pids(pair)
    with pytest.raises(ModuleNotFoundError, match="mine"):
        prove(trace_tasks, pair, parameters=FEW)
    assert prove(statement, pair, parameters=FEW) == prove(statement, "sync", parameters=FEW)
    assert pids(pair) == before


def test_no_commitment_is_taken_from_a_worker(pair: Client) -> None:
    """Otherwise a faulty worker could prove a statement with other preprocessed columns."""
    prepared = prepare(example(memory), parameters=FEW)
    assert prepared.preprocessed and prove_prepared(prepared, "sync")[1] is not None
    proof, caps = prove_prepared(prepared, pair, expected=lambda headers: expect(headers, example(memory), 0))
    assert caps is None and proof == prove(example(memory), "sync", parameters=FEW)


def test_no_client_is_kept(pair: Client) -> None:
    with Client(pair.scheduler.address) as client:
        prove(example(memory), client, parameters=FEW)
        assert client in joining._clusters
    kept = weakref.ref(client)
    del client
    gc.collect()
    assert kept() is None
