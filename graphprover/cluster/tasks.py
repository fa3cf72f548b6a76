"""What a worker is to prove, the tasks that it is asked for with, and what comes of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from distributed import Future

BEGUN = "graphprover-begun"  # the topic under which workers tell which task they begin
EVENTS = "graphprover"  # the topic of what clients and workers warn of, for `Client.get_events`
TOGETHER_SECONDS = 0.5  # that several small proofs are to take at most, which a worker makes for one task


@dataclass(frozen=True, eq=False)
class ProvingTask:
    """Something that a worker is to prove."""

    name: str  # for people: in logs and on the dashboard
    payload: Callable[[], bytes]  # what the task takes; called whenever it is sent
    weight: int = 0  # those of more weight go first
    function: str = "prove"  # the function of `graphprover.cluster.worker`
    held: "TaskResult | None" = None  # of another, whose value the task takes too, where it lies; only in a first try
    stays: bool = False  # its value stays on the worker, until `Cluster.release`
    avoid: frozenset[str] = frozenset()  # the addresses of workers that get it only if there is no other


@dataclass(frozen=True, eq=False)
class TaskResult:
    """What came of an task."""

    task: ProvingTask
    value: Any  # what the task gave; or
    error: Exception | None
    worker: str  # the address of the last that had it; empty if none had
    attempts: int  # how many times a worker began it
    kept: "Attempt | None" = None  # what stays


@dataclass(eq=False)
class Attempt:
    """One task of the scheduler."""

    future: Future
    among: set[str]  # the workers that may have it; empty if all may
    takes: "Attempt | None" = None  # what stays of another, which Dask brings to its worker
    workers: list[str] = field(default_factory=list)  # who has begun it, in order
    told: int = 0  # how many of them were told
    nowhere: int = 0  # how many looks have found it nowhere
    stopped: str = ""  # the worker that has it and says nothing
