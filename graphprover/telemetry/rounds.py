"""Sums of tasks by round, and by table in a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.telemetry.model import ObservedTask

DEVICE, HOST, STARVED = "device", "host", "starved"  # limits of a round

Span = tuple[float, float]


@dataclass(frozen=True)
class RoundTime:
    """All tasks of one round."""

    round: str
    tasks: int
    start: float  # start of its first task
    end: float  # end of its last task on the device
    seconds: float  # with a running task, by the device's clock; summed over shards
    worked: float  # busy host seconds, summed over tasks
    waited: float  # host seconds spent waiting for the device, summed over tasks
    launches: int
    uploaded: int
    downloaded: int
    floor: float  # lower bound in seconds by the plan, for the whole device
    bound: str  # of ``roofline.BOUNDS``: the dominant part of the lower bound
    limited_by: str  # STARVED if the host was; HOST if busy for over half of the tasks' time; else DEVICE

    @property
    def ratio(self) -> float | None:
        """Return the measured time over the lower bound; None without a lower bound."""
        return self.seconds / self.floor if self.floor else None


@dataclass(frozen=True)
class TableTime:
    """The time of one table in one round."""

    round: str
    table: int  # number in the statement
    seconds: float  # by the device's clock
    modelled: bool  # whether its tasks are shared, and their time is divided as in the plan
    floor: float

    @property
    def ratio(self) -> float | None:
        """Return the measured time over the lower bound; None without a lower bound."""
        return self.seconds / self.floor if self.floor else None


@dataclass(frozen=True)
class Sums:
    """Sums that replace omitted tasks."""

    rounds: tuple[RoundTime, ...]
    idle: float
    of_shards: tuple[tuple[RoundTime, ...], ...]


def covered(spans: Sequence[Span]) -> float:
    """Return the length of the union of intervals."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    return total


def spans_of(tasks: Sequence[ObservedTask]) -> list[Span]:
    """Return the intervals of all tasks on the host and on the device."""
    return [span for one in tasks for span in ((one.start, one.end), (one.device_start, one.device_end))]


def rounds_of(tasks: Sequence[ObservedTask], starved: bool) -> tuple[RoundTime, ...]:
    """Return the sums of each round, in order of their start.

    Args:
        tasks: The tasks.
        starved: Whether the host was starved (`Processor.starved`).
    """
    of_round: dict[str, list[ObservedTask]] = {}
    for task in tasks:
        of_round.setdefault(task.round, []).append(task)
    return tuple(_round(name, tasks, starved) for name, tasks in of_round.items())


def _round(name: str, tasks: Sequence[ObservedTask], starved: bool) -> RoundTime:
    spans: dict[int | None, list[Span]] = {}
    for task in tasks:
        spans.setdefault(task.shard, []).append((task.device_start, task.device_end))
    seconds = sum(map(covered, spans.values()))
    worked = sum(task.worked for task in tasks)
    lower_bounds: dict[str, float] = {}
    for task in tasks:
        lower_bounds[task.planned.bound] = lower_bounds.get(task.planned.bound, 0.0) + task.planned.seconds
    return RoundTime(
        name,
        len(tasks),
        min(task.start for task in tasks),
        max(task.device_end for task in tasks),
        seconds,
        worked,
        sum(task.waited for task in tasks),
        sum(task.launches for task in tasks),
        sum(task.uploaded for task in tasks),
        sum(task.downloaded for task in tasks),
        sum(lower_bounds.values()),
        max(lower_bounds, key=lower_bounds.__getitem__),
        STARVED if starved else HOST if worked > sum(task.device_seconds for task in tasks) / 2 else DEVICE,
    )
