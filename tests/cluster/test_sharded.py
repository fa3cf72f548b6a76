"""Shards of one proof on two workers: the same bytes, and a lost worker costs only its own shards."""

import os
import re
import signal
import time
from collections import Counter
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, cast

import dask
import numpy as np
import pytest
from distributed import Client, Worker

from graphprover import Prover, ShardedProof, Statement, observed, prove
from graphprover.cluster import client as joining
from graphprover.cluster import dispatcher, window_worker, worker
from graphprover.cluster.dispatcher import Dispatcher
from graphprover.cluster.messages import ShardRequest, pack
from graphprover.cluster.sharded import DRAW, prove_parts
from graphprover.cluster.tasks import BEGUN, ProvingTask
from graphprover.cluster.workers import POLL_SECONDS
from graphprover.device import CpuDevice
from graphprover.graphs.rounds.transcript import joint_nonce
from graphprover.graphs.task_keys import ShardNumber
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.joint import Joint
from graphprover.reports.proof_page import proof_page
from graphprover.runtime import settings
from graphprover.statement.shards import shards_of
from graphprover.telemetry.chrome_trace import chrome_trace
from graphprover.telemetry.observation import Observation
from graphprover.verifier.pool import ShardChecks
from graphprover.verifier.shards import Expected
from graphprover.vm.executor.execute import ran
from graphprover.vm.executor.record import INTERVAL
from tests.cluster import faults
from tests.cluster.conftest import SINGLE
from tests.cluster.once import DIES, ROUNDS, STOPS, WRONG, Once
from tests.cluster.processes import ROOT, by_hand, in_background, pids, present, soon, until
from tests.graphs.test_proof_graph import FEW
from tests.preparing import prepare_shards
from tests.slow import slow_after

pytestmark = pytest.mark.usefixtures("patience")

GUEST = ROOT / "examples/guests/fib_iterative.elf"
INPUT = bytes([9] + 7 * [0])
CLOCKS = 5.0  # seconds: error of workers' clocks on a busy machine

Begun = dict[tuple[int, str], list[str]]  # by shard and "commit" or "finish": workers that started it


def await_both(pair: Client) -> None:
    """Wait until both workers fit; a worker that was stopped and killed may be listed for a moment."""

    def both_fit() -> bool:
        joined._workers.refresh()
        return len(joined._workers.fit("cpu")) == 2

    with joining.joined(pair) as joined, dask.config.set({settings.SILENCE: 3}):
        until(both_fit, 120)


def left(client: Client) -> list[str]:
    """Return the data and grants of workers, and the tasks of the scheduler."""

    def of_worker(dask_worker: Worker) -> list[str]:
        from graphprover.admission.ledger import _ledgers

        grants = [f"grant {need}" for ledger in _ledgers.values() for need in ledger.own.held]
        return [*(f"value {key}" for key in dask_worker.data), *grants]

    def of_scheduler(dask_scheduler: Any) -> list[str]:
        return [f"task {task}, wanted by {task.who_wants}" for task in dask_scheduler.tasks.values()]

    found: list[Any] = [*client.run(of_worker).values(), client.run_on_scheduler(of_scheduler)]
    return list(chain.from_iterable(found))


def await_release(client: Client) -> None:
    """Wait until workers and the scheduler have released everything."""
    until(lambda: not left(client), reason=lambda: (left(client), client.refcount))


def begun(client: Client, seen: int = 0) -> Begun:
    """Return which workers have started each task, without the first ``seen`` events."""
    found: Begun = {}
    for _, event in client.get_events(BEGUN)[seen:]:
        match = re.search(r"shard (\d+) of \d+: (\w+)", event["key"])
        if match:
            found.setdefault((int(match[1]), match[2]), []).append(event["worker"])
    return found


