"""Jobs that are read ahead of their turn: their order, how many are read, and iterators that wait or fail."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from queue import Queue

import pytest

from graphprover.jobs.upcoming import Upcoming
from tests.cluster.processes import until


@dataclass(eq=False)
class FakeJob:
    name: str
    weight: int = 0
    priority: int = 0


def names(upcoming: Upcoming) -> str:
    return "".join(job.name for job in iter(upcoming.take, None))


def test_the_highest_priority_is_next_and_then_the_heaviest_and_then_the_first() -> None:
    jobs = [FakeJob("d"), FakeJob("c", 9), FakeJob("e"), FakeJob("a", 1, 2), FakeJob("b", 0, 1), FakeJob("f", 99, -1)]
    with Upcoming(jobs, ahead=1) as upcoming:
        assert len(upcoming) == 6 and not upcoming.has_ended()
        assert names(upcoming) == "abcdef" and upcoming.has_ended()


def test_an_iterator_is_read_as_far_as_asked() -> None:
    read: list[int] = []
    jobs = (read.append(number) or FakeJob(str(number)) for number in count())
    with Upcoming(jobs, ahead=3) as upcoming:
        until(lambda: len(upcoming) == 3)
        assert upcoming.take().name == "0"
        until(lambda: len(read) == 4)
        upcoming.read_ahead(5)
        until(lambda: len(read) == 6)
    until(lambda: "graphprover-jobs" not in [thread.name for thread in threading.enumerate()])
    assert len(read) == 6


def test_nobody_waits_for_an_iterator_unless_asked() -> None:
    asked: Queue[FakeJob | None] = Queue()
    with Upcoming(iter(asked.get, None)) as upcoming:
        assert upcoming.take_waiting() is None and not upcoming.has_ended()
        threading.Timer(0.05, asked.put, [FakeJob("a")]).start()
        assert upcoming.take().name == "a"
        upcoming.wait(0.01)
        assert not len(upcoming)
        asked.put(FakeJob("b"))
        upcoming.wait(60)
        assert len(upcoming) == 1
        asked.put(None)
        assert upcoming.take().name == "b" and upcoming.take() is None


def test_an_exception_of_an_iterator_is_raised_after_the_jobs_before() -> None:
    def failing() -> Iterator[FakeJob]:
        yield FakeJob("a")
        raise ValueError("of the caller")

    with Upcoming(failing()) as upcoming:
        assert upcoming.take().name == "a" and upcoming.take_waiting() is None
        for asked in (upcoming.take, lambda: upcoming.wait(60)):
            with pytest.raises(ValueError, match="of the caller"):
                asked()
