"""After any loss in a cluster, a proof has the same bytes, or ends in an error with the reason."""

import os
import re
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, Worker

from graphprover import Proof, Statement, VerificationError, observed, prove
from graphprover.cluster import ClusterError
from graphprover.cluster.client import joined
from graphprover.cluster.messages import ProofRequest, pack
from graphprover.cluster.tasks import BEGUN, ProvingTask, TaskResult
from graphprover.device import CpuDevice, DeviceLost
from graphprover.examples import memory, synthetic
from graphprover.prover.prepare import Prepared, prepare
from graphprover.runtime import settings
from tests.cluster.once import DIES, ROUNDS, STOPS, WRONG, Once
from tests.cluster.processes import by_hand, in_background, pids, present, proving, until
from tests.graphs.test_faults import BYTES
from tests.graphs.test_proof_graph import FEW, example
from tests.slow import slow_after

pytestmark = pytest.mark.usefixtures("patience")

LONG = synthetic.statement(14, 40, 8)  # a second or so


@pytest.fixture(scope="module")
def statement() -> Statement:
    return example(memory)


@pytest.fixture(scope="module")
def prepared(statement: Statement) -> Prepared:
    return prepare(statement, parameters=FEW)


@pytest.fixture(scope="module")
def proof(statement: Statement) -> Proof:
    return prove(statement, "sync", parameters=FEW, device=CpuDevice(1))


def await_both(pair: Client) -> None:
    """Wait until both workers fit."""

    def both_fit() -> bool:
        cluster._workers.refresh()
        return len(cluster._workers.fit("cpu")) == 2

    with joined(pair) as cluster:
        until(both_fit, 120)


def task(prepared: Prepared, device: Any = "cpu", name: str = "memory") -> ProvingTask:
    return ProvingTask(name, lambda: pack(ProofRequest(prepared, device, False)), log_fields={"job": "id"})


def proof_of(result: TaskResult) -> Proof:
    assert result.error is None and result.value is not None
    made: Proof = result.value.proof
    return made


@pytest.mark.parametrize("rounds", slow_after(1, [list(ROUNDS[::6]), list(ROUNDS)]), ids=["some", "all"])
def test_workers_killed_in_each_round(
    pair: Client, prepared: Prepared, proof: Proof, tmp_path: Path, rounds: Sequence[str]
) -> None:
    """Survive a death in each round; deaths count only for the running task: a task that kills four workers fails."""
    devices = [Once(operation, tmp_path / operation, DIES) for operation in rounds]
    begun: list[str] = []
    with joined(pair) as cluster:
        tasks = [task(prepared, device, device.operation) for device in devices]
        results = list(cluster.run(tasks, "cpu", lambda task, worker: begun.append(task.name)))
    assert sorted(result.task.name for result in results) == sorted(rounds)
    assert all(proof_of(result) == proof for result in results)
    assert all(result.attempts == begun.count(result.task.name) >= 2 for result in results)
    assert all(device.marker.exists() for device in devices)


