"""prove_many(): heaviest first, no input read before its job is sent, no job ends another; here or on a cluster."""

import gc
import pickle
import struct
import tracemalloc
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from graphprover import FileError, Job, Prover, VerificationError, prove_many
from graphprover.cluster import batching
from graphprover.cluster import client as joining
from graphprover.cluster.batch_check import ResultChecker
from graphprover.cluster.batching import PER_WORKER
from graphprover.cluster.tasks import BATCH_SECONDS, ProvingTask, TaskResult
from graphprover.device import DeviceLost
from graphprover.jobs.made import made
from graphprover.jobs.upcoming import IN_PROCESS
from graphprover.proving.executor import Local
from tests.cluster.processes import present, workers
from tests.jobs.test_jobs import SQUARES

GUEST = Path(__file__).parents[2] / "examples" / "guests" / "fib_iterative.elf"
TURNS = struct.pack("<Q", 300)


@pytest.fixture(scope="module")
def prover(tmp_path_factory: pytest.TempPathFactory) -> Prover:
    """Return a prover of a small table, which accepts any input."""
    path = tmp_path_factory.mktemp("program") / "squares.py"
    path.write_text(SQUARES)
    return Prover(path, security=20)


@pytest.fixture(scope="module")
def guest() -> Prover:
    return Prover(GUEST, security=20)


