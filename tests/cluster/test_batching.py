"""Jobs of a batch that share a task: their choice, their results, and their proofs by a real worker."""

import struct
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import pytest

from graphprover import Prover, VerificationError, prove_many
from graphprover.cluster import ClusterError
from graphprover.cluster.batching import BatchTasks
from graphprover.cluster.client import joined
from graphprover.cluster.dispatcher import Dispatcher
from graphprover.cluster.messages import ProofRequest, pack
from graphprover.cluster.tasks import BATCH_SECONDS, BEGUN, ProvingTask, TaskResult
from graphprover.jobs.programs import ProgramError
from graphprover.jobs.upcoming import Upcoming
from tests.cluster.processes import present, until, workers

GUEST = Path(__file__).parents[2] / "examples" / "guests" / "fib_iterative.elf"
SMALL = BATCH_SECONDS / 4


class FakeProver:
    """A program."""


@dataclass(eq=False)
class FakeJob:
    prover: Any
    label: str
    weight: int = 0
    priority: int = 0
    timeout: float | None = None
    interrupt: Callable[[], None] | None = None
    log_fields: dict[str, str] = field(default_factory=dict)


@dataclass
class FakeMade:
    seconds: dict[str, float] = field(default_factory=lambda: {"prove": SMALL})


def taken_as_it_is(job: Any, result: Any) -> Any:
    """Accept every proof."""
    if not isinstance(result, FakeMade):
        raise VerificationError("worker.result", "no proof")
    return result


def jobs(count: int, prover: FakeProver | None = None) -> list[Any]:
    prover = prover or FakeProver()
    return [FakeJob(prover, f"job {number}") for number in range(count)]


def tasks_of(given: Iterable[Any], workers: int = 1) -> BatchTasks:
    """Return the tasks of jobs for some workers."""
    return BatchTasks(Upcoming(given), "cpu", lambda: workers, taken_as_it_is)


def names(batch: BatchTasks, task: ProvingTask) -> list[str]:
    return [job.label for job in batch.jobs(task)]


def ended(batch: BatchTasks, task: ProvingTask, value: Any, error: Exception | None = None) -> list[str]:
    """Return the names of the jobs that have ended with a result."""
    checked = None if error else task.check(value, "tcp://a")
    return [one.job.label for one in batch.results(TaskResult(task, checked, error, "tcp://a", 1))]


def test_a_task_has_the_log_fields_of_its_jobs() -> None:
    given = jobs(4)
    for number, job in enumerate(given):
        job.log_fields = {"job": f"id {number}"}
    batch = tasks_of(given)
    first = next(batch)
    assert first.log_fields == {"job": "id 0"}
    ended(batch, first, FakeMade())
    assert next(batch).log_fields == {"jobs": ["id 1", "id 2", "id 3"]}
    assert next(tasks_of(jobs(1))).log_fields == {}


def test_jobs_go_together_once_their_program_is_known_to_be_fast() -> None:
    batch = tasks_of(jobs(30))
    first, second = next(batch), next(batch)
    assert [names(batch, one) for one in (first, second)] == [["job 0"], ["job 1"]]
    assert (first.name, first.function) == ("job 0", "prove")
    assert ended(batch, first, FakeMade()) == ["job 0"]
    third = next(batch)
    assert names(batch, third) == ["job 2", "job 3", "job 4", "job 5"]
    assert (third.name, third.function) == ("job 2 and 3 more", "prove_in_turn")
    assert ended(batch, third, [FakeMade({"prepare": SMALL, "prove": SMALL})] * 4) == [f"job {n}" for n in range(2, 6)]
    assert len(names(batch, next(batch))) == 2  # which take twice as long, as the last has


def test_the_last_jobs_are_left_to_all_workers() -> None:
    batch = tasks_of(jobs(40), 4)
    assert ended(batch, next(batch), FakeMade({"prove": 0.001}))
    sizes = [len(names(batch, task)) for task in batch]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] == 39 // 8 and sum(sizes) == 39
    assert sizes[-8:] == [1] * 8


def test_a_slow_program_or_one_without_a_proof_goes_alone() -> None:
    slow, fast, new = (jobs(8) for _ in range(3))
    batch = tasks_of([slow[0], fast[0], *slow[1:], *fast[1:], *new])
    assert ended(batch, next(batch), FakeMade({"prove": 2 * BATCH_SECONDS}))
    assert ended(batch, next(batch), FakeMade())
    sizes = [len(names(batch, task)) for task in batch]
    assert sizes == [1] * 7 + [4, 3] + [1] * 8


def test_a_guess_is_kept_for_the_next_batch() -> None:
    prover = FakeProver()
    batch = tasks_of(jobs(1, prover))
    assert ended(batch, next(batch), FakeMade())
    for number, expected in ((1, [4, 4, 1]), (2, [2, 1, 1, 1, 1, 1, 1, 1])):
        after = tasks_of(jobs(9, prover), number)
        assert [len(names(after, task)) for task in after] == expected


def four_and_more() -> tuple[BatchTasks, ProvingTask]:
    batch = tasks_of(jobs(12))
    assert ended(batch, next(batch), FakeMade())
    return batch, next(batch)