def test_what_fails_is_tried_once_elsewhere(
    pair: Client, prepared: Prepared, proof: Proof, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begun: list[str] = []
    with joined(pair) as cluster:

        def result(device: Any) -> TaskResult:
            begun.clear()
            (ended,) = cluster.run([task(prepared, device)], "cpu", lambda task, worker: begun.append(worker))
            return ended

        await_both(pair)
        again = result(Once("quotient", tmp_path / "again", "RuntimeError"))
        assert proof_of(again) == proof
        assert len(set(begun)) == 2 and (again.worker, again.attempts) == (begun[1], 2)
        assert "prove-memory: failed (RuntimeError: once); it is retried" in caplog.text
        assert [vars(record)["job"] for record in caplog.records if "it is retried" in record.getMessage()] == ["id"]
        own = result(Once("quotient", tmp_path / "own", "ValueError"))
        assert isinstance(own.error, ValueError) and own.attempts == 1
        twice = result(FailsAlways())
        assert isinstance(twice.error, MemoryError) and BYTES in str(twice.error) and len(begun) == twice.attempts == 2


def test_a_value_that_its_check_refuses_is_tried_once_elsewhere(
    pair: Client, prepared: Prepared, caplog: pytest.LogCaptureFixture
) -> None:
    makers: list[str] = []

    def check(value: Any, worker: str) -> Any:
        makers.append(worker)
        raise errors[-1]

    errors: list[Exception] = [VerificationError("worker.result", "a wrong value")]
    await_both(pair)
    with joined(pair) as cluster:
        (twice,) = cluster.run([replace(task(prepared), check=check)], "cpu")
        first, second = makers
        assert first != second and (twice.worker, twice.attempts) == (second, 2)
        assert isinstance(twice.error, VerificationError) and str(twice.error) == f"a wrong value, by {second}"
        assert caplog.text.count(f"prove-memory: a wrong value, by {first}; it is retried") == 1
        errors.append(KeyError("of the client"))
        (own,) = cluster.run([replace(task(prepared), check=check)], "cpu")
        assert own.error is errors[-1] and own.attempts == 1 and len(makers) == 3


def test_a_proof_that_does_not_hold_is_made_once_more_elsewhere(
    pair: Client, statement: Statement, proof: Proof, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await_both(pair)
    seen = len(pair.get_events(BEGUN))
    wrong: Any = Once("gather", tmp_path / "wrong", WRONG)
    with observed() as observations:
        assert prove(statement, pair, parameters=FEW, device=wrong) == proof
    first, second = [event["worker"] for _, event in pair.get_events(BEGUN)[seen:]]
    assert first != second and re.search(rf"prove-\S+: .*, by {first}; it is retried", caplog.text)
    (seen_there,) = observations
    assert seen_there.worker == second
    (check,) = [stage for stage in seen_there.stages if stage.name == "verify"]
    assert not check.by_worker


def test_a_statement_that_is_false_fails_once_it_is_proved_twice(pair: Client, statement: Statement) -> None:
    await_both(pair)
    seen, table = len(pair.get_events(BEGUN)), statement.tables[0]
    false = replace(table, main=np.asarray(table.main) ^ np.uint64(1))
    with pytest.raises(VerificationError, match=r", by tcp://\S+") as raised:
        prove(Statement([false, *statement.tables[1:]]), pair, parameters=FEW)
    first, second = [event["worker"] for _, event in pair.get_events(BEGUN)[seen:]]
    assert first != second and str(raised.value).endswith(f", by {second}")


class Counted(Once):
    """A device that counts its operations, of which the first waits for the file ``marker``.go."""

    def __reduce__(self) -> Any:
        return Counted, (self.operation, self.marker, "")

    def __getattr__(self, operation: str) -> Any:
        method = getattr(self._cpu, operation)
        return self._happens(method) if operation in ROUNDS else method

    def _happens(self, method: Any) -> Any:
        def run(*arguments: Any) -> Any:
            with self.marker.open("a") as file:
                file.write("called\n")
            until(self.marker.with_suffix(".go").exists)
            return method(*arguments)

        return run


class GivenUp(Exception):
    """The reason of a client."""


@pytest.mark.parametrize("how", ["interrupted", "closed"])
def test_a_worker_ends_a_proof_that_its_client_has_given_up(
    pair: Client, prepared: Prepared, tmp_path: Path, how: str
) -> None:
    """It ends before the next operation of its device, and proves again then."""
    calls: Any = tmp_path / "calls"

    def interrupt() -> None:
        if calls.exists() and how == "interrupted":
            raise GivenUp

    def wanted(dask_worker: Any) -> int:
        return sum(task.state == "executing" for task in dask_worker.state.tasks.values())

    def running(dask_worker: Any) -> int:
        return len(dask_worker.state.executing)

    with joined(pair) as cluster:
        given = [replace(task(prepared, Counted("", calls, "")), interrupt=interrupt)]
        if how == "interrupted":
            (ended,) = cluster.run(given, "cpu")
            assert isinstance(ended.error, GivenUp)
        else:
            given.append(replace(task(prepared, name="another")))
            with closing(cluster.run(given, "cpu")) as results:
                assert next(results).task.name == "another"
                until(calls.exists)
        until(lambda: not sum(pair.run(wanted).values()))
        assert sum(pair.run(running).values()) == 1
        calls.with_suffix(".go").touch()
        until(lambda: not sum(pair.run(running).values()))
        assert calls.read_text() == "called\n"
        (after,) = cluster.run([task(prepared)], "cpu")
        assert after.value is not None


class FailsAlways(Once):
    """A device without memory for quotients."""

    def __init__(self) -> None:
        super().__init__("quotient", Path(), "")

    def __reduce__(self) -> Any:
        return FailsAlways, ()

    def _happens(self, method: Any) -> Any:
        def run(*arguments: Any) -> Any:
            raise MemoryError(BYTES)

        return run


def test_a_stopped_worker_loses_its_proof(
    pair: Client, prepared: Prepared, proof: Proof, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    marker = tmp_path / "stopped"
    with joined(pair) as cluster, dask.config.set({settings.SILENCE: 3}):
        try:
            first, *others = [
                Once("quotient", marker, STOPS),
                *["cpu"] * 6,
            ]
            tasks = [task(prepared, first, "stops"), *(task(prepared, other) for other in others)]
            results = list(cluster.run(tasks, "cpu"))
            assert all(proof_of(result) == proof for result in results) and len(results) == 7
            stopped = next(address for address, pid in pids_of(pair).items() if pid == int(marker.read_text()))
            assert "prove-stops: no response from tcp://" in caplog.text and "reassigned" in caplog.text
            (ended,) = [result for result in results if result.task.name == "stops"]
            assert ended.attempts == 2 and ended.worker != stopped
            made, checked = cluster.prove(prepared, "cpu", lambda proof: "checked")
            assert (made.proof, checked) == (proof, "checked")
            line = f"worker {stopped}: no heartbeat for 3 s: it has stopped or is overloaded; end it; it gets no proof"
            assert caplog.text.count(line) == 1
        finally:
            os.kill(int(marker.read_text()), signal.SIGKILL)
    until(lambda: stopped not in present(pair))


def pids_of(client: Client) -> dict[str, int]:
    """Return process ids by address; the nannies know them, also of stopped workers."""
    return {nanny.worker_address: nanny.pid for nanny in client.cluster.workers.values()}


def test_a_few_are_sent_at_a_time_and_what_is_not_wanted_is_taken_back(pair: Client, prepared: Prepared) -> None:
    sent: list[int] = []

    def payload(number: int) -> bytes:
        sent.append(number)
        return pack(ProofRequest(prepared, "cpu", False))

    tasks = (ProvingTask("memory", lambda number=number: payload(number)) for number in range(100))
    with joined(pair) as cluster, closing(cluster.run(tasks, "cpu")) as results:
        next(results)
        assert len(sent) <= 2 * 2
    until(lambda: not any(pair.processing().values()))
    assert not cluster._attempts


@pytest.mark.parametrize(("most", "graphs"), [(1 << 30, [4]), (0, [1, 1, 1, 1])])
def test_a_wave_is_one_graph_unless_it_is_large(
    pair: Client, prepared: Prepared, proof: Proof, monkeypatch: pytest.MonkeyPatch, most: int, graphs: list[int]
) -> None:
    await_both(pair)
    sent: list[int] = []

    def counted(function: Any, *arguments: Any, real: Any = pair.map, **options: Any) -> Any:
        sent.append(len(arguments[0]))
        return real(function, *arguments, **options)

    monkeypatch.setattr(pair, "map", counted)
    monkeypatch.setattr("graphprover.cluster.dispatcher.GRAPH_BYTES", most)
    with joined(pair) as cluster:
        results = list(cluster.run([task(prepared) for _ in range(4)], "cpu"))
    assert sent == graphs and [proof_of(result) for result in results] == [proof] * 4


def test_what_cannot_be_sent_fails_alone(pair: Client, prepared: Prepared, proof: Proof) -> None:
    def missing() -> bytes:
        raise FileNotFoundError("input")

    with joined(pair) as cluster:
        results = {
            result.task.name: result for result in cluster.run([ProvingTask("missing", missing), task(prepared)], "cpu")
        }
    assert isinstance(results["missing"].error, FileNotFoundError) and results["missing"].attempts == 0
    assert proof_of(results["memory"]) == proof


def test_proofs_outlive_all_workers(pair: Client) -> None:
    """The workers that start then get all of the proofs."""
    expected = prove(LONG, "sync", parameters=FEW)
    await_both(pair)
    proofs = [in_background(lambda: prove(LONG, pair, parameters=FEW)) for _ in range(3)]
    until(lambda: len(proving(pair)) == 2)
    for pid in pids(pair).values():
        os.kill(pid, signal.SIGKILL)
    assert all(future.result(600) == expected for future in proofs)


def lose_device() -> None:
    """Let proofs of this process lose their device."""
    from graphprover.cluster import metrics

    def lost(*arguments: object) -> None:
        raise DeviceLost("as a test wants it")

    metrics.made = lost  # type: ignore[assignment]


def test_a_lost_device_ends_its_worker_and_no_proof(pair: Client, prepared: Prepared, proof: Proof) -> None:
    await_both(pair)
    before = pids(pair)
    pair.run(lose_device)
    with joined(pair) as cluster:
        results = list(cluster.run([task(prepared) for _ in range(12)], "cpu"))
    assert all(proof_of(result) == proof for result in results) and len(results) == 12
    assert not set(before.values()) & set(pids(pair).values())


def cut(dask_worker: Worker) -> None:
    """Cut the connection to the scheduler."""
    dask_worker.batched_stream.comm.abort()


def test_a_worker_that_is_cut_off_loses_its_proof(tmp_path: Path) -> None:
    with by_hand(tmp_path, ["", ""]) as (client, _):
        prove(example(memory), client, parameters=FEW)
        proof = in_background(lambda: prove(LONG, client, parameters=FEW))
        until(lambda: bool(proving(client)))
        (address,) = proving(client)
        client.run(cut, workers=[address], on_error="ignore")
        until(lambda: address not in present(client))
        assert proof.result(600) == prove(LONG, "sync", parameters=FEW)


def test_a_scheduler_that_dies_is_reported(tmp_path: Path) -> None:
    with by_hand(tmp_path, [""]) as (client, scheduler):
        prove(example(memory), client, parameters=FEW)
        proof = in_background(lambda: prove(LONG, client))
        until(lambda: bool(proving(client)))
        started = time.monotonic()
        scheduler.kill()
        with pytest.raises(ClusterError, match="connection to the scheduler lost, and with it prove-"):
            proof.result(600)
        assert time.monotonic() - started < 60


def test_no_thread_is_left(pair: Client, statement: Statement, proof: Proof) -> None:
    await_both(pair)
    before = {thread.name for thread in threading.enumerate() if not thread.daemon}
    with Client(pair.scheduler.address) as client:
        assert prove(statement, client, parameters=FEW) == proof
    assert {thread.name for thread in threading.enumerate() if not thread.daemon} <= before | {"MainThread"}
