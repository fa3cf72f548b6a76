"""A deadline of a thread's work and its interruption by others, which the work checks between its steps."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf


class JobTimeout(Exception):
    """A job without a proof when its time had passed. The message names the job and its seconds."""

    def __init__(self, job: str, seconds: float) -> None:
        super().__init__(job, seconds)

    def __str__(self) -> str:
        job, seconds = self.args
        return f"{job}: not proven within its timeout of {seconds:g} s"


@dataclass(frozen=True)
class _Deadline:
    """A time on time.monotonic, and the job with its seconds."""

    end: float
    job: str
    seconds: float
    interrupt: Callable[[], None] | None  # raises if the work is to end earlier


_deadline: ContextVar[_Deadline | None] = ContextVar("graphprover-deadline", default=None)


@contextmanager
def within(
    seconds: float | None, job: str, spent: float = 0.0, interrupt: Callable[[], None] | None = None
) -> Iterator[None]:
    """Let `check_deadline` raise in the block, once the seconds of a job have passed or it is interrupted.

    Args:
        seconds: The seconds; None is no deadline.
        job: The name of the job.
        spent: Seconds that the job has used before.
        interrupt: Called by each `check_deadline`; its exception ends the job. Default: the outer block's.
    """
    outer, ends = _deadline.get(), None
    interrupt = interrupt or (outer.interrupt if outer else None)
    if seconds is not None or interrupt:
        most = inf if seconds is None else seconds
        ends = _Deadline(time.monotonic() + most - spent, job, most, interrupt)
    token = _deadline.set(ends)
    try:
        yield
    finally:
        _deadline.reset(token)


def has_deadline() -> bool:
    """Return whether this thread's work has a deadline, or may be interrupted."""
    return _deadline.get() is not None


def check_deadline() -> None:
    """Raise JobTimeout if the deadline of this thread's work has passed, and what its interruption raises."""
    deadline = _deadline.get()
    if deadline and deadline.interrupt:
        deadline.interrupt()
    if deadline and time.monotonic() > deadline.end:
        raise JobTimeout(deadline.job, deadline.seconds)
