"""The queue of jobs in the database.

Each transition of a job is one statement that names the state before, and the prover process if it is a transition by
one. So a job ends exactly once: a prover process whose service has died, or whose job was cancelled, changes nothing.
"""

import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Engine,
    FromClause,
    Row,
    Update,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from graphprover.service.database import jobs
from graphprover.service.states import CANCELLED, DONE, ENDED, FAILED, OPEN, QUEUED, RUNNING, STATES

# Built once: the service looks a job up for each request of its status, and this takes twice as long as the look-up.
_OWN_JOB = select(jobs).where(jobs.c.id == bindparam("id"), jobs.c.owner == bindparam("owner"))

_BACK: dict[str, Any] = {"prover": None, "taken": None, "started": None, "worker": None, "progress": null()}


class QueueFull(Exception):
    """The queue has the most jobs that may wait, of all clients or of one."""


class KeyReused(Exception):
    """An idempotency key came with another job before."""


@dataclass(frozen=True)
class NewJob:
    """A job to submit."""

    owner: str
    request: str  # SHA-256 of the submitted job
    program: str
    program_name: str
    input: str | None
    name: str
    options: Mapping[str, Any]  # that decide the proof
    proof_key: str
    priority: int
    timeout: float | None
    callback: str | None
    idempotency_key: str | None = None


