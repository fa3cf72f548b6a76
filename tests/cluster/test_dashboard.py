"""A batch on two workers, as shown by Dask's dashboard, its events and Prometheus."""

import asyncio
import logging
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client, Scheduler, span

import graphprover
from graphprover import Prover, Result, prove_many
from graphprover.cluster import dispatcher
from graphprover.cluster.client import joined
from graphprover.cluster.local import LocalProcesses, started
from graphprover.cluster.messages import ProofRequest, pack
from graphprover.cluster.metrics import CELLS, CYCLES, MEMORY, POOL, PROOFS
from graphprover.cluster.tasks import EVENTS, ProvingTask
from graphprover.examples import memory
from graphprover.prover.prepare import prepare
from graphprover.runtime.settings import DASHBOARD
from graphprover.telemetry.activities import ACTIVITIES, EXECUTE, HOST, VERIFY, WAITING
from tests.cluster.once import Once
from tests.cluster.processes import ROOT, present, until
from tests.graphs.test_proof_graph import FEW, example

BATCH, JOBS = "primes", [f"job {number}" for number in range(4)]
PAGES = ("status", "workers", "tasks", "system", "graph", "groups", "individual-fine-performance-metrics")
MOST_GROUPS = 12  # that a person takes in


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with dask.config.set({DASHBOARD: "127.0.0.1:0"}), started("processes", 2) as client:
        yield client


@pytest.fixture(scope="module")
def results(client: Client) -> list[Result]:
    """Return the results of runs of a guest."""
    guest = Prover(ROOT / "examples/guests/fib_iterative.elf", security=40)
    jobs = [guest.job(bytes([9] + 7 * [0]), name) for name in JOBS]
    with span(BATCH):
        found = list(prove_many(jobs, client))
    assert all(result.proof for result in found)
    until(lambda: sum(figures(client, PROOFS)) == len(jobs))  # the heartbeats after the last have come
    return found


def figures(client: Client, name: str) -> list[int]:
    """Return a figure of each worker's heartbeats."""
    return [worker["metrics"][name] for worker in present(client).values()]


def page(url: str) -> str:
    with urllib.request.urlopen(url) as answer:
        assert answer.status == 200
        return str(answer.read().decode())


def test_jobs_by_their_names_and_one_kind_of_task(client: Client, results: list[Result]) -> None:
    def seen(dask_scheduler: Scheduler) -> tuple[list[str], dict[tuple[str, ...], list[str]]]:
        spans = dask_scheduler.extensions["spans"].spans.values()
        return list(dask_scheduler.task_prefixes), {one.name: [group.name for group in one.groups] for one in spans}

    prefixes, spans = client.run_on_scheduler(seen)
    assert prefixes == ["prove"]
    for job in JOBS:
        (group,) = spans[BATCH, job]
        assert group.startswith("prove-") and group.endswith(job)


def test_seconds_by_activity_add_up(client: Client, results: list[Result]) -> None:
    def seen(dask_scheduler: Scheduler) -> tuple[dict[str, float], float]:
        one = dask_scheduler.extensions["spans"].merge_by_tags(BATCH)
        metrics = one.cumulative_worker_metrics.items()
        seconds = {key[2]: value for key, value in metrics if key[:2] == ("execute", "prove") and key[3] == "seconds"}
        return seconds, one.all_durations["compute"]

    ours = [*ACTIVITIES.values(), EXECUTE, WAITING, HOST, VERIFY]
    assert len(ACTIVITIES) <= MOST_GROUPS

    def add_up() -> bool:
        seconds, compute = client.run_on_scheduler(seen)
        return abs(sum(seconds.values()) - compute) < 0.1 * compute

    until(add_up)  # the seconds of the last tasks may come with a later heartbeat than their proofs
    seconds, compute = client.run_on_scheduler(seen)
    assert all(seconds[name] > 0 for name in ours)
    assert 0.5 * compute < sum(seconds[name] for name in ours) < 1.1 * compute  # a loaded host may pause in between


def test_the_charts_of_one_job_are_those_of_its_span(client: Client, results: list[Result]) -> None:
    """Dask's page of fine performance metrics has a filter by span tag."""

    def seen(dask_scheduler: Scheduler) -> list[dict[str, float]]:
        from distributed.dashboard.components.scheduler import FinePerformanceMetrics

        charts, drawn = FinePerformanceMetrics(dask_scheduler), []
        for tags in ([], *([job] for job in JOBS)):
            charts.span_tag_selector.value = tags
            charts.update()
            data = charts.task_exec_by_activity_src.data
            drawn.append(dict(zip(data["activity"], data["value"], strict=True)))
        return drawn

    whole, *jobs = client.run_on_scheduler(seen)
    for name in (ACTIVITIES["tree"], VERIFY):
        assert all(0 < job[name] < whole[name] for job in jobs)
        assert sum(job[name] for job in jobs) == pytest.approx(whole[name])


def test_figures_with_heartbeats(client: Client, results: list[Result]) -> None:
    assert sum(figures(client, PROOFS)) == len(results)
    assert max(figures(client, CYCLES)) > 0 and max(figures(client, CELLS)) > 0  # one may have made all
    assert min(figures(client, MEMORY)) > 50 << 20  # a process with its kernels
    assert figures(client, POOL) == [0, 0]  # no GPU


