"""The queue: order, transitions that happen once, restarts, idempotency, and the removal of old jobs."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, text, update

from graphprover.service.database import connect, jobs
from graphprover.service.queue import KeyReused, NewJob, Queue, QueueFull
from graphprover.service.states import CANCELLED, DONE, FAILED, QUEUED, RUNNING

MOST = 1000  # jobs that wait
ATTEMPTS = 3

_numbers = count()


def new(**fields: Any) -> NewJob:
    """Return a job with a proof of its own."""
    number = str(next(_numbers))
    return replace(NewJob("alice", "request", "program", "guest", None, "job", {}, number, 0, None, None), **fields)


def submit(queue: Queue, **fields: Any) -> Any:
    return queue.submit(new(**fields), MOST)[0]


def started(queue: Queue, prover: str = "one") -> Any:
    """Return a job that runs."""
    row = queue.take(prover)
    assert row and queue.begin(row.number, prover, "")
    return row


def state(queue: Queue, row: Any) -> str:
    found = queue.get(row.id, row.owner)
    assert found
    return str(found.state)


def test_the_highest_priority_is_next_and_of_equal_ones_the_oldest(queue: Queue) -> None:
    rows = [submit(queue, priority=priority) for priority in (0, 5, -5, 5, 0)]
    taken = [queue.take("one") for _ in rows]
    assert [row.number for row in taken if row] == [rows[index].number for index in (1, 3, 0, 4, 2)]
    assert queue.take("one") is None


def test_each_job_is_taken_once(queue: Queue) -> None:
    rows = [submit(queue) for _ in range(40)]

    def take_all(prover: str) -> list[int]:
        found = []
        while queue.counts()[QUEUED] and len(found) < 100:
            if row := queue.take(prover):
                found.append(row.number)
            elif not any(each.prover is None for each in queue.newest("alice", QUEUED, 100)):
                break
        return found

    with ThreadPoolExecutor(4) as pool:
        taken = Counter(number for found in pool.map(take_all, "abcd") for number in found)
    assert taken == Counter(row.number for row in rows)


def test_a_job_runs_and_ends_once(queue: Queue) -> None:
    row = submit(queue)
    assert state(queue, row) == QUEUED
    started(queue)
    assert state(queue, row) == RUNNING
    assert queue.begin(row.number, "one", "another worker")  # of a cluster, after the death of the first
    assert queue.finish(row.number, "one") and state(queue, row) == DONE
    assert not queue.finish(row.number, "one") and not queue.fail(row.number, "one", "late")
    assert not queue.begin(row.number, "one", "late") and not queue.cancel(row.id, "alice")
    found = queue.get(row.id, "alice")
    assert found and (found.state, found.problem, found.attempts) == (DONE, None, 1)


def test_only_the_prover_that_has_a_job_ends_it(queue: Queue) -> None:
    row = submit(queue)
    started(queue, "one")
    for late in (
        queue.finish(row.number, "two"),
        queue.fail(row.number, "two", ""),
        queue.begin(row.number, "two", ""),
    ):
        assert not late
    queue.release(ATTEMPTS, crashed=True)  # the service was killed; the first prover process may still be there
    started(queue, "two")
    assert not queue.finish(row.number, "one") and state(queue, row) == RUNNING
    queue.set_progress(row.number, "one", {"tasks": 1})
    found = queue.get(row.id, "alice")
    assert found and found.progress is None
    assert queue.finish(row.number, "two")


def test_a_cancelled_job_stays_cancelled(queue: Queue) -> None:
    waiting, running = submit(queue), submit(queue, priority=1)
    started(queue)
    assert not queue.cancel(running.id, "bob")  # of another owner
    assert queue.cancel(waiting.id, "alice") and queue.cancel(running.id, "alice")
    assert queue.cancelled("one", [running.number, waiting.number]) == {running.number}
    assert not queue.finish(running.number, "one") and queue.take("one") is None
    queue.release(ATTEMPTS, crashed=True)
    assert state(queue, running) == state(queue, waiting) == CANCELLED


def test_a_cancelled_job_that_was_taken_does_not_begin(queue: Queue) -> None:
    row = submit(queue)
    queue.take("one")
    queue.cancel(row.id, "alice")
    assert not queue.begin(row.number, "one", "") and state(queue, row) == CANCELLED


def test_a_restart_queues_running_jobs_again_and_counts_crashes(queue: Queue) -> None:
    running, taken = submit(queue, priority=1), submit(queue)
    for attempt in range(1, ATTEMPTS + 1):
        assert started(queue).number == running.number
        assert queue.take("one").number == taken.number  # type: ignore[union-attr]
        assert queue.release(ATTEMPTS, crashed=True) == (attempt < ATTEMPTS)
        found = queue.get(running.id, "alice")
        assert found and found.attempts == attempt
    assert found.state == FAILED and found.problem == "the prover process died 3 times while it proved this job"
    assert state(queue, taken) == QUEUED  # it had not begun
    assert started(queue).number == taken.number


def test_an_orderly_end_counts_no_attempt(queue: Queue) -> None:
    row = submit(queue)
    for _ in range(2 * ATTEMPTS):
        started(queue)
        assert queue.release(ATTEMPTS, crashed=False) == 1
    found = queue.get(row.id, "alice")
    assert found and (found.state, found.attempts, found.prover) == (QUEUED, 0, None)


def test_a_job_whose_proof_is_not_stored_waits_again(queue: Queue) -> None:
    row = submit(queue)
    started(queue)
    assert not queue.put_back(row.number, "two") and queue.put_back(row.number, "one")
    assert not queue.finish(row.number, "one") and not queue.put_back(row.number, "one")
    found = started(queue, "two")
    assert found.number == row.number and found.attempts == 0
    queue.cancel(row.id, "alice")
    assert not queue.put_back(row.number, "two") and state(queue, row) == CANCELLED


def test_a_job_waits_for_the_same_proof_of_another_job(queue: Queue) -> None:
    first, second, other = (submit(queue, proof_key=key) for key in ("same", "same", "other"))
    assert [started(queue).number for _ in range(2)] == [first.number, other.number]
    assert queue.take("one") is None
    queue.finish(first.number, "one")
    assert queue.take("one").number == second.number  # type: ignore[union-attr]


def test_an_idempotency_key_is_of_one_job(queue: Queue) -> None:
    job = new(idempotency_key="key")
    row, is_new = queue.submit(job, MOST)
    assert is_new and queue.submit(job, 0) == (queue.get(row.id, "alice"), False)  # the queue may be full by now
    with pytest.raises(KeyReused):
        queue.submit(replace(job, request="other"), MOST)
    assert queue.submit(replace(job, owner="bob", request="other"), MOST)[1]  # the key of another token


def test_simultaneous_submissions_with_a_key_make_one_job(queue: Queue) -> None:
    job, barrier = new(idempotency_key="key"), threading.Barrier(8)

    def at_once(_: int) -> tuple[str, bool]:
        barrier.wait()
        row, is_new = queue.submit(job, MOST)
        return row.id, is_new

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(at_once, range(8)))
    assert len({id for id, _ in found}) == 1 and sum(is_new for _, is_new in found) == 1


def test_a_full_queue_refuses_jobs_without_a_proof(queue: Queue) -> None:
    queue.submit(new(), 1)
    with pytest.raises(QueueFull):
        queue.submit(new(), 1)
    row, _ = queue.submit(new(), 1, is_stored=True)
    assert (row.state, row.from_store) == (DONE, True) and row.ended
    started(queue)
    assert queue.submit(new(), 1)  # the running job does not wait


def test_the_end_of_a_job_is_noticed_once_and_its_callback_is_due(queue: Queue) -> None:
    called, silent = submit(queue, callback="http://host"), submit(queue)
    queue.cancel(called.id, "alice")
    queue.cancel(silent.id, "alice")
    assert not queue.due_callbacks(10)
    assert [row.number for row in queue.notice()] == [called.number, silent.number] and not queue.notice()
    (due,) = queue.due_callbacks(10)
    assert due.number == called.number
    queue.called_back(due.number, time.time() + 100)
    assert not queue.due_callbacks(10)
    queue.called_back(due.number, None)
    found = queue.get(called.id, "alice")
    assert found and (found.callback_attempts, found.callback_next) == (2, None)


def test_owners_see_their_own_jobs_newest_first(queue: Queue) -> None:
    mine = [submit(queue) for _ in range(3)]
    theirs = submit(queue, owner="bob")
    assert queue.get(theirs.id, "alice") is None
    assert [row.number for row in queue.newest("alice", None, 2)] == [mine[2].number, mine[1].number]
    assert [row.number for row in queue.newest("alice", QUEUED, 9, mine[1].number)] == [mine[0].number]
    assert not queue.newest("alice", DONE, 9)


def test_a_list_has_only_the_jobs_that_it_is_asked_for(queue: Queue) -> None:
    first = submit(queue, name="Nightly 100%", program="ab12", program_name="sha256.elf")
    second = submit(queue, name="nightly 1000", program="cd34", program_name="fib.elf")
    queue.cancel(second.id, "alice")

    def found(**only: Any) -> list[int]:
        return [row.number for row in queue.newest("alice", only.pop("state", None), 9, **only)]

    assert found(name="NIGHTLY") == [second.number, first.number] and found(name="0%") == [first.number]
    assert found(program="fib") == found(program="CD3") == [second.number] and not found(program="d34")
    assert found(name="nightly", state=QUEUED) == [first.number] and not found(name="nightly", program="none")


@pytest.mark.parametrize("is_old", [False, True])
def test_no_list_reads_all_jobs(tmp_path: Path, is_old: bool) -> None:
    """Lists and counts of an owner use an index, which a database of an older version gets."""
    url = f"sqlite:///{tmp_path}/queue.db"
    if is_old:
        with connect(url).begin() as connection:
            connection.execute(text("DROP INDEX jobs_of_owner"))
    engine, plans = connect(url), []

    def explained(connection: Any, cursor: Any, statement: str, values: Any, *more: object) -> None:
        plans.append(
            " ".join(row[3] for row in connection.connection.execute(f"EXPLAIN QUERY PLAN {statement}", values))
        )

    event.listen(engine, "before_cursor_execute", explained)
    queue = Queue(engine)
    queue.newest("alice", None, 100)
    queue.newest("alice", FAILED, 100, before=50, name="a", program="b")
    assert [plan.count("jobs_of_owner") for plan in plans] == [1, 1] and "TEMP B-TREE" not in " ".join(plans)
    queue.counts("alice")
    assert "COVERING INDEX jobs_of_owner" in plans[-1]


def test_a_job_that_waits_has_a_place(queue: Queue) -> None:
    rows = [submit(queue, priority=priority, owner=owner) for priority, owner in ((0, "alice"), (5, "bob"), (0, "bob"))]
    assert [queue.before(row) for row in rows] == [1, 0, 2]
    queue.cancel(rows[1].id, "bob")
    assert [queue.before(row) for row in (rows[0], rows[2])] == [0, 1]


def test_old_jobs_are_removed_with_proofs_that_no_other_job_has(queue: Queue, engine: Engine) -> None:
    now = time.time()
    old, shared, young = (submit(queue, proof_key=key) for key in ("old", "shared", "shared"))
    waiting, unnoticed = submit(queue, proof_key="waiting"), submit(queue, proof_key="unnoticed")
    for row in (old, shared, young):
        queue.cancel(row.id, "alice")
    queue.notice()
    queue.cancel(unnoticed.id, "alice")
    with engine.begin() as connection:
        ids = [old.id, shared.id, unnoticed.id]
        connection.execute(update(jobs).where(jobs.c.id.in_(ids)).values(ended=now - 100))
        connection.execute(update(jobs).where(jobs.c.id == waiting.id).values(created=now - 100))
    assert queue.old_proofs(now - 50) == ["old"]
    assert queue.remove_old(now - 50, ()) == 1  # `shared`; the proof of `old` is still in the store
    assert queue.remove_old(now - 50, ["old"]) == 1
    assert {row.id for row in queue.newest("alice", None, 9)} == {young.id, waiting.id, unnoticed.id}


def test_counts(queue: Queue) -> None:
    assert queue.oldest_queued() is None
    first = submit(queue)
    submit(queue)
    started(queue)
    assert queue.counts() == {QUEUED: 1, RUNNING: 1, DONE: 0, FAILED: 0, CANCELLED: 0}
    assert (queue.oldest_queued() or 0) >= first.created
    submit(queue, owner="bob")
    assert queue.counts("bob") == {QUEUED: 1, RUNNING: 0, DONE: 0, FAILED: 0, CANCELLED: 0}
