"""The dispatcher's data types: task, attempt, result."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from math import inf
from typing import Any

from distributed import Future

BEGUN = "graphprover-begun"  # topic of the events in which workers name the tasks that they start
EVENTS = "graphprover"  # topic of warnings of clients and workers, for `Client.get_events`
BATCH_SECONDS = 0.5  # estimated time of the small proofs that share one task
MOST_WEIGHT = (1 << 40) - 1  # bytes; heavier tasks count as equal


def unchecked(value: Any, worker: str) -> Any:
    """Return the value of a task as it is: the check of a task whose caller checks it."""
    return value


@dataclass(frozen=True, eq=False)
class ProvingTask:
    """A task for one worker: to make a proof, proofs of several jobs, or a shard."""

    name: str  # in log lines and on the dashboard
    payload: Callable[[], bytes]  # returns the function's argument; called for each attempt
    weight: int = 0  # heavier tasks of equal priority go first
    function: str = "prove"  # of `graphprover.cluster.worker`
    # Gets a worker's value and the worker's address, and returns the result. After a VerificationError of it the task
    # is retried once, on another worker; another exception is the result.
    check: Callable[[Any, str], Any] = unchecked
    depends_on: "tuple[TaskResult, ...]" = ()  # retained results, the other arguments; only of the first attempt
    needs_all: bool = False  # whether each attempt has the results that it depends on; without them it is a `LostValue`
    retain: bool = False  # whether the value stays on the worker, until `Cluster.release`
    part: bool = False  # whether the client gets only the value's attribute ``part``
    avoid: frozenset[str] = frozenset()  # addresses of workers that get the task only if no other fits
    at: str = ""  # address of the only worker that may have the first attempt, if it fits; empty: Dask chooses one
    priority: int = 0  # tasks with a higher one go first
    seconds: float = inf  # the estimated time; infinity if it is unknown
    timeout: float | None = None  # seconds in which a worker must have ended it, from its start
    # Called about once a second, until it raises: then its exception is the result, and the worker ends the task.
    interrupt: Callable[[], None] | None = None
    log_fields: Mapping[str, object] = field(default_factory=dict)  # of log lines about it

    @property
    def order(self) -> int:
        """The task's priority for Dask: one number, which must have at most 64 bits."""
        return self.priority * (MOST_WEIGHT + 1) + min(self.weight, MOST_WEIGHT)


@dataclass(frozen=True, eq=False)
class TaskResult:
    """The result of a task: a value or an error."""

    task: ProvingTask
    value: Any  # as the task's check has returned it; None after an error
    error: Exception | None
    worker: str  # address of the worker with the value, or of the last one that had the task; empty if none had it
    attempts: int  # how many times a worker has started the task
    retained: "Attempt | None" = None  # the attempt whose value stays on its worker

    @property
    def is_lost(self) -> bool:
        """Whether a retained value is lost with its worker, as far as the scheduler knows, or is released."""
        return self.retained is not None and self.retained.future.status not in ("finished", "pending")


class Location(Enum):
    """The place of a pending attempt at the last poll of the scheduler: see `dispatcher.Dispatcher`."""

    PLACED = auto()  # on a worker that responds; or no worker fits, and the attempt waits for one
    UNPLACED = auto()  # on no worker, though one fits: it may be on its way
    LOST = auto()  # the same in two polls in a row
    UNRESPONSIVE = auto()  # on a worker that does not respond


@dataclass(eq=False)
class Attempt:
    """One task of Dask's scheduler."""

    future: Future
    allowed: set[str]  # addresses of the workers that may have it; empty: all
    depends_on: "tuple[Attempt, ...]" = ()  # the retained attempts whose values Dask brings to the worker
    workers: list[str] = field(default_factory=list)  # addresses of the workers that have started it, in order
    reported: int = 0  # how many of them were reported
    location: Location = Location.PLACED
    worker: str = ""  # address of its worker at the last poll

    @property
    def dependencies(self) -> "Iterator[Attempt]":
        """The attempts that Dask repeats before this one if their values are lost."""
        for attempt in self.depends_on:
            yield attempt
            yield from attempt.dependencies

    def locate(self, worker: str, *, responds: bool, fits: bool) -> None:
        """Update the location by a poll.

        Args:
            worker: Address of the worker that has the attempt; empty if none has it.
            responds: Whether that worker responds.
            fits: Whether any worker could have the attempt.
        """
        before, self.worker = self.location, worker
        if worker:
            self.location = Location.PLACED if responds else Location.UNRESPONSIVE
        elif not fits:
            self.location = Location.PLACED
        else:
            missed = before in (Location.UNPLACED, Location.LOST)
            self.location = Location.LOST if missed else Location.UNPLACED