def test_the_heaviest_job_goes_first_and_its_input_is_read_then(
    prover: Prover, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, small, missing = (tmp_path / name for name in ("large", "small", "missing"))
    large.write_bytes(bytes(100))
    small.write_bytes(b"7")
    jobs = [prover.job(missing, "missing"), prover.job(small, "small"), prover.job(bytes(9), "9"), prover.job(large)]
    proof = prover.prove().to_bytes()
    monkeypatch.setattr(Local, "prove", lambda *_: (made(prover.job(existing=proof)), None))
    begun: list[str] = []

    def tell(job: Job, worker: str) -> None:
        begun.append(job.name)
        if job.data == large:
            small.write_bytes(bytes(1000))  # which changes no order any more

    results = list(prove_many(jobs, begun=tell))
    assert begun == ["", "9", "small", "missing"] == [result.job.name for result in results]
    assert all(result.kept and result.seconds and result.worker == "" for result in results)


def test_a_job_that_fails_ends_no_other(prover: Prover, guest: Prover, tmp_path: Path) -> None:
    jobs = [
        guest.job(TURNS + bytes(3), "a fault", limits={"max_cycles": 3}),
        guest.job(TURNS + bytes(2), "another exit code", exit_code=1),
        prover.job(TURNS, "good"),
        prover.job(tmp_path / "missing", "missing"),
    ]
    results = {result.job.name: result for result in prove_many(jobs, "sync", "cpu")}
    errors = {name: type(result.error).__name__ for name, result in results.items() if result.error}
    assert errors == {"a fault": "GuestFault", "another exit code": "OtherExitCode", "missing": "FileError"}
    assert all(result.proof is None and not result.seconds for result in results.values() if result.error)
    good = results["good"]
    assert good.proof == prover.prove(TURNS) and set(good.seconds) == {"prepare", "wait", "prove", "verify"}
    assert good.made and good.made.peak_bytes and (good.attempts, good.kept) == (1, False)


@pytest.mark.parametrize("end", [KeyboardInterrupt, DeviceLost("gone")])
def test_what_ends_the_process_or_its_device_ends_all(
    end: BaseException, prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ending(*arguments: object) -> None:
        raise end

    monkeypatch.setattr(Local, "prove", ending)
    with pytest.raises(type(end) if isinstance(end, DeviceLost) else KeyboardInterrupt):
        list(prove_many([prover.job(), prover.job()]))


def test_a_device_that_is_not_there_is_no_fault_of_a_job(prover: Prover) -> None:
    with pytest.raises(ValueError, match="device cuda:99"):
        list(prove_many([prover.job()], device="cuda:99"))
    with pytest.raises(ValueError, match="executor 'nobody'"):
        list(prove_many([prover.job()], "nobody"))


MANY = 5_000


class Counted:
    """Jobs of an iterator, and how many of them there were at the same time."""

    def __init__(self, prover: Prover) -> None:
        self.alive: weakref.WeakSet[Job] = weakref.WeakSet()
        self.most, self._prover = 0, prover

    def __iter__(self) -> Iterator[Job]:
        for number in range(MANY):
            self.alive.add(job := self._prover.job(b"", str(number)))
            self.most = max(self.most, len(self.alive))
            yield job


def traced(results: Iterator[Any]) -> int:
    """Take all results, and return the bytes by which this process has grown since the first tenth."""
    tracemalloc.start()
    try:
        for number, result in enumerate(results):
            assert result.error is None
            if number == MANY // 10:
                gc.collect()
                before, _ = tracemalloc.get_traced_memory()
        assert number == MANY - 1
        del result
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def test_thousands_of_jobs_take_no_more_memory_than_few(prover: Prover, monkeypatch: pytest.MonkeyPatch) -> None:
    found = made(prover.job())
    monkeypatch.setattr(Local, "prove", lambda *_: (found, None))
    jobs = Counted(prover)
    assert traced(prove_many(iter(jobs), device="cpu")) < 100_000
    assert jobs.most <= IN_PROCESS + 4


def test_thousands_of_jobs_on_a_cluster_take_no_more_memory_than_few(
    prover: Prover, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Streaming(FakeCluster):
        """Two tasks at a time."""

        def run(self, tasks: Any, device: object, begun: Any, more: Callable[[float], int]) -> Iterator[TaskResult]:
            running = deque[ProvingTask]()
            while more(1.0) or running:
                running += islice(tasks, 2 - len(running))
                for task in [running.popleft()] if running else []:
                    begun(task, "tcp://1")
                    (asked,) = pickle.loads(task.payload())
                    several = isinstance(asked.subject, list)
                    value = task.check([found] * len(asked.subject) if several else found, "tcp://1")
                    yield TaskResult(task, value, None, "tcp://1", 1)

    @contextmanager
    def joined(executor: Any, tasks: int | None, wait_for_all: bool) -> Iterator[FakeCluster]:
        assert tasks is None
        yield Streaming()

    found = replace(made(prover.job()), seconds={"prove": BATCH_SECONDS / 10})
    monkeypatch.setattr(joining, "joined", joined)
    monkeypatch.setattr(ResultChecker, "begin", lambda checker, job: None)
    monkeypatch.setattr(ResultChecker, "check", lambda checker, job, result: result)
    jobs = Counted(prover)
    assert traced(prove_many(iter(jobs), "tcp://here", "cpu")) < 200_000
    assert jobs.most <= PER_WORKER + 3 * 10 + 4  # tasks have ten jobs


def test_a_result_comes_before_the_next_job(prover: Prover) -> None:
    """As from a queue: no proof waits for a job that has not come, here or on a cluster."""
    asked: Queue[Job | None] = Queue()
    with workers(1) as client:
        for executor in ("sync", client):
            results = prove_many(iter(asked.get, None), executor, "cpu")
            for number in range(3):
                asked.put(prover.job(TURNS, str(number)))
                result = next(results)
                assert result.job.name == str(number) and result.proof
            asked.put(None)
            assert not list(results)


def test_an_iterator_that_fails_loses_no_result(prover: Prover) -> None:
    def failing() -> Iterator[Job]:
        yield prover.job(TURNS, "good")
        raise KeyError("of the caller")

    with workers(1) as client:
        for executor in ("sync", client):
            results = prove_many(failing(), executor, "cpu")
            assert next(results).proof
            with pytest.raises(KeyError, match="of the caller"):
                next(results)


def test_a_higher_priority_goes_first(prover: Prover, monkeypatch: pytest.MonkeyPatch) -> None:
    found = made(prover.job())
    monkeypatch.setattr(Local, "prove", lambda *_: (found, None))
    given = {"low": -1, "heavy": 0, "high": 7}
    jobs = [prover.job(bytes(9) if name == "heavy" else b"", name, priority=of) for name, of in given.items()]
    assert [one.job.name for one in prove_many([prover.job(b"", "plain"), *jobs])] == ["high", "heavy", "plain", "low"]


class FakeCluster:
    """A cluster that proves here, the last task first; it loses the second task after two attempts."""

    def __init__(self) -> None:
        self.weights: list[int] = []

    def workers(self, device: object) -> int:
        return 1

    def run(
        self,
        tasks: Iterable[ProvingTask],
        device: object,
        begun: Callable[[ProvingTask, str], None],
        more: Callable[[float], int],
    ) -> Iterator[TaskResult]:
        listed = list(tasks)
        self.weights = [task.weight for task in listed]
        for number, task in reversed(list(enumerate(listed))):
            begun(task, f"tcp://{number}")
            if number == 1:
                yield TaskResult(task, None, OSError("lost"), "tcp://1", 2)
                continue
            (asked,) = pickle.loads(task.payload())
            assert asked.device == device == "cpu" and asked.verify
            value = task.check(made(asked.subject, "threads", asked.device), f"tcp://{number}")
            yield TaskResult(task, value, None, f"tcp://{number}", 1)


def test_results_of_a_cluster_are_those_of_their_jobs(
    prover: Prover, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeCluster()

    @contextmanager
    def joined(executor: Any, tasks: int, wait_for_all: bool) -> Iterator[FakeCluster]:
        assert executor == "processes" and tasks == 3
        yield fake

    monkeypatch.setattr(joining, "joined", joined)
    monkeypatch.setattr(batching, "_seconds", {})  # so that each job is a task
    proof = prover.prove(TURNS)
    proof.save(tmp_path / "proof")
    (tmp_path / "input").write_bytes(TURNS)
    jobs = [
        prover.job(TURNS[:7], "lost"),
        prover.job(tmp_path / "input", "kept", existing=tmp_path / "proof"),
        prover.job(b"", "made"),
    ]
    begun: list[tuple[str, str]] = []
    results = list(prove_many(jobs, "processes", "cpu", lambda job, worker: begun.append((job.name, worker))))
    assert fake.weights == [8, 7, 0]
    assert begun == [("made", "tcp://2"), ("lost", "tcp://1"), ("kept", "tcp://0")]
    new, lost, kept = results
    assert [result.job.name for result in results] == ["made", "lost", "kept"]
    assert new.proof == prover.prove() and not new.kept and new.worker == "tcp://2"
    assert new.made and new.made.preprocessed_caps is None  # nothing of a worker's is a commitment to rely on
    assert isinstance(lost.error, OSError) and lost.proof is None and (lost.worker, lost.attempts) == ("tcp://1", 2)
    assert kept.proof == proof and kept.kept


def test_workers_run_the_programs(prover: Prover, guest: Prover, tmp_path: Path) -> None:
    """Give the same bytes on a real cluster, and report each error with its job."""
    with workers(1) as client:
        jobs = [prover.job(TURNS, "good"), guest.job(TURNS, "bad", exit_code=1), guest.job(tmp_path / "none", "none")]
        results = {result.job.name: result for result in prove_many(jobs, client, "cpu")}
        assert results["good"].proof == prover.prove(TURNS)
        assert results["good"].worker in present(client) and results["good"].attempts == 1
        assert isinstance(results["bad"].error, VerificationError) and isinstance(results["none"].error, FileError)
        remote = Prover(GUEST, security=20, executor=client)
        assert remote.prove(TURNS) == guest.prove(TURNS)
        with pytest.raises(VerificationError, match="exit code 0, not 1"):
            remote.prove(TURNS, exit_code=1)
