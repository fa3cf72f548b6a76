"""What the tasks of a round, and of a table in it, come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.telemetry.model import ObservedTask

DEVICE, HOST, STARVED = "device", "host", "starved"  # what bounds a round

Span = tuple[float, float]


@dataclass(frozen=True)
class Round:
    """All tasks of one round."""

    round: str
    tasks: int
    start: float  # of its first task
    end: float  # of its last, on the device
    seconds: float  # in which one of its tasks ran, by the device's clock; of shards, the sum over them
    worked: float  # sum over its tasks: seconds in which the host was busy
    waited: float  # sum over its tasks: seconds in which it waited for the device
    launches: int
    uploaded: int
    downloaded: int
    floor: float  # seconds, by the plan, of the whole device
    bound: str  # of ceilings.BOUNDS, what most of the floor is for
    limited_by: str  # STARVED if the host was; HOST if it was busy for more than half of its tasks' time; else DEVICE

    @property
    def ratio(self) -> float | None:
        """How many times its floor it took; None without one."""
        return self.seconds / self.floor if self.floor else None


@dataclass(frozen=True)
class TableTime:
    """What one table took of one round."""

    round: str
    table: int  # number in the statement
    seconds: float  # by the device's clock
    modelled: bool  # it shares tasks, whose time is divided as the plan divides it
    floor: float

    @property
    def ratio(self) -> float | None:
        """How many times its floor it took; None without one."""
        return self.seconds / self.floor if self.floor else None


@dataclass(frozen=True)
class Sums:
    """What is left of tasks that were left out."""

    rounds: tuple[Round, ...]
    idle: float
    of_shards: tuple[tuple[Round, ...], ...]


def covered(spans: Sequence[Span]) -> float:
    """The length of the union of intervals."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    return total


def spans_of(tasks: Sequence[ObservedTask]) -> list[Span]:
    """When each was on the host, and when on the device."""
    return [span for one in tasks for span in ((one.start, one.end), (one.device_start, one.device_end))]


def rounds_of(tasks: Sequence[ObservedTask], starved: bool) -> tuple[Round, ...]:
    """The sums of each round, in the order in which they began; ``starved``: whether the host was."""
    of_round: dict[str, list[ObservedTask]] = {}
    for task in tasks:
        of_round.setdefault(task.round, []).append(task)
    return tuple(_round(name, tasks, starved) for name, tasks in of_round.items())


def _round(name: str, tasks: Sequence[ObservedTask], starved: bool) -> Round:
    spans: dict[int | None, list[Span]] = {}
    for task in tasks:
        spans.setdefault(task.shard, []).append((task.device_start, task.device_end))
    seconds = sum(map(covered, spans.values()))
    worked = sum(task.worked for task in tasks)
    lower_bounds: dict[str, float] = {}
    for task in tasks:
        lower_bounds[task.planned.bound] = lower_bounds.get(task.planned.bound, 0.0) + task.planned.seconds
    return Round(
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