def test_what_was_not_reached_comes_again_and_what_was_next_comes_alone() -> None:
    batch, task = four_and_more()
    assert names(batch, task) == ["job 1", "job 2", "job 3", "job 4"]
    rest = [name for one in batch for name in names(batch, one)]
    assert not any(batch) and rest == [f"job {number}" for number in range(5, 12)]
    assert ended(batch, task, [FakeMade()]) == ["job 1"]
    assert [names(batch, one) for one in batch] == [["job 2"], ["job 3", "job 4"]]


def test_jobs_of_which_nothing_is_known_all_come_alone() -> None:
    batch, task = four_and_more()
    assert ended(batch, task, None, ClusterError("its workers died")) == []
    assert [names(batch, next(batch)) for _ in range(4)] == [[f"job {number}"] for number in range(1, 5)]
    assert len(names(batch, next(batch))) > 1


def test_a_job_whose_proof_is_refused_comes_alone() -> None:
    batch, task = four_and_more()
    assert ended(batch, task, [FakeMade(), "no proof", FakeMade()]) == ["job 1", "job 3"]
    alone, rest = next(batch), next(batch)
    assert [names(batch, one) for one in (alone, rest)] == [["job 2"], ["job 4"]]
    with pytest.raises(VerificationError, match="no proof"):
        alone.check("no proof", "tcp://a")


def test_the_error_of_a_job_is_its_own() -> None:
    batch = tasks_of(jobs(1))
    task = next(batch)
    (found,) = batch.results(TaskResult(task, None, ProgramError("wrong"), "tcp://a", 2))
    assert found.job.label == "job 0" and found.made is None and isinstance(found.error, ProgramError)
    assert (found.worker, found.attempts) == ("tcp://a", 2)


def test_a_worker_makes_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them ends with another exit code. The bytes equal the bytes of single jobs."""
    monkeypatch.setattr("graphprover.cluster.batching.BATCH_SECONDS", 60.0)  # however slow this machine is
    guest = Prover(GUEST, security=20)
    runs = [guest.job(struct.pack("<Q", 5 + number), f"job {number}") for number in range(24)]
    runs[2] = guest.job(struct.pack("<Q", 5), "bad", exit_code=1)  # first of the first shared task: always reached
    begun: Counter[str] = Counter()
    with workers(1) as client:
        found = prove_many(runs, client, "cpu", lambda job, worker: begun.update([job.name]))
        results = {result.job.name: result for result in found}
        tasks = Counter(event["key"] for _, event in client.get_events(BEGUN))
    assert results.keys() == {run.name for run in runs} and len(tasks) < 16
    assert [name for name, result in results.items() if result.error] == ["bad"]
    assert isinstance(results["bad"].error, VerificationError) and begun["bad"] >= 2  # among others, then alone
    for number in (0, 3, 10, 23):
        assert results[f"job {number}"].proof == guest.prove(struct.pack("<Q", 5 + number))


def test_an_adaptive_cluster_grows_for_short_jobs_and_shrinks() -> None:
    """It grows before any worker is there, and again for jobs that come once their time is known."""
    guest = Prover(GUEST, security=20)
    runs = [guest.job(struct.pack("<Q", 5 + number), f"job {number}") for number in range(40)]
    with workers(0) as client:
        asked, scale = list[int](), client.cluster.scale
        client.cluster.scale = lambda number: asked.append(number) or scale(number)
        client.cluster.adapt(minimum=0, maximum=2, interval="200ms", wait_count=5)
        assert all(result.proof for result in prove_many(iter(runs), client, "cpu"))
        assert max(asked) == 2  # a worker that waits for a job may go again meanwhile
        until(lambda: not present(client), 120)


def test_the_scheduler_sees_enough_short_tasks_to_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no more of long ones, or of unknown ones, than two a worker."""
    monkeypatch.setattr("graphprover.cluster.batching._seconds", {})
    guest = Prover(GUEST, security=20)
    with workers(1) as client, joined(client) as cluster:
        cluster._workers.wait_for("cpu")
        for seconds, expected in ((inf, 2), (60.0, 2), (BATCH_SECONDS, 20)):
            job = guest.job(struct.pack("<Q", 5))
            tasks = [ProvingTask("job", lambda job=job: pack(ProofRequest(job, "cpu", False)), seconds=seconds)] * 30
            with closing(Dispatcher(client, cluster._workers, {}, "cpu", None, lambda seconds: 0)) as dispatcher:
                dispatcher._open_tasks(iter(tasks))
                assert len(dispatcher._open) == expected


def test_a_task_has_the_time_of_all_its_jobs_if_each_has_a_timeout() -> None:
    few = jobs(12)
    for job in few[:8]:
        job.timeout = 1.5
    batch = tasks_of(few)
    first = next(batch)
    assert first.timeout == 1.5 and first.seconds == inf
    assert ended(batch, first, FakeMade()) == ["job 0"]
    found = [(len(names(batch, task)), task.timeout, task.seconds) for task in batch]
    assert found == [(4, 6.0, 4 * SMALL), (4, None, 4 * SMALL), (3, None, 3 * SMALL)]


def test_priority_comes_before_weight_in_the_order_of_dask() -> None:
    tasks = [ProvingTask("", bytes, *given) for given in ((1 << 60,), (5,), (0,))]
    high, low = (ProvingTask("", bytes, 0, priority=priority) for priority in (1, -1))
    orders = [task.order for task in (high, *tasks, low)]
    assert orders == sorted(orders, reverse=True) and len(set(orders)) == 5
    assert ProvingTask("", bytes, 1 << 60, priority=1000).order < 1 << 63