def scraped_from(client: Client) -> dict[str, float]:
    """Return graphprover's metrics for Prometheus, summed over the workers."""
    scraped: dict[str, float] = {}
    for worker in present(client).values():
        for line in page(f"http://127.0.0.1:{worker['services']['dashboard']}/metrics").splitlines():
            if line.startswith("graphprover"):
                name, _, value = line.rpartition(" ")
                scraped[name] = scraped.get(name, 0.0) + float(value)
    return scraped


def test_prometheus(client: Client, results: list[Result]) -> None:
    scraped = scraped_from(client)
    assert scraped["graphprover_proofs_total"] == len(results)
    assert scraped["graphprover_cells_total"] == sum(result.made.cells for result in results if result.made)
    assert scraped["graphprover_cycles_total"] > 100 and scraped["graphprover_failures_total"] == 0
    buckets = [value for name, value in scraped.items() if name.startswith("graphprover_proof_seconds_bucket")]
    assert buckets == sorted(buckets) and buckets[-1] == scraped["graphprover_proof_seconds_count"] == len(results)
    seconds = sum(sum(result.seconds.values()) for result in results)
    assert 0.5 * seconds < scraped["graphprover_proof_seconds_sum"] < 2 * seconds  # a loaded host may pause in between
    assert scraped['graphprover_seconds_total{activity="hashing"}'] > 0
    assert scraped["graphprover_device_memory_bytes"] > 0 and scraped["graphprover_pool_bytes"] == 0


def test_a_proof_is_as_large_as_it_is_and_a_retry_is_an_event(client: Client, tmp_path: Path) -> None:
    prepared = prepare(example(memory), parameters=FEW)
    device = Once("quotient", tmp_path / "once", "RuntimeError")
    with (
        joined(client) as cluster,
        span("sizes"),
        closing(
            cluster.run([ProvingTask("again", lambda: pack(ProofRequest(prepared, device, False)))], "cpu")
        ) as results,
    ):
        (result,) = results
    assert result.value is not None and result.attempts == 2

    def size(dask_scheduler: Scheduler) -> int:
        return int(dask_scheduler.extensions["spans"].merge_by_tags("sizes").nbytes_total)

    assert client.run_on_scheduler(size) == pytest.approx(result.value.proof.size, rel=0.01)
    events: list[Any] = [event for _, event in client.get_events(EVENTS)]
    assert {"job": "again", "line": "failed (RuntimeError: once); it is retried"} in events
    assert scraped_from(client)["graphprover_failures_total"] == 1


def test_what_a_worker_warns_of_is_an_event(client: Client) -> None:
    def warn() -> None:
        import logging

        logging.getLogger("graphprover.admission").warning("graphprover: %s", "a line")

    client.run(warn)
    until(lambda: [event.get("line") for _, event in client.get_events(EVENTS)].count("graphprover: a line") == 2)


def test_rounds_of_a_graph_that_runs_on_the_cluster(client: Client) -> None:
    with span("rounds"):
        future = client.compute(graphprover.graph(example(memory), parameters=FEW, device="cpu"))
    assert future.result() == graphprover.prove(example(memory), "sync", parameters=FEW, device="cpu")

    def seen(dask_scheduler: Scheduler) -> set[str]:
        return {
            group.prefix.name for group in dask_scheduler.extensions["spans"].merge_by_tags("rounds").traverse_groups()
        }

    assert client.run_on_scheduler(seen) <= set(ACTIVITIES)


def test_later_jobs_share_a_group_in_the_span_of_their_batch(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "MOST_SPANS", 1)
    guest = Prover(ROOT / "examples/guests/fib_iterative.elf", security=40)
    with span("many"):
        found = list(prove_many([guest.job(bytes([9] + 7 * [0]), name) for name in ("a1", "b2", "c3")], client))
    assert all(result.proof for result in found)

    def seen(dask_scheduler: Scheduler) -> dict[tuple[str, ...], set[str]]:
        spans = dask_scheduler.extensions["spans"].spans.values()
        return {one.name: {group.name for group in one.groups} for one in spans if one.name[0] == "many"}

    spans = client.run_on_scheduler(seen)
    assert spans.keys() == {("many",), ("many", "a1")} and spans[("many",)] == {"prove"}


@pytest.mark.parametrize("name", PAGES)
def test_the_dashboard_opens(client: Client, name: str) -> None:
    """After the tests with tasks: the scheduler draws these pages anew, a part of a second each, while they live."""
    link = client.dashboard_link.removesuffix("status")
    assert "<title>Dask" in page(link + name)


def test_an_open_page_logs_no_error_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    """Tornado logs a traceback for the connection of a page that is cancelled."""
    processes, log = LocalProcesses("processes", [], wait_for_all=True), logging.getLogger("tornado.application")
    until(processes.are_ready)
    connected = threading.Event()

    async def connection() -> None:
        log.error("while it serves")
        connected.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            log.error("Uncaught exception GET /workers/ws", exc_info=True)

    with caplog.at_level(logging.ERROR, log.name):
        log.addHandler(caplog.handler)
        running = asyncio.run_coroutine_threadsafe(connection(), processes._loop)
        assert connected.wait(600)
        processes.end()
        log.removeHandler(caplog.handler)
    logged = {record.message for record in caplog.records if record.name == log.name}
    assert running.done() and logged == {"while it serves"}
