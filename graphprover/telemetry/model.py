"""The parts of an `Observation`: stages, tasks, tables, shards, workers, memory. Plain data that can be pickled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

PROVING = "prepare", "prove"  # the stages of which rates are


def rate(amount: int, seconds: Mapping[str, float], compile_seconds: float) -> float | None:
    """Return the amount for each second of a proof: of preparing and proving, without the compilation of kernels.

    Args:
        amount: The cycles of a guest's run, or another amount of the whole proof.
        seconds: The seconds by stage.
        compile_seconds: The seconds of these stages in which kernels were compiled, once on a host.

    Returns:
        The rate, or None without such a time.
    """
    proving = sum(seconds.get(stage, 0.0) for stage in PROVING) - compile_seconds
    return amount / proving if proving > 0 else None


@dataclass(frozen=True)
class Stage:
    """A stage of a process before, during or after the graph."""

    name: str  # prepare, wait, prove, verify; on the command line also imports, load, write
    start: float  # seconds on the observation's clock
    end: float
    by_worker: bool = False  # measured by a worker of a cluster, on its host's clock

    @property
    def seconds(self) -> float:
        return self.end - self.start

    def moved(self, seconds: float) -> Stage:
        """Return the stage ``seconds`` later."""
        return replace(self, start=self.start + seconds, end=self.end + seconds)


@dataclass(frozen=True)
class GuestRun:
    """The run of a guest that was proved."""

    cycles: int
    misaligned_accesses: int  # loads and stores at addresses that are not multiples of their size
    exit_code: int = 0
    output: str = ""  # as text for people, its first bytes
    cost: int | None = None  # the cost number; None if the prover does not know it


@dataclass(frozen=True)
class ObservedMachine:
    """The machine of a proof."""

    host: str  # host name
    cpu: str  # CPU model
    cores: int  # cores of the host
    threads: int  # tasks in parallel
    gpu: str | None  # GPU model; None for a proof by a CPU
    memory: int  # bytes of device memory


class TaskPlan(NamedTuple):
    """The plan of a task: operations, bytes, and the lower bound of its time."""

    multiplications: int
    butterflies: int
    hash_calls: int  # permutations or compressions of the proof's hash
    moved: int  # bytes read and written
    seconds: float  # lower bound by `Observation.roofline`
    bound: str  # of ``roofline.BOUNDS``: the dominant part of the lower bound; empty if the plan has no work for it
    held: int  # bytes on the device after the task, beyond those before the proof


@dataclass(frozen=True)
class TableShare:
    """A table's part of a task."""

    table: int  # number in the statement
    share: float  # of the task's time, by the plan; the shares of a task add up to 1


class ObservedTask(NamedTuple):
    """One task of the graph; a proof has hundreds. Times are seconds on the observation's clock."""

    round: str  # as in the plan, such as quotient or fri_fold
    name: str  # batch of tables, commitment, height or step
    thread: int  # of the process, numbered by first use
    start: float  # on the host
    end: float
    device_start: float  # start on a GPU's stream; on a CPU ``start``
    device_end: float  # end on a GPU's stream; on a CPU ``end``
    waited: float  # seconds in which Python only waited: for a GPU's results or a CPU's compiled kernels
    launches: int  # kernel launches on a GPU
    uploaded: int  # trace bytes over the bus
    downloaded: int  # result bytes over the bus
    held: int  # bytes on the device after the task: a GPU's pool, or the process's resident memory
    tables: tuple[TableShare, ...]  # tables that share the task, by modelled shares; empty for tasks of all tables
    planned: TaskPlan
    shard: int | None = None  # number in the proof, from 0; None if unsharded

    def moved(self, seconds: float) -> ObservedTask:
        """Return the task ``seconds`` later."""
        return self._replace(
            start=self.start + seconds,
            end=self.end + seconds,
            device_start=self.device_start + seconds,
            device_end=self.device_end + seconds,
        )

    @property
    def worked(self) -> float:
        """Return the seconds in which the host was busy: Python and NumPy, on a GPU also enqueuing."""
        return max(self.end - self.start - self.waited, 0.0)

    @property
    def device_seconds(self) -> float:
        return self.device_end - self.device_start


@dataclass(frozen=True)
class ObservedTable:
    """A table of the statement."""

    name: str  # name in tasks, such as 3.add
    rows: int
    columns: int  # of the trace
    shard: int | None = None  # number in the proof, from 0; None if unsharded

    def __str__(self) -> str:
        return self.name if self.shard is None else f"shard {self.shard}: {self.name}"


