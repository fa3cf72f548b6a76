"""Groups the jobs of a batch into tasks: one job, or several small ones.

A task costs client, scheduler and worker some milliseconds of Python each. That is up to 10 % of a small proof, and
limits how many GPUs one client can serve.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

from graphprover.cluster.messages import ProofRequest, pack
from graphprover.cluster.tasks import BATCH_SECONDS, ProvingTask, TaskResult
from graphprover.device import Device
from graphprover.jobs.jobs import Job, Prover
from graphprover.protocol.errors import VerificationError
from graphprover.prover.local import Made
from graphprover.telemetry.subscribe import observing

JobResult = tuple[Job, Made | None, Exception | None]
Check = Callable[[Job, Any], Made]  # checks a worker's result for a job; raises VerificationError

_log = logging.getLogger(__name__)  # warnings go to stderr by default

_seconds: WeakKeyDictionary[Prover, float] = WeakKeyDictionary()  # of the last proof of each program


class BatchTasks(Iterator[ProvingTask]):
    """The tasks of a batch, each formed when a worker needs one.

    The time of a job is estimated by the last proof of its program, also of another batch. A job of a program without a
    proof has a task of its own. A task is estimated at BATCH_SECONDS at most. With several workers it has at most
    1/(2 workers) of the remaining jobs, because each worker may have two tasks. After its end, the iterator goes on if
    `results` has returned jobs to it.

    Args:
        weighed: Jobs with their weights, heaviest first.
        device: Device of the workers.
        workers: Returns how many workers there are.
        check: Checks the result of a job.
    """

    def __init__(
        self, weighed: Iterable[tuple[int, Job]], device: Device | str, workers: Callable[[], int], check: Check
    ) -> None:
        self._waiting = deque(weighed)
        self._alone: deque[tuple[int, Job]] = deque()  # jobs that get a task of their own
        self._device, self._workers, self._observe = device, workers, observing()
        self._jobs: dict[ProvingTask, list[tuple[int, Job]]] = {}
        self._check = check
        self._refused: dict[Job, str] = {}  # by job: address of the worker whose proof failed the check

    def __next__(self) -> ProvingTask:
        if self._alone:
            return self._task([self._alone.popleft()])
        if not self._waiting:
            raise StopIteration
        workers, left = self._workers(), BATCH_SECONDS
        most = len(self._waiting) if workers == 1 else len(self._waiting) // (2 * workers)
        group = [self._waiting.popleft()]
        left -= _estimate(group[0])
        while len(group) < most and (left := left - _estimate(self._waiting[0])) >= 0:
            group.append(self._waiting.popleft())
        return self._task(group)

    def jobs(self, task: ProvingTask) -> list[Job]:
        """Return the jobs of a task, in their order."""
        return [job for _, job in self._jobs[task]]

    def results(self, result: TaskResult) -> Iterator[JobResult]:
        """Yield the results of the jobs of a task; jobs without a result are retried.

        The first of those gets a task of its own, as it may be the cause. If no job has a result, all of them do.
        """
        jobs = self._jobs.pop(result.task)
        if len(jobs) == 1 and result.error:
            yield jobs[0][1], None, result.error
            return
        values: list[Any] = [result.value]
        if several := len(jobs) > 1:
            values = result.value if isinstance(result.value, list) else []
        for weighed, value in zip(jobs, values, strict=False):
            yield from self._checked(weighed, value, result.worker)
        rest = jobs[len(values) :]
        alone = len(rest) if several and not isinstance(result.value, list) else 1
        self._alone.extend(rest[:alone])
        self._waiting.extendleft(reversed(rest[alone:]))

    def _checked(self, weighed: tuple[int, Job], value: Any, worker: str) -> Iterator[JobResult]:
        """Yield the result of a job, or nothing if its first proof fails the check: then the job is retried."""
        _, job = weighed
        try:
            made = self._check(job, value)
        except VerificationError as error:
            if job in self._refused:
                yield job, None, error.refusal(f"{error}, by {worker}")
                return
            _log.warning("graphprover: prove-%s: %s, by %s; it is retried", job.label, error, worker)
            self._refused[job] = worker
            self._alone.append(weighed)
        except Exception as error:  # of the run in this process
            yield job, None, error
        else:
            _seconds[job.prover] = sum(made.seconds.values())
            yield job, made, None

    def _task(self, group: list[tuple[int, Job]]) -> ProvingTask:
        weight, first = group[0]
        name, function = first.label, "prove"
        subject: Job | list[Job] = first
        if more := len(group) - 1:
            name, subject, function = f"{name} and {more} more", [job for _, job in group], "prove_in_turn"
        payload = partial(pack, ProofRequest(subject, self._device, self._observe))
        refused = self._refused.get(first)
        task = ProvingTask(name, payload, weight, function, avoid=frozenset({refused} if refused and not more else ()))
        self._jobs[task] = group
        return task


def _estimate(weighed: tuple[int, Job]) -> float:
    """Return the estimated seconds of a job; infinity if its program has no proof yet."""
    return _seconds.get(weighed[1].prover, inf)
