"""Which jobs of a batch a worker gets at once: one, or several together where each takes little time.

A task costs client, scheduler and worker some milliseconds of Python each, beside the proofs: as much as a tenth of a
small one, and a client that serves many GPUs could send no more of them.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

from graphprover.cluster.messages import ProofRequest, pack
from graphprover.cluster.tasks import TOGETHER_SECONDS, ProvingTask, TaskResult
from graphprover.device import Device
from graphprover.jobs.jobs import Job, Prover
from graphprover.protocol.errors import VerificationError
from graphprover.prover.local import Made
from graphprover.telemetry.subscribe import observing

Ended = tuple[Job, Made | None, Exception | None]
Check = Callable[[Job, Any], Made]  # of what a worker returned for a job; raises VerificationError

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr

_took: WeakKeyDictionary[Prover, float] = WeakKeyDictionary()  # seconds of the last proof by a worker


class BatchTasks(Iterator[ProvingTask]):
    """The tasks of a batch, each made up when a worker is to have it.

    What a job takes is guessed by its program's last proof, also of another batch; those of a program without one go
    alone. Several workers may have two tasks each, and one takes at most its share by these. After its end this goes
    on where `ended` has given jobs back.
    """

    def __init__(
        self, weighed: Iterable[tuple[int, Job]], device: Device | str, workers: Callable[[], int], check: Check
    ) -> None:
        self._waiting = deque(weighed)
        self._alone: deque[tuple[int, Job]] = deque()
        self._device, self._workers, self._observe = device, workers, observing()
        self._taken: dict[ProvingTask, list[tuple[int, Job]]] = {}
        self._check = check
        self._refused: dict[Job, str] = {}  # jobs with a proof that did not hold, and its worker

    def __next__(self) -> ProvingTask:
        if self._alone:
            return self._task([self._alone.popleft()])
        if not self._waiting:
            raise StopIteration
        workers, left = self._workers(), TOGETHER_SECONDS
        most = len(self._waiting) if workers == 1 else len(self._waiting) // (2 * workers)
        together = [self._waiting.popleft()]
        left -= _guess(together[0])
        while len(together) < most and (left := left - _guess(self._waiting[0])) >= 0:
            together.append(self._waiting.popleft())
        return self._task(together)

    def jobs(self, task: ProvingTask) -> list[Job]:
        """Those of an task, in their order."""
        return [job for _, job in self._taken[task]]

    def ended(self, result: TaskResult) -> Iterator[Ended]:
        """What has come of jobs; those of an task of several of which nothing has come are given back.

        Its next job goes alone, as it may be the reason; all do if nothing is known of any.
        """
        taken = self._taken.pop(result.task)
        if len(taken) == 1 and result.error:
            yield taken[0][1], None, result.error
            return
        found: list[Any] = [result.value]
        if several := len(taken) > 1:
            found = result.value if isinstance(result.value, list) else []
        for one, value in zip(taken, found, strict=False):
            yield from self._one(one, value, result.worker)
        rest = taken[len(found) :]
        cut = len(rest) if several and not isinstance(result.value, list) else 1
        self._alone.extend(rest[:cut])
        self._waiting.extendleft(reversed(rest[cut:]))

    def _one(self, weighed: tuple[int, Job], value: Any, worker: str) -> Iterator[Ended]:
        """Check a result; give its job back, once, if it does not hold."""
        _, job = weighed
        try:
            made = self._check(job, value)
        except VerificationError as error:
            if job in self._refused:
                yield job, None, VerificationError(f"{error}, by {worker}")
                return
            _log.warning("graphprover: prove-%s: %s, by %s; it is retried", job.label, error, worker)
            self._refused[job] = worker
            self._alone.append(weighed)
        except Exception as error:  # of this process's own run
            yield job, None, error
        else:
            _took[job.prover] = sum(made.seconds.values())
            yield job, made, None

    def _task(self, together: list[tuple[int, Job]]) -> ProvingTask:
        weight, first = together[0]
        name, function = first.label, "prove"
        subject: Job | list[Job] = first
        if more := len(together) - 1:
            name, subject, function = f"{name} and {more} more", [job for _, job in together], "prove_in_turn"
        payload = partial(pack, ProofRequest(subject, self._device, self._observe))
        refused = self._refused.get(first)
        task = ProvingTask(name, payload, weight, function, avoid=frozenset({refused} if refused and not more else ()))
        self._taken[task] = together
        return task


def _guess(weighed: tuple[int, Job]) -> float:
    """Seconds that a job takes."""
    return _took.get(weighed[1].prover, inf)