@pytest.mark.parametrize("shards", slow_after(1, [3, 2]))
def test_a_statement_has_the_same_bytes(pair: Client, statement: Statement, shards: int) -> None:
    reports: list[tuple[int, int, str]] = []
    made = prove(statement, pair, parameters=FEW, shards=shards, progress=lambda *progress: reports.append(progress))
    assert made == prove(statement, "sync", parameters=FEW, device="cpu", shards=shards)
    assert reports[-1] == (2 * shards, 2 * shards, "")
    assert {f"head: shard {shard} of {shards}: finish" for shard in range(shards)} <= {task for *_, task in reports}
    await_release(pair)


@pytest.mark.parametrize("cut", [{"shards": 2}, {"shard_size": 50}])
def test_a_run_has_the_same_bytes(pair: Client, cut: dict[str, int]) -> None:
    here = Prover(GUEST, security=40, executor="sync", device="cpu", **cut).prove(INPUT)
    made = Prover(GUEST, security=40, executor=pair, **cut).prove(INPUT)
    assert made.to_bytes() == here.to_bytes()
    await_release(pair)


@pytest.mark.parametrize("shards", slow_after(1, [2, 4]))
def test_the_guest_runs_once_and_each_window_is_recorded_once(pair: Client, shards: int) -> None:
    await_both(pair)
    prover, data = Prover(GUEST, security=40, executor=pair, shards=shards), bytes([0, 200, *6 * [0]])
    cycles = prover.execute(data).cycles
    here, there = cycles_run(), sum(pair.run(cycles_run).values(), Counter())
    with observed() as seen:
        proof = prover.prove(data)
    check_seen(*seen, cast(ShardedProof, proof))
    names = [[stage.name for stage in shard.stages] for shard in seen[0].shards]
    assert names == shards * [["record", "lay out", "prepare", "wait", "commit", "prepare", "wait", "prove", "verify"]]
    assert "is laid out in tables" in proof_page(seen[0])
    assert cycles_run() - here == Counter(plain=cycles)
    ran = sum(pair.run(cycles_run).values(), Counter()) - there
    assert cycles <= ran["recorded"] < cycles + shards * INTERVAL  # windows begin and end with intervals
    starts = [cycles * index // shards for index in range(shards)]
    assert ran["plain"] == sum(start // INTERVAL * INTERVAL for start in starts)  # the run is too short for snapshots
    await_release(pair)


def test_a_worker_finishes_its_last_shard_first(pair: Client) -> None:
    # The last shard to commit retains the most arrays, and another one could need their memory.
    await_both(pair)
    seen = len(pair.get_events(BEGUN))
    Prover(GUEST, security=40, executor=pair, shards=6).prove(INPUT)
    tasks = begun(pair, seen)
    assert {len(workers) for workers in tasks.values()} == {1}
    for address in set(chain.from_iterable(tasks.values())):
        own = [task for task, workers in tasks.items() if workers == [address]]
        committed, finished = ([index for index, name in own if name == what] for what in ("commit", "finish"))
        assert committed == sorted(committed) and finished == sorted(committed, reverse=True)


def cycles_run() -> Counter[str]:
    """Return the cycles of guests that ran in this process."""
    return Counter(ran)


@pytest.mark.parametrize(
    ("module", "function"),
    slow_after(
        1,
        [(window_worker, "lay_out"), (window_worker, "record"), (worker, "commit_shard"), (worker, "finish_shard")],
    ),
)
def test_a_worker_that_dies_loses_its_windows(
    pair: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture, module: Any, function: str
) -> None:
    here = Prover(GUEST, security=40, executor="sync", device="cpu", shards=4).prove(INPUT)
    await_both(pair)
    seen, before = len(pair.get_events(BEGUN)), set(pids(pair))
    pair.run(faults.dies_in, module, function, tmp_path / "dies")
    try:
        assert Prover(GUEST, security=40, executor=pair, shards=4).prove(INPUT).to_bytes() == here.to_bytes()
    finally:
        await_both(pair)
        pair.run(faults.restore)
    (dead,) = before - set(pids(pair))
    attempts = begun(pair, seen)
    lost = {shard for (shard, _), by in attempts.items() if by[0] == dead}
    assert 0 < len(lost) < 4 and {shard for (shard, _), by in attempts.items() if len(by) > 1} <= lost
    await_release(pair)


def test_a_result_that_is_lost_before_it_is_fetched(pair: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client does not wait for it until a timeout: the task can be one that only the lost worker may have."""
    monkeypatch.setattr(dispatcher, "ANSWER_SECONDS", 600.0)
    here = Prover(GUEST, security=40, executor="sync", device="cpu", shards=4).prove(INPUT)
    await_both(pair)
    own, killed = pids(pair), list[str]()
    fetch = Dispatcher._fetch

    async def fetched(self: Dispatcher, attempt: Any) -> Any:
        if not killed and "lay_out" in str(attempt.future.key):
            killed.append(attempt.workers[-1])
            os.kill(own[killed[0]], signal.SIGKILL)
        return await fetch(self, attempt)

    monkeypatch.setattr(Dispatcher, "_fetch", fetched)
    began = time.monotonic()
    assert Prover(GUEST, security=40, executor=pair, shards=4).prove(INPUT).to_bytes() == here.to_bytes()
    assert killed and time.monotonic() - began < 500
    await_both(pair)
    await_release(pair)


def check_seen(seen: Observation, proof: ShardedProof) -> None:
    """Check that all shards and workers are in an observation, and that no effect precedes its cause."""
    (draw,) = (stage for stage in seen.stages if stage.name == DRAW)
    assert {task.shard for task in seen.tasks} == set(range(len(proof.proofs)))
    assert {worker.address for worker in seen.workers} == {
        address for shard in seen.shards for address in shard.workers
    }
    for shard in seen.shards:
        ends = {stage.name: stage.end for stage in shard.stages}
        (prove_,) = (stage for stage in shard.stages if stage.name == "prove")
        assert ends["commit"] <= draw.start + CLOCKS and draw.end <= prove_.start + CLOCKS
        assert prove_.end <= ends["verify"] + CLOCKS
    assert sum(seen.sizes.values()) == proof.size and len(seen.tables) == sum(shard.tables for shard in seen.shards)
    assert {"extend_main", "lookup", "quotient", "query"} <= {one.round for one in seen.rounds}
    assert all(0 <= worker.clock_error < CLOCKS and worker.received for worker in seen.workers)
    check_trace(seen)


def check_trace(seen: Observation) -> None:
    """Check that each worker has rows of its own, in which nothing overlaps."""
    rows: dict[int, list[tuple[float, float]]] = {}
    for event in chrome_trace([seen])["traceEvents"]:
        if event["ph"] == "X" and event["cat"] in ("host", "shard"):
            rows.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    assert len(rows) == 2 * len(seen.workers) + 1  # two per worker, for shards and a thread; one for the client
    for spans in map(sorted, rows.values()):
        assert all(end <= start + 1 for (_, end), (start, _) in pairwise(spans))  # microseconds


def test_what_workers_see_is_one_observation(pair: Client, statement: Statement, proof: ShardedProof) -> None:
    await_both(pair)
    with observed() as seen:
        assert prove(statement, pair, parameters=FEW, shards=SINGLE) == proof
    check_seen(*seen, proof)
    assert len(seen[0].workers) == 2
    assert "Workers" in proof_page(seen[0]) and len(seen[0].to_json()["workers"]) == 2
    await_release(pair)


def test_two_proofs_at_once(pair: Client, statement: Statement, proof: ShardedProof) -> None:
    made = [in_background(lambda: prove(statement, pair, parameters=FEW, shards=SINGLE)) for _ in range(2)]
    assert [future.result(600) for future in made] == [proof, proof]
    await_release(pair)


def test_a_shard_that_does_not_hold_is_made_again_elsewhere(
    pair: Client, statement: Statement, proof: ShardedProof, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await_both(pair)
    seen, device = len(pair.get_events(BEGUN)), Once("gather", tmp_path / "wrong", WRONG)
    reports: list[tuple[int, int, str]] = []

    def tell(*progress: Any) -> None:
        reports.append(progress)

    assert prove(statement, pair, parameters=FEW, device=cast(Any, device), shards=SINGLE, progress=tell) == proof
    ((index, (first, second)),) = [(shard, by) for (shard, _), by in begun(pair, seen).items() if len(by) > 1]
    assert first != second and re.search(rf"shard {index}: .*, by {first}", caplog.text)
    assert f"shard {index} of 4: finish: recomputed from the beginning by {second}" in caplog.text
    assert reports[-1] == (8, 8, "") and (6, 8, f"head: shard {index} of 4: finish") in reports
    await_release(pair)


def test_a_statement_that_is_false_fails_once_it_is_made_twice(pair: Client, statement: Statement) -> None:
    await_both(pair)
    seen = len(pair.get_events(BEGUN))
    table = statement.tables[2]
    false = replace(table, main=np.asarray(table.main) ^ np.uint64(1))
    tables = [*statement.tables[:2], false, *statement.tables[3:]]
    with pytest.raises(VerificationError, match="shard 2: "):
        prove(Statement(tables), pair, parameters=FEW, shards=SINGLE)
    assert [len(by) for (_, task), by in sorted(begun(pair, seen).items()) if task == "finish"] == [1, 1, 2, 1]
    await_release(pair)


def test_refused_headers_are_committed_to_by_other_workers_once(pair: Client, statement: Statement) -> None:
    await_both(pair)
    seen, parts = len(pair.get_events(BEGUN)), prepare_shards(shards_of(statement, SINGLE), parameters=FEW).shards

    def refuse(headers: ShardedProof) -> Expected:
        assert [proof.payload for proof in headers.proofs] == [b""] * 4
        raise VerificationError("asked.run", "of another program")

    same = r"of another program, by tcp://.*; other workers' commitments are equal"
    with joining.joined(pair) as joined, ShardChecks(0) as checks, pytest.raises(VerificationError, match=same):
        prove_parts(joined, "refused", parts, "cpu", refuse, checks)
    attempts = begun(pair, seen)
    assert [len(attempts[shard, "commit"]) for shard in range(4)] == [2] * 4
    assert all(len(set(attempts[shard, "commit"])) == 2 for shard in range(4))
    assert [len(attempts[shard, "finish"]) for shard in range(4)] == [1] * 4
    await_release(pair)


@pytest.mark.parametrize(
    ("operation", "phase"),
    slow_after(2, [("extend", "commit"), ("gather", "finish"), ("lookup_columns", "finish"), ("quotient", "finish")]),
)
def test_a_worker_that_dies_loses_what_it_held(
    pair: Client,
    statement: Statement,
    proof: ShardedProof,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    operation: str,
    phase: str,
) -> None:
    await_both(pair)
    seen, before = len(pair.get_events(BEGUN)), set(pids(pair))
    device: Any = Once(operation, tmp_path / "dies", DIES)
    with observed() as observations:
        assert prove(statement, pair, parameters=FEW, device=device, shards=SINGLE) == proof
    check_seen(*observations, proof)  # of the attempts that count
    (dead,) = before - set(pids(pair))
    attempts = begun(pair, seen)
    lost = {shard for (shard, _), by in attempts.items() if by[0] == dead}
    assert lost != set(range(4)) and {shard for (shard, _), by in attempts.items() if len(by) > 1} <= lost
    (died,) = [shard for (shard, of), by in attempts.items() if of == phase and dead in by and len(by) > 1]
    assert f"shard {died} of 4: {phase}: lost its worker; reassigned to tcp://" in caplog.text
    reports = {int(shard) for shard in re.findall(r"shard (\d) of 4: \w+: lost its worker", caplog.text)}
    # Dask may recompute arrays of a finished shard, if they are lost before their release; that is not reported.
    assert reports <= {shard for (shard, _), by in attempts.items() if len(by) > 1}
    # Lost shards commit again first. Dask may have assigned other shards to any free worker, as they are small.
    anew = re.findall(r"shard (\d) of 4: finish: recomputed from the beginning", caplog.text)
    assert not reports & {int(shard) for shard in anew}
    await_release(pair)


@pytest.mark.parametrize("operation", slow_after(1, ROUNDS[2:] + ROUNDS[:2]))
def test_a_stopped_worker_loses_its_shards(
    pair: Client,
    statement: Statement,
    proof: ShardedProof,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    operation: str,
) -> None:
    """The proof goes on without it, in every round."""
    await_both(pair)
    marker = tmp_path / "stops"
    device: Any = Once(operation, marker, STOPS)
    try:
        with dask.config.set({settings.SILENCE: 2}):
            made = soon(pair, lambda: prove(statement, pair, parameters=FEW, device=device, shards=SINGLE))
        assert made == proof
        phase = "commit" if operation in ("load", "extend") else "finish"
        assert re.search(rf"shard \d of 4: {phase}: no response from tcp://\S+ for 2 s; reassigned", caplog.text)
    finally:
        os.kill(int(marker.read_text()), signal.SIGKILL)
    await_both(pair)


def test_a_worker_that_does_not_fit_may_join_between_the_phases(
    statement: Statement, proof: ShardedProof, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It joins after the first shard has committed, and before a shard is finished."""
    join, preload = (
        tmp_path / "join",
        """
        import asyncio, pathlib, graphprover
        graphprover.__version__ = "0.0"
        async def dask_setup(worker):
            while not pathlib.Path({!r}).exists():
                await asyncio.sleep(0.02)
    """,
    )
    with by_hand(tmp_path, [preload.format(str(join)), ""], present=1) as (client, _):

        def tell(ended: int, total: int, task: str) -> None:
            if task.endswith(": commit") and not join.exists():
                join.touch()
                until(lambda: len(present(client)) == 2)
                time.sleep(POLL_SECONDS)  # until the last poll is too old to be reused

        assert prove(statement, client, parameters=FEW, shards=SINGLE, progress=tell) == proof
        assert re.search(r"worker tcp://\S+: has graphprover 0\.0, .*; it gets no proof", caplog.text)


def test_what_a_stopped_worker_holds_is_not_waited_for(pair: Client, statement: Statement) -> None:
    """Another worker makes it, even if the scheduler has assigned the task to the stopped worker."""
    await_both(pair)
    prepared = prepare_shards(shards_of(statement, [[0, 1], [2, 3]]), parameters=FEW)
    requests = [
        ShardRequest(shard, ShardNumber(index, 2), "token", "cpu", 1) for index, shard in enumerate(prepared.shards)
    ]

    def commits(request: ShardRequest) -> ProvingTask:
        return ProvingTask(str(request.number), lambda: pack(request), function="commit", retain=True)

    with joining.joined(pair) as cluster, dask.config.set({settings.SILENCE: 3}):
        found = {result.task.name: result for result in cluster.run(map(commits, requests), "cpu")}
        committed, _ = results = [found[str(request.number)] for request in requests]
        holder = pids(pair)[committed.worker]
        joint = Joint(tuple(result.value.digest for result in results))
        nonce = joint_nonce(CpuDevice(1), joint, FEW)
        try:
            os.kill(holder, signal.SIGSTOP)
            task = ProvingTask(
                "finish",
                lambda: pack(requests[0], joint, nonce),
                function="finish",
                depends_on=(committed,),
                avoid=frozenset({committed.worker}),
            )
            (finished,) = soon(pair, lambda: list(cluster.run([task], "cpu")))
        finally:
            os.kill(holder, signal.SIGKILL)
        assert finished.error is None and finished.value.proof.payload and finished.worker != committed.worker
        for result in results:
            cluster.release(result)
    await_both(pair)


@pytest.mark.parametrize("ends", ["interrupted", "gone"])
def test_a_client_that_ends_leaves_nothing(pair: Client, statement: Statement, ends: str) -> None:
    await_both(pair)
    other = Client(pair.scheduler.address)

    def tell(ended: int, total: int, task: str) -> None:
        if ended == 3:
            if ends == "gone":
                other.close()
            raise KeyboardInterrupt

    with other, pytest.raises(KeyboardInterrupt):
        prove(statement, other, parameters=FEW, shards=SINGLE, progress=tell)
    await_release(pair)
