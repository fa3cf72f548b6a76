"""What workers of a cluster have seen of the shards of a proof, brought to one clock and made one `Observation`.

Workers' clocks are believed as far as nothing comes before its cause: what a worker did lies between when this process
asked for it and when it had the answer. A clock is moved only as far as that needs, and how far it may still be off
is said with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from graphprover.proof.sharded import ShardedProof
from graphprover.proof.sizes import REST
from graphprover.protocol.security import Security
from graphprover.telemetry.model import (
    Machine,
    Memory,
    Processor,
    SeenShard,
    SeenTable,
    SeenTask,
    SeenWorker,
    Stage,
    joined,
)
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import first_began


@dataclass(frozen=True)
class SeenPart:
    """What a worker has seen of one of the two tasks of a shard, as it travels. Times are on its own clock."""

    stages: tuple[Stage, ...]  # prepare, wait, and commit or prove
    tasks: tuple[SeenTask, ...]  # after the first stage's start; numbers of tables are those of the shard
    tables: tuple[SeenTable, ...]  # of the shard
    device: str  # cpu, or cuda:0
    machine: Machine
    executor: str
    versions: Mapping[str, str]
    ceilings: str
    memory: Memory
    processor: Processor
    keep: str  # what the device keeps of the shard between the two
    kept: int  # bytes of that, by the plan
    sizes: Mapping[str, int]  # bytes of the shard in the proof, by part; empty before there is one
    worker: str = ""  # its address, once that is told


@dataclass(frozen=True)
class Asked:
    """A task of a shard that counts, and when it was asked for, on this process's `clock`."""

    part: SeenPart
    sent: float
    received: float
    bytes: int  # that it gave back, pickled

    @property
    def worker(self) -> str:
        """Its address."""
        return self.part.worker


@dataclass(frozen=True)
class Clock:
    """Of a worker, beside this process's."""

    ahead: float  # seconds
    error: float  # seconds, that ``ahead`` is off at most


def clock_of(asked: Sequence[Asked]) -> Clock:
    """The clock of the worker that has made all of these."""
    least = max(one.part.stages[-1].end - one.received for one in asked)
    most = min(one.part.stages[0].start - one.sent for one in asked)
    ahead = min(max(0.0, least), most)
    return Clock(ahead, max(ahead - least, most - ahead, 0.0))


def joined_sight(
    name: str,
    proof: ShardedProof,
    commits: Sequence[Asked],
    finishes: Sequence[Asked],
    checks: Sequence[Stage],
    stages: Sequence[Stage],
    security: Security,
) -> Observation:
    """Of the whole proof. ``commits``, ``finishes``, ``checks``: of each shard, those that count.

    ``stages`` and ``checks`` are of this process, on its `clock`; ``prove`` is among the former.
    """
    began = first_began(min(stage.start for stage in stages))
    by_worker: dict[str, list[Asked]] = {}
    for one in (*commits, *finishes):
        by_worker.setdefault(one.worker, []).append(one)
    clocks = {worker: clock_of(asked) for worker, asked in by_worker.items()}
    workers, first_thread = {}, 0
    for worker, asked in by_worker.items():
        workers[worker] = _worker(worker, asked, clocks[worker], first_thread)
        first_thread += len(workers[worker].threads)
    shards, tasks, tables = [], list[SeenTask](), list[SeenTable]()
    for index, (commit, finish, check) in enumerate(zip(commits, finishes, checks, strict=True)):
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
            SeenShard(
                len(commit.part.tables),
                commit.part.keep,
                commit.part.kept,
                max(one.part.memory.planned for one in (commit, finish)),
                (*of_shard, check.moved(-began)),
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
        ceilings=first.ceilings,
        security=security,
        sizes=sizes_of_all(proof.size, shards),
        shards=tuple(shards),
        workers=tuple(workers.values()),
    )


def _worker(address: str, asked: Sequence[Asked], clock: Clock, first_thread: int) -> SeenWorker:
    parts = [one.part for one in asked]
    before = parts[0].memory.before
    planned = max(part.memory.before + part.memory.planned for part in parts) - before
    commits = [one.end for part in parts for one in part.stages if one.name == "commit"]
    proves = [part.stages[0].start for part in parts if part.stages[-1].name == "prove"]
    threads = 1 + max((task.thread for part in parts for task in part.tasks), default=0)
    return SeenWorker(
        address,
        parts[0].device,
        parts[0].machine,
        tuple(range(first_thread, first_thread + threads)),
        Memory(before, max(part.memory.peak for part in parts), planned),
        clock.ahead,
        clock.error,
        max(min(proves) - max(commits), 0.0) if commits and proves else 0.0,
        sum(one.bytes for one in asked),
        joined([part.processor for part in parts]),
    )


def _placed(task: SeenTask, shift: float, shard: int, tables: int, threads: int, held: int) -> SeenTask:
    """The same in the whole: later by ``shift``, and numbered after those of other shards and workers."""
    shares = tuple(replace(share, table=share.table + tables) for share in task.tables)
    planned = task.planned._replace(held=task.planned.held + held)
    return task.moved(shift)._replace(shard=shard, tables=shares, thread=task.thread + threads, planned=planned)


def sizes_of_all(total: int, shards: Sequence[SeenShard]) -> Mapping[str, int]:
    """Return the bytes of each part of a proof of this total size, from the parts of its shards."""
    parts: dict[str, int] = {}
    for shard in shards:
        for part, size in shard.sizes.items():
            parts[part] = parts.get(part, 0) + size
    return parts | {REST: total - sum(size for part, size in parts.items() if part != REST)}
