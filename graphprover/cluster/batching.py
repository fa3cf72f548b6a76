"""Groups the jobs of a batch into tasks: one job, or several small ones.

A task costs client, scheduler and worker some milliseconds of Python each. That is up to 10 % of a small proof, and
limits how many GPUs one client can serve.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

from graphprover.cluster.messages import ProofRequest, pack
from graphprover.cluster.results import expect_type
from graphprover.cluster.tasks import BATCH_SECONDS, ProvingTask, TaskResult
from graphprover.device import Device
from graphprover.jobs.job import Job
from graphprover.jobs.recipe import Recipe
from graphprover.jobs.result import Result
from graphprover.jobs.upcoming import Upcoming
from graphprover.protocol.errors import VerificationError
from graphprover.prover.made import Made
from graphprover.telemetry.subscribe import observing

Check = Callable[[Job, Any], Made]  # checks a worker's result for a job; raises VerificationError

# Jobs of an iterator that wait for each worker at most: enough for two tasks of the shortest proofs, since the shortest
# proof takes some 20 ms.
PER_WORKER = 64

_log = logging.getLogger(__name__)  # warnings go to stderr by default

_seconds: WeakKeyDictionary[Recipe, float] = WeakKeyDictionary()  # of the last proof of each program


class BatchTasks(Iterator[ProvingTask]):
    """The tasks of a batch, each formed when a worker needs one.

    The time of a job is estimated by the last proof of its program, also of another batch. A job of a program without a
    proof has a task of its own. A task is estimated at BATCH_SECONDS at most. With several workers it has at most
    1/(2 workers) of the jobs that wait, because each worker may have two tasks. The iterator ends if no job waits, and
    goes on once one has come, or `results` has returned one to it.

    Args:
        upcoming: The jobs.
        device: Device of the workers.
        workers: Returns how many workers there are.
        check: Checks the result of a job.
    """

    def __init__(self, upcoming: Upcoming, device: Device | str, workers: Callable[[], int], check: Check) -> None:
        self._upcoming = upcoming
        self._returned = deque[Job]()  # which are next
        self._alone = deque[Job]()  # jobs that get a task of their own
        self._device, self._workers, self._observe = device, workers, observing()
        self._jobs: dict[ProvingTask, list[Job]] = {}
        self._check = check

    def __next__(self) -> ProvingTask:
        if self._alone:
            return self._task([self._alone.popleft()])
        workers, left = self._workers(), BATCH_SECONDS
        self._upcoming.read_ahead(PER_WORKER * workers)
        waiting = self._waiting()
        first = self._next_job()
        if not first:
            raise StopIteration
        most = waiting if workers == 1 else waiting // (2 * workers)
        group = [first]
        left -= _estimate(first)
        while len(group) < most and left > 0 and (job := self._next_job()):
            if (left := left - _estimate(job)) < 0:
                self._returned.appendleft(job)
            else:
                group.append(job)
        return self._task(group)

    def more(self, seconds: float = 0) -> int:
        """Return how many jobs wait for a task; 0 if none will come, and 1 if some may come.

        Args:
            seconds: How long to wait for a job at most; 0 if tasks run.

        Raises:
            Exception: The exception of an iterator of jobs, if the caller waits.
        """
        if seconds and not self._waiting():
            self._upcoming.wait(seconds)
        return self._waiting() or int(not self._upcoming.has_ended())

    def _waiting(self) -> int:
        return len(self._alone) + len(self._returned) + len(self._upcoming)

    def _next_job(self) -> Job | None:
        job: Job | None = self._returned.popleft() if self._returned else self._upcoming.take_waiting()
        return job

    def jobs(self, task: ProvingTask) -> list[Job]:
        """Return the jobs of a task, in their order."""
        return self._jobs[task]

    def results(self, result: TaskResult) -> Iterator[Result]:
        """Yield the results of the jobs of a task; jobs without a result are retried.

        The first of those gets a task of its own, as it may be the cause, and so does each whose proof is refused. If
        no job has a result, each gets one.
        """
        jobs, worker, attempts = self._jobs.pop(result.task), result.worker, result.attempts
        if len(jobs) == 1 and result.error:
            yield Result(jobs[0], None, result.error, worker, attempts)
            return
        found: list[Made | Exception] = result.value or []
        for job, made in zip(jobs, found, strict=False):
            if isinstance(made, VerificationError):
                said = "graphprover: prove-%s: %s, by %s; it is retried"
                _log.warning(said, job.label, made, worker, extra=dict(job.log_fields))
                self._alone.append(job)
            elif isinstance(made, Exception):
                yield Result(job, None, made, worker, attempts)
            else:
                _seconds[job.prover] = sum(made.seconds.values())
                yield Result(job, made, None, worker, attempts)
        rest = jobs[len(found) :]
        alone = len(rest) if result.error else 1
        self._alone.extend(rest[:alone])
        self._returned.extendleft(reversed(rest[alone:]))

    def _checked(self, group: list[Job], value: Any) -> list[Made | Exception]:
        """Return the results of a task's jobs, or the errors of their checks.

        Raises:
            VerificationError: If the only proof fails its check, or a worker returns no list for several.
        """
        if len(group) == 1:
            return [self._check(group[0], value)]
        found: list[Made | Exception] = []
        for job, made in zip(group, expect_type(value, list), strict=False):
            try:
                found.append(self._check(job, made))
            except Exception as error:  # also of the run in this process
                found.append(error)
        return found

    def _task(self, group: list[Job]) -> ProvingTask:
        first = group[0]
        name, function = first.label, "prove"
        subject: Job | list[Job] = first
        if more := len(group) - 1:
            name, subject, function = f"{name} and {more} more", group, "prove_in_turn"
        given = [job.timeout for job in group if job.timeout is not None]
        task = ProvingTask(
            name,
            partial(pack, ProofRequest(subject, self._device, self._observe)),
            first.weight,
            function,
            lambda value, worker: self._checked(group, value),
            priority=first.priority,
            seconds=sum(map(_estimate, group)),
            timeout=sum(given) if len(given) == len(group) else None,
            interrupt=None if more else first.interrupt,
            log_fields=_log_fields(group),
        )
        self._jobs[task] = group
        return task


def _log_fields(group: list[Job]) -> dict[str, object]:
    """Return the fields of log lines about a task: of its only job, or lists of values if it has several."""
    if len(group) == 1:
        return dict(group[0].log_fields)
    return {f"{name}s": [job.log_fields[name] for job in group] for name in group[0].log_fields}


def _estimate(job: Job) -> float:
    """Return the estimated seconds of a job; infinity if its program has no proof yet."""
    return _seconds.get(job.prover, inf)