class Queue:
    """The jobs of a database. Threads and processes may share it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def submit(
        self, job: NewJob, most_queued: int, most_own: int | None = None, *, is_stored: bool = False
    ) -> tuple[Row[Any], bool]:
        """Add a job, and return it and whether it is new; a repeated idempotency key returns the job before.

        Args:
            job: The job.
            most_queued: How many jobs may wait.
            most_own: How many of them may be the owner's; None: all.
            is_stored: Whether the proof is in the store: then the job is done at once.

        Raises:
            KeyReused: The idempotency key came with another job.
            QueueFull: As many jobs wait; the message says whose.
        """
        if before := self._submitted(job):
            return before, False
        if not is_stored and self.count(QUEUED) >= most_queued:
            raise QueueFull(f"{most_queued:,} jobs wait already (--max-queued)")
        if not is_stored and most_own is not None and self.count(QUEUED, job.owner) >= most_own:
            raise QueueFull(f"{most_own:,} of your jobs wait already (--max-queued-per-client)")
        now = time.time()
        state = {"state": DONE, "started": now, "ended": now} if is_stored else {"state": QUEUED}
        values = {
            **vars(job),
            **state,
            "id": uuid.uuid4().hex,
            "created": now,
            "attempts": 0,
            "from_store": is_stored,
            "noticed": False,
            "callback_attempts": 0,
        }
        try:
            with self._engine.begin() as connection:
                return connection.execute(jobs.insert().values(values).returning(*jobs.c)).one(), True
        except IntegrityError:  # of another request at the same time
            if before := self._submitted(job):
                return before, False
            raise

    def _submitted(self, job: NewJob) -> Row[Any] | None:
        """Return the job with the same idempotency key; raise KeyReused if it is another one."""
        if job.idempotency_key is None:
            return None
        same = and_(jobs.c.owner == job.owner, jobs.c.idempotency_key == job.idempotency_key)
        with self._engine.connect() as connection:
            found = connection.execute(select(jobs).where(same)).one_or_none()
        if found and found.request != job.request:
            raise KeyReused
        return found

    def get(self, id: str, owner: str) -> Row[Any] | None:
        """Return an owner's job; None if there is none with this id."""
        with self._engine.connect() as connection:
            return connection.execute(_OWN_JOB, {"id": id, "owner": owner}).one_or_none()

    def newest(
        self,
        owner: str,
        state: str | None,
        limit: int,
        before: int | None = None,
        name: str | None = None,
        program: str | None = None,
    ) -> Sequence[Row[Any]]:
        """Return an owner's newest jobs.

        Args:
            owner: The owner.
            state: Only jobs in this state.
            limit: The most jobs.
            before: Only jobs that are older than the one with this number.
            name: Only jobs with this text in their names, in any case.
            program: Only jobs with this text in their program's name, in any case, or at the start of its hash.
        """
        conditions = [jobs.c.owner == owner]
        if state:
            conditions.append(jobs.c.state == state)
        if before is not None:
            conditions.append(jobs.c.number < before)
        if name:
            conditions.append(jobs.c.name.icontains(name, autoescape=True))
        if program:
            hashed = jobs.c.program.startswith(program.lower(), autoescape=True)
            conditions.append(jobs.c.program_name.icontains(program, autoescape=True) | hashed)
        with self._engine.connect() as connection:
            return connection.execute(select(jobs).where(*conditions).order_by(jobs.c.number.desc()).limit(limit)).all()

    def count(self, state: str, owner: str | None = None) -> int:
        """Return the number of jobs in a state, perhaps only of an owner."""
        conditions = [jobs.c.state == state, *([] if owner is None else [jobs.c.owner == owner])]
        with self._engine.connect() as connection:
            return connection.execute(select(func.count()).where(*conditions)).scalar_one()

    def counts(self, owner: str | None = None) -> dict[str, int]:
        """Return the number of jobs by state, perhaps only of an owner."""
        counting = select(jobs.c.state, func.count().label("number")).group_by(jobs.c.state)
        if owner is not None:
            counting = counting.where(jobs.c.owner == owner)
        with self._engine.connect() as connection:
            found = connection.execute(counting).all()
        return dict.fromkeys(STATES, 0) | {row.state: row.number for row in found}

    def before(self, job: Row[Any]) -> int:
        """Return how many jobs that wait are before a job that waits, in the order of `take`."""
        more, same = jobs.c.priority > job.priority, jobs.c.priority == job.priority
        first = or_(more, and_(same, jobs.c.number < job.number))
        with self._engine.connect() as connection:
            return connection.execute(select(func.count()).where(jobs.c.state == QUEUED, first)).scalar_one()

    def oldest_queued(self) -> float | None:
        """Return the time at which the oldest job that waits was created."""
        with self._engine.connect() as connection:
            return connection.execute(select(func.min(jobs.c.created)).where(jobs.c.state == QUEUED)).scalar()

    def cancel(self, id: str, owner: str) -> bool:
        """Cancel a job that has not ended; return whether it was one."""
        return self._changed(
            update(jobs)
            .where(jobs.c.id == id, jobs.c.owner == owner, jobs.c.state.in_(OPEN))
            .values(state=CANCELLED, ended=time.time())
        )

    def take(self, prover: str) -> Row[Any] | None:
        """Give the next job to a prover process, and return it; None if no job waits.

        It is the oldest one of the highest priority. A job whose proof is being made for another job waits for that
        proof, which it then finds in the store.
        """
        other = jobs.alias()
        in_work = exists().where(
            other.c.proof_key == jobs.c.proof_key, other.c.prover.is_not(None), other.c.state.in_(OPEN)
        )
        waits = and_(jobs.c.state == QUEUED, jobs.c.prover.is_(None))
        first = select(jobs.c.number).where(waits, ~in_work).order_by(jobs.c.priority.desc(), jobs.c.number).limit(1)
        with self._engine.connect() as connection:  # a reader does not wait for writers
            number = connection.execute(first).scalar()
        if number is None:
            return None
        taking = update(jobs).where(jobs.c.number == number, waits).values(prover=prover, taken=time.time())
        with self._engine.begin() as connection:
            return connection.execute(taking.returning(*jobs.c)).one_or_none()

    def begin(self, number: int, prover: str, worker: str) -> bool:
        """Record that a prover process, or its worker, starts a job; return whether the job is still wanted."""
        own = and_(jobs.c.number == number, jobs.c.prover == prover)
        by = worker or None
        first = update(jobs).where(own, jobs.c.state == QUEUED)
        started = first.values(state=RUNNING, attempts=jobs.c.attempts + 1, started=time.time(), worker=by)
        again = update(jobs).where(own, jobs.c.state == RUNNING).values(worker=by)
        return self._changed(started) or self._changed(again)

    def set_progress(self, number: int, prover: str, progress: Mapping[str, Any]) -> None:
        """Record the progress of a job."""
        running = and_(jobs.c.number == number, jobs.c.prover == prover, jobs.c.state == RUNNING)
        self._changed(update(jobs).where(running).values(progress=progress))

    def finish(self, number: int, prover: str, *, from_store: bool = False) -> bool:
        """End a job whose proof is in the store; return whether this prover process still had it."""
        return self._changed(self._end(number, prover).values(state=DONE, from_store=from_store))

    def fail(self, number: int, prover: str, problem: str) -> bool:
        """End a job with an error; return whether this prover process still had it."""
        return self._changed(self._end(number, prover).values(state=FAILED, problem=problem))

    def put_back(self, number: int, prover: str) -> bool:
        """Queue a job again whose proof could not be stored; the attempt does not count."""
        had = and_(jobs.c.number == number, jobs.c.prover == prover, jobs.c.state == RUNNING)
        return self._changed(update(jobs).where(had).values(state=QUEUED, attempts=jobs.c.attempts - 1, **_BACK))

    def _end(self, number: int, prover: str) -> Update:
        had = and_(jobs.c.number == number, jobs.c.prover == prover, jobs.c.state.in_(OPEN))
        return update(jobs).where(had).values(ended=time.time(), progress=null())

    def cancelled(self, prover: str, among: Collection[int]) -> set[int]:
        """Return the numbers of jobs that were cancelled while a prover process had them."""
        lost = select(jobs.c.number).where(jobs.c.number.in_(among), jobs.c.state == CANCELLED, jobs.c.prover == prover)
        with self._engine.connect() as connection:
            return set(connection.execute(lost).scalars())

    def release(self, most_attempts: int, *, crashed: bool) -> int:
        """Return all jobs of prover processes to the queue; call it only if there is no prover process.

        Args:
            most_attempts: A job that has started as often, and has not ended, fails.
            crashed: Whether the prover process has died. Otherwise the attempts do not count.

        Returns:
            How many jobs were running and are queued again.
        """
        running = update(jobs).where(jobs.c.state == RUNNING)
        problem = f"the prover process died {most_attempts} times while it proved this job"
        with self._engine.begin() as connection:
            if crashed:
                too_often = running.where(jobs.c.attempts >= most_attempts)
                connection.execute(too_often.values(state=FAILED, ended=time.time(), problem=problem, progress=null()))
            attempts = jobs.c.attempts if crashed else jobs.c.attempts - 1
            again = connection.execute(running.values(state=QUEUED, attempts=attempts, **_BACK)).rowcount
            connection.execute(update(jobs).where(jobs.c.state == QUEUED, jobs.c.prover.is_not(None)).values(_BACK))
        return again

    def notice(self, limit: int = 100) -> Sequence[Row[Any]]:
        """Return jobs that have ended and were not returned before; from now on their callbacks are due."""
        now = time.time()
        new = (
            select(jobs.c.number).where(~jobs.c.noticed, jobs.c.ended.is_not(None)).order_by(jobs.c.ended).limit(limit)
        )
        with self._engine.connect() as connection:
            numbers = connection.execute(new).scalars().all()
        if not numbers:
            return []
        due = case((jobs.c.callback.is_not(None), now), else_=null())
        noticing = update(jobs).where(jobs.c.number.in_(numbers), ~jobs.c.noticed)
        with self._engine.begin() as connection:
            found = connection.execute(noticing.values(noticed=True, callback_next=due).returning(*jobs.c)).all()
        return sorted(found, key=lambda row: row.ended)

    def due_callbacks(
        self, limit: int, without: Collection[int] = (), without_owners: Collection[str] = ()
    ) -> Sequence[Row[Any]]:
        """Return jobs whose callback is due, the ones that wait longest first.

        Args:
            limit: The most jobs.
            without: Numbers of jobs to omit.
            without_owners: Owners whose jobs to omit.
        """
        wanted = [jobs.c.number.not_in(without), jobs.c.owner.not_in(without_owners)]
        due = select(jobs).where(jobs.c.callback_next <= time.time(), *wanted).order_by(jobs.c.callback_next)
        with self._engine.connect() as connection:
            return connection.execute(due.limit(limit)).all()

    def called_back(self, number: int, next: float | None) -> None:
        """Record an attempt of a callback.

        Args:
            number: Of the job.
            next: The time of the next attempt; None if there is none.
        """
        attempts = jobs.c.callback_attempts + 1
        self._changed(
            update(jobs).where(jobs.c.number == number).values(callback_attempts=attempts, callback_next=next)
        )

    def old_proofs(self, before: float) -> Sequence[str]:
        """Return the keys of at most 1,000 proofs that only jobs which ended before a time have."""
        old = select(jobs.c.proof_key).where(_is_old(jobs, before), ~_has_younger(before)).distinct().limit(1000)
        with self._engine.connect() as connection:
            return connection.execute(old).scalars().all()

    def remove_old(self, before: float, removed: Collection[str]) -> int:
        """Remove jobs that ended before a time, and return their number.

        Args:
            before: The time.
            removed: The keys of proofs that are no longer in the store. A job with another proof is only removed if a
                younger job has the proof, too.
        """
        gone = jobs.c.proof_key.in_(removed) | _has_younger(before)
        with self._engine.begin() as connection:
            return connection.execute(delete(jobs).where(_is_old(jobs, before), gone)).rowcount

    def _changed(self, statement: Update) -> bool:
        with self._engine.begin() as connection:
            return connection.execute(statement).rowcount == 1


def _is_old(table: FromClause, before: float) -> ColumnElement[bool]:
    """Return the condition that a job ended before a time, and that nothing is left to do for it."""
    own = table.c
    return and_(own.state.in_(ENDED), own.noticed, own.callback_next.is_(None), own.ended < before)


def _has_younger(before: float) -> ColumnElement[bool]:
    """Return the condition that a job which is not old has the same proof."""
    other = jobs.alias()
    return exists().where(other.c.proof_key == jobs.c.proof_key, ~_is_old(other, before))
