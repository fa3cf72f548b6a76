"""Merge the telemetry of a cluster's workers into one `Observation` on one clock.

A worker's clock is corrected by causality only: a task ran between the client's request and the client's receipt of
the answer. The correction is the least that satisfies this, and its remaining error is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from graphprover.proof.sharded import ShardedProof
from graphprover.proof.sizes import REST
from graphprover.protocol.security import Security
from graphprover.telemetry.model import (
    ObservedMachine,
    ObservedMemory,
    ObservedShard,
    ObservedTable,
    ObservedTask,
    ObservedWorker,
    Processor,
    Stage,
    joined,
)
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import first_began


@dataclass(frozen=True)
class TaskTelemetry:
    """A worker's telemetry of one of the two tasks of a shard, in the worker's own clock."""

    stages: tuple[Stage, ...]  # prepare, wait, and commit or prove
    tasks: tuple[ObservedTask, ...]  # times after the start of the first stage; table numbers within the shard
    tables: tuple[ObservedTable, ...]  # of the shard
    device: str  # cpu, or cuda:0
    machine: ObservedMachine
    executor: str
    versions: Mapping[str, str]
    roofline: str
    memory: ObservedMemory
    processor: Processor
    keep: str  # values that the device caches between the two tasks (`graphs.proof_graph.Keep`)
    kept: int  # planned bytes of the cached values
    sizes: Mapping[str, int]  # bytes of the shard in the proof, by part; empty for the first task
    worker: str = ""  # its address, once known


@dataclass(frozen=True)
class TaskReply:
    """The telemetry of a shard's accepted task, with the times of request and reply on this process's `clock`."""

    part: TaskTelemetry
    sent: float
    received: float
    bytes: int  # pickled size of the reply

    @property
    def worker(self) -> str:
        """Return the worker's address."""
        return self.part.worker


@dataclass(frozen=True)
class Clock:
    """The offset of a worker's clock from this process's clock."""

    ahead: float  # seconds
    error: float  # seconds: bound of the error of ``ahead``


def clock_of(asked: Sequence[TaskReply]) -> Clock:
    """Return the clock of a worker from all of its replies."""
    least = max(one.part.stages[-1].end - one.received for one in asked)
    most = min(one.part.stages[0].start - one.sent for one in asked)
    ahead = min(max(0.0, least), most)
    return Clock(ahead, max(ahead - least, most - ahead, 0.0))


def merged_observation(
    name: str,
    proof: ShardedProof,
    commits: Sequence[TaskReply],
    finishes: Sequence[TaskReply],
    checks: Mapping[int, Stage],
    stages: Sequence[Stage],
    security: Security,
) -> Observation:
    """Return the observation of a sharded proof.

    Args:
        name: The name of the job.
        proof: The proof, or its headers.
        commits: The accepted first task of each shard.
        finishes: The accepted second task of each shard.
        checks: By index of the shard: the stage that verified it here, on this process's `clock`. A shard without one
            was verified by a worker.
        stages: The stages of this process, ``prove`` among them, on its `clock`.
        security: The proven security of the proof.
    """
    began = first_began(min(stage.start for stage in stages))
    by_worker: dict[str, list[TaskReply]] = {}
    for one in (*commits, *finishes):
        by_worker.setdefault(one.worker, []).append(one)
    clocks = {worker: clock_of(asked) for worker, asked in by_worker.items()}
    workers, first_thread = {}, 0
    for worker, asked in by_worker.items():
        workers[worker] = _worker(worker, asked, clocks[worker], first_thread)
        first_thread += len(workers[worker].threads)
    shards, tasks, tables = [], list[ObservedTask](), list[ObservedTable]()
    for index, (commit, finish) in enumerate(zip(commits, finishes, strict=True)):
        of_shard = [
            stage.moved(-began - clocks[one.worker].ahead) for one in (commit, finish) for stage in one.part.stages
        ]
        for one in (commit, finish):
            shift = one.part.stages[0].start - began - clocks[one.worker].ahead
            maker = workers[one.worker]
            more = one.part.memory.before - maker.memory.before
            tasks += [_placed(task, shift, index, len(tables), maker.threads[0], more) for task in one.part.tasks]
        tables += [replace(table, shard=index) for table in commit.part.tables]
        shards.append(
            ObservedShard(
                len(commit.part.tables),
                commit.part.keep,
                commit.part.kept,
                max(one.part.memory.planned for one in (commit, finish)),
                (*of_shard, *(check.moved(-began) for check in (checks.get(index),) if check)),
                finish.part.sizes,
                (commit.worker, finish.worker),
            )
        )
    first = commits[0].part
    return Observation(
        name=name,
        label=proof.proofs[0].label,
        began=began,
        versions=first.versions,
        machine=first.machine,
        executor=first.executor,
        worker="",
        device=first.device,
        parameters=proof.parameters,
        tables=tuple(tables),
        stages=tuple(stage.moved(-began) for stage in stages),
        tasks=tuple(sorted(tasks, key=lambda task: task.start)),
        memory=max((worker.memory for worker in workers.values()), key=lambda memory: memory.peak),
        processor=max((worker.processor for worker in workers.values()), key=lambda processor: processor.lacked),
        roofline=first.roofline,
        security=security,
        sizes=sizes_of_all(proof.size, shards),
        shards=tuple(shards),
        workers=tuple(workers.values()),
    )


def _worker(address: str, asked: Sequence[TaskReply], clock: Clock, first_thread: int) -> ObservedWorker:
    parts = [one.part for one in asked]
    before = parts[0].memory.before
    planned = max(part.memory.before + part.memory.planned for part in parts) - before
    commits = [one.end for part in parts for one in part.stages if one.name == "commit"]
    proves = [part.stages[0].start for part in parts if part.stages[-1].name == "prove"]
    threads = 1 + max((task.thread for part in parts for task in part.tasks), default=0)
    return ObservedWorker(
        address,
        parts[0].device,
        parts[0].machine,
        tuple(range(first_thread, first_thread + threads)),
        ObservedMemory(before, max(part.memory.peak for part in parts), planned),
        clock.ahead,
        clock.error,
        max(min(proves) - max(commits), 0.0) if commits and proves else 0.0,
        sum(one.bytes for one in asked),
        joined([part.processor for part in parts]),
    )


def _placed(task: ObservedTask, shift: float, shard: int, tables: int, threads: int, held: int) -> ObservedTask:
    """Return a task as part of the whole proof: ``shift`` seconds later, with global numbers of tables and threads."""
    shares = tuple(replace(share, table=share.table + tables) for share in task.tables)
    planned = task.planned._replace(held=task.planned.held + held)
    return task.moved(shift)._replace(shard=shard, tables=shares, thread=task.thread + threads, planned=planned)


def sizes_of_all(total: int, shards: Sequence[ObservedShard]) -> Mapping[str, int]:
    """Return the bytes of each part of a proof of this total size, from the parts of its shards."""
    parts: dict[str, int] = {}
    for shard in shards:
        for part, size in shard.sizes.items():
            parts[part] = parts.get(part, 0) + size
    return parts | {REST: total - sum(size for part, size in parts.items() if part != REST)}