@dataclass(frozen=True)
class ObservedShard:
    """A shard of a proof. All shards commit before any is proved."""

    tables: int  # including its head
    keep: str  # values cached between the two tasks: nothing, trees, traces, all
    kept: int  # planned bytes of the cached values
    planned: int  # planned peak bytes, beyond those before the proof
    stages: tuple[Stage, ...]  # commit, prove and, if shards are verified one by one, verify
    sizes: Mapping[str, int]  # bytes of the shard in the proof, by part
    workers: tuple[str, ...] = ()  # addresses of the cluster workers that committed and proved it

    def seconds(self, stage: str = "") -> float:
        """Return the seconds of a stage, or of all stages."""
        return sum(one.seconds for one in self.stages if stage in ("", one.name))

    def maker(self, stage: Stage) -> str:
        """Return the address of the worker of a stage; empty for this process."""
        if not (self.workers and stage.by_worker):
            return ""
        second = max(one.start for one in self.stages if one.by_worker and one.name == "prepare")
        return self.workers[stage.start >= second]

    def lane(self, stage: Stage) -> str:
        """Return the name of the row of a stage; the stages of a worker share one row."""
        if maker := self.maker(stage):
            return f"{maker} shards"
        return "client verifies" if self.workers else "shards"


def lanes_of(shards: Sequence[ObservedShard]) -> list[tuple[int, Stage, str]]:
    """Return the stages of all shards, each with the index of its shard and the name of its row.

    Shards that the client verifies at the same time have rows of their own.
    """
    stages = [(index, stage) for index, shard in enumerate(shards) for stage in shard.stages]
    ends, found = list[float](), []
    for index, stage in sorted(stages, key=lambda one: one[1].start):
        lane = shards[index].lane(stage)
        if shards[index].workers and not shards[index].maker(stage):
            row = next((row for row, end in enumerate(ends) if end <= stage.start), len(ends))
            ends[row : row + 1] = [stage.end]
            lane += f" {row + 1}" * bool(row)
        found.append((index, stage, lane))
    return sorted(found, key=lambda one: one[0])


@dataclass(frozen=True)
class ObservedWorker:
    """A cluster worker that proved some shards of a proof."""

    address: str
    device: str  # cpu, or cuda:0
    machine: ObservedMachine
    threads: tuple[int, ...]  # its threads' numbers in the proof's tasks
    memory: ObservedMemory
    clock_ahead: float  # seconds ahead of the client's clock; already subtracted from its times
    clock_error: float  # seconds: bound of the error of the correction
    waited: float  # seconds for the joint challenge: from its last commit to its first prove
    received: int  # bytes sent to the client: heads, proofs and telemetry
    processor: Processor  # during its shards


@dataclass(frozen=True)
class ObservedMemory:
    """Bytes on the device: of a GPU's pool, or of the whole process on a CPU."""

    before: int  # before the proof
    peak: int  # peak in total
    planned: int  # planned peak beyond ``before``


@dataclass(frozen=True)
class Processor:
    """The processor time of a process during a proof, or of a worker during its part of one."""

    seconds: float  # duration of the graph
    used: float  # processor seconds of all threads of the process
    cores: float  # usable cores, by affinity and control groups
    waited: float | None  # seconds in which runnable threads waited for a core; None if unknown
    throttled: int | None  # periods in which a control group's quota stopped the process; None if unknown
    throttled_seconds: float | None  # duration of those periods, summed over cores; None if unknown
    always: bool  # the process always has work: the processor is its device

    @property
    def lacked(self) -> float:
        """Return a lower bound of the processor seconds that the process could have used but did not get.

        A CPU that proves always has work, so time without any running thread counts too.
        """
        return max(self.waited or 0.0, self.seconds - self.used if self.always else 0.0)

    @property
    def starved(self) -> bool:
        """Return whether the process lacked more than it used, and more than 25 % of the duration."""
        return self.lacked > max(self.used, self.seconds / 4)


def joined(parts: Sequence[Processor]) -> Processor:
    """Return the sum of one process's processor times in several parts of its time."""
    first = parts[0]
    sums: dict[str, Any] = {
        name: None if getattr(first, name) is None else sum(getattr(part, name) or 0 for part in parts)
        for name in ("seconds", "used", "waited", "throttled", "throttled_seconds")
    }
    return replace(first, **sums)
