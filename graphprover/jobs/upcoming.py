"""The jobs of a batch that are read ahead of their turn."""

import heapq
from collections.abc import Collection, Iterable, Iterator
from itertools import count
from threading import Condition, Thread
from typing import Any, Protocol

# Jobs of an iterator that a process reads ahead of its own proofs: their number decides whether processes that verify
# pay (`pipeline.FEWEST_JOBS`).
IN_PROCESS = 8

_NONE = object()


class Jobs(Protocol):
    """Jobs that are taken one by one."""

    def __len__(self) -> int:
        """Return how many jobs wait."""

    def take(self) -> Any:
        """Return the next job, once there is one; None if none will come."""

    def take_waiting(self) -> Any:
        """Return the next job; None if none waits."""


class Upcoming:
    """A context with the jobs that wait for their turn: the highest priority is next, and of equal ones the heaviest.

    A collection is read at once, and ordered as a whole. An iterator may have any length, and it may wait for its next
    job, such as one from a queue. So a thread reads it, at most some jobs ahead, and no proof waits for it. Its
    exception is raised after the jobs before. After the context, a thread that waits for its iterator ends with the
    next job.

    Args:
        jobs: The jobs.
        ahead: How many jobs of an iterator wait at most.
    """

    def __init__(self, jobs: Iterable[Any], ahead: int = IN_PROCESS) -> None:
        self._waiting: list[tuple[int, int, int, Any]] = []  # a heap
        self._numbers = count()
        self._ahead = ahead
        self._changed = Condition()  # of all below
        self._ended = isinstance(jobs, Collection)
        self._error: BaseException | None = None
        if self._ended:
            for job in jobs:
                self._add(job)
        else:
            Thread(target=self._read, args=(iter(jobs),), name="graphprover-jobs", daemon=True).start()

    def __enter__(self) -> "Upcoming":
        return self

    def __exit__(self, *raised: object) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._waiting)

    def read_ahead(self, jobs: int) -> None:
        """Set how many jobs of an iterator wait at most."""
        with self._changed:
            self._ahead = jobs
            self._changed.notify_all()

    def has_ended(self) -> bool:
        """Return whether no job waits, and none will come."""
        return self._ended and not self._waiting

    def waiting(self) -> list[Any]:
        """Return the jobs that wait, in no order."""
        with self._changed:
            return [job for *_, job in self._waiting]

    def wait(self, seconds: float) -> None:
        """Wait until a job waits or none will come, for some seconds at most; raises the errors of `take`."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended, seconds)
            self._check()

    def take(self) -> Any:
        """Return the next job, once there is one; None if none will come.

        Raises:
            BaseException: the exception of the iterator, once no job waits.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended)
            self._check()
            return self.take_waiting()

    def take_waiting(self) -> Any:
        """Return the next job; None if none waits."""
        with self._changed:
            if not self._waiting:
                return None
            *_, job = heapq.heappop(self._waiting)
            self._changed.notify_all()
            return job

    def _check(self) -> None:
        if self._error and not self._waiting:
            raise self._error

    def _add(self, job: Any) -> None:
        heapq.heappush(self._waiting, (-job.priority, -job.weight, next(self._numbers), job))

    def _read(self, jobs: Iterator[Any]) -> None:
        """Read the iterator, as long as the jobs are wanted."""
        try:
            while self._wants():
                job = next(jobs, _NONE)
                with self._changed:
                    if job is _NONE or self._ended:
                        return
                    self._add(job)
                    self._changed.notify_all()
        except BaseException as error:  # for the thread that takes the jobs
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _wants(self) -> bool:
        """Wait until another job may be read, and return whether it is still wanted."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or len(self._waiting) < self._ahead)
            return not self._ended
