"""The parts of an `Observation`: stages, tasks, tables, shards, workers, memory. Data alone, which travels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Stage:
    """A part of what a process did, before, around or after the graph."""

    name: str  # prepare, wait, prove, verify; of the command line also imports, load, write
    start: float  # seconds on the observation's clock
    end: float
    by_worker: bool = False  # of a cluster; its clock is its host's

    @property
    def seconds(self) -> float:
        return self.end - self.start

    def moved(self, seconds: float) -> Stage:
        """The same, later by so much."""
        return replace(self, start=self.start + seconds, end=self.end + seconds)


@dataclass(frozen=True)
class Machine:
    """Where the proof was made."""

    host: str  # its name
    cpu: str  # its model
    cores: int  # of the host
    threads: int  # tasks at once
    gpu: str | None  # its model; None where a CPU made the proof
    memory: int  # bytes that the device has


class Planned(NamedTuple):
    """What the plan says of a task: operations, bytes, and the shortest time that they can take."""

    multiplications: int
    butterflies: int
    permutations: int  # Keccak-f
    moved: int  # bytes read and written
    seconds: float  # at the ceilings of `Observation.ceilings`: the floor
    bound: str  # of ceilings.BOUNDS, which of them the floor is for; empty where the plan knows no work
    held: int  # bytes that the device holds after the task, beyond what it held before the proof


@dataclass(frozen=True)
class Share:
    """A table's part of a task."""

    table: int  # number in the statement
    share: float  # of the task's time, by the plan; the shares of a task add up to 1


class ObservedTask(NamedTuple):
    """One task of the graph, of which a proof has hundreds. Times are seconds on the observation's clock."""

    round: str  # as in the plan, such as quotient or fri_fold
    name: str  # batch of tables, commitment, height or step
    thread: int  # of the process, numbered in the order in which they first ran a task
    start: float  # the host's
    end: float
    device_start: float  # when a GPU's stream came to what the task enqueued; on a CPU the same as ``start``
    device_end: float  # when it was done with it
    waited: float  # seconds in which Python did nothing but wait: for a GPU's results; on a CPU for compiled kernels
    launches: int  # of kernels, by a GPU
    uploaded: int  # bytes of traces over the bus
    downloaded: int  # bytes of results over the bus
    held: int  # bytes that the device holds after the task: of a GPU's pool; on a CPU the process's resident memory
    tables: tuple[Share, ...]  # whose work it is; empty for what is of all tables. Shares of several are modelled
    planned: Planned
    shard: int | None = None  # of the proof, from 0; None where it has none

    def moved(self, seconds: float) -> ObservedTask:
        """The same, later by so much."""
        return self._replace(
            start=self.start + seconds,
            end=self.end + seconds,
            device_start=self.device_start + seconds,
            device_end=self.device_end + seconds,
        )

    @property
    def worked(self) -> float:
        """Seconds in which the host was busy with it: Python and NumPy, on a GPU also what enqueues."""
        return max(self.end - self.start - self.waited, 0.0)

    @property
    def device_seconds(self) -> float:
        return self.device_end - self.device_start


@dataclass(frozen=True)
class ObservedTable:
    """A table of the statement."""

    name: str  # in tasks, such as 3.add
    rows: int
    columns: int  # of its trace
    shard: int | None = None  # of the proof, from 0; None where it has none

    def __str__(self) -> str:
        return self.name if self.shard is None else f"shard {self.shard}: {self.name}"


@dataclass(frozen=True)
class ObservedShard:
    """A shard of a proof, which is made in two parts: it commits, and once all have, it is proved."""

    tables: int  # its head among them
    keep: str  # what the device keeps of it between the two: nothing, trees, traces too, all
    kept: int  # bytes of that, by the plan
    planned: int  # bytes, beyond those before the proof, that the plan foresees at most while it is made
    stages: tuple[Stage, ...]  # commit, prove and, where shards are verified one by one, verify
    sizes: Mapping[str, int]  # bytes of it in the proof, by part
    workers: tuple[str, ...] = ()  # of a cluster, their addresses: who it has committed by, and who has proved it

    def seconds(self, stage: str = "") -> float:
        """How long a stage took, or all of them."""
        return sum(one.seconds for one in self.stages if stage in ("", one.name))

    def maker(self, stage: Stage) -> str:
        """The address of the worker that a stage is of; empty for one of this process."""
        if not (self.workers and stage.by_worker):
            return ""
        second = max(one.start for one in self.stages if one.by_worker and one.name == "prepare")
        return self.workers[stage.start >= second]

    def lane(self, stage: Stage) -> str:
        """What to call the row of a stage: those of a worker share one."""
        if maker := self.maker(stage):
            return f"{maker} shards"
        return "client verifies" if self.workers else "shards"


@dataclass(frozen=True)
class ObservedWorker:
    """A worker of a cluster that has made shards of a proof whose others are made elsewhere."""

    address: str
    device: str  # cpu, or cuda:0
    machine: Machine
    threads: tuple[int, ...]  # their numbers in the proof's tasks
    memory: Memory
    clock_ahead: float  # seconds, of the client's, which its times have been moved back by
    clock_error: float  # seconds, that they may be off at most
    waited: float  # seconds between its last shard that commits and its first that is proved: for the joint challenge
    received: int  # bytes that it has sent to the client: heads, proofs and what was seen
    processor: Processor  # while it made its shards


@dataclass(frozen=True)
class Memory:
    """Bytes of the device: of a GPU's pool; on a CPU, of the process, with all that Python and libraries hold."""

    before: int  # the proof
    peak: int  # the most that was held, in all
    planned: int  # the most, beyond ``before``, that the plan foresees


@dataclass(frozen=True)
class Processor:
    """What a process got of the host's processor while it made a proof, or a worker its part of one."""

    seconds: float  # that the graph took
    used: float  # seconds of processor, by all threads of the process
    cores: float  # that the process may use: those it may run on, or as few as its control group allows
    waited: float | None  # seconds in which its threads could have run, but no core was free; None if nobody says
    throttled: int | None  # periods in which its control groups were stopped, for their quota; None if nobody says
    throttled_seconds: float | None  # for how long, the sum over cores
    always: bool  # the process has something to do all the time: its processor is the device

    @property
    def lacked(self) -> float:
        """Seconds of processor that the process could have used and did not get, at least.

        A CPU that proves has always something to do: also the time counts in which not even one thread ran.
        """
        return max(self.waited or 0.0, self.seconds - self.used if self.always else 0.0)

    @property
    def starved(self) -> bool:
        """Whether it lacked more than it got, and that for more than a quarter of the time."""
        return self.lacked > max(self.used, self.seconds / 4)


def joined(parts: Sequence[Processor]) -> Processor:
    """What one process got, from what it got in several parts of its time."""
    first = parts[0]
    sums: dict[str, Any] = {
        name: None if getattr(first, name) is None else sum(getattr(part, name) or 0 for part in parts)
        for name in ("seconds", "used", "waited", "throttled", "throttled_seconds")
    }
    return replace(first, **sums)
