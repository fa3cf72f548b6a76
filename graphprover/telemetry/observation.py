"""What was seen while a proof was made: its stages, and every task of its graph beside what the plan says of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from graphprover.proof.sizes import security_facts
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.security import Security
from graphprover.reports.notebook import html, short
from graphprover.runtime.files import write
from graphprover.telemetry.model import (
    Machine,
    Memory,
    ObservedShard,
    ObservedTable,
    ObservedTask,
    ObservedWorker,
    Processor,
    Stage,
)
from graphprover.telemetry.rounds import Round, Sums, TableTime, covered, rounds_of, spans_of

FORMAT = 1  # of the JSON


@dataclass(frozen=True, repr=False)
class Observation:
    """One proof as it was made. Its clock begins with the first stage; times are in seconds."""

    name: str  # what a job is called, or the statement
    label: str  # of the statement, as the proof carries it
    began: float  # seconds since 1970, where the clock is 0
    versions: Mapping[str, str]  # of graphprover, python and packages
    machine: Machine
    executor: str  # that ran the graph: threads or sync
    worker: str  # the address of the worker of a cluster; empty in this process
    device: str  # cpu, or cuda:0
    parameters: Parameters
    tables: tuple[ObservedTable, ...]
    stages: tuple[Stage, ...]
    tasks: tuple[ObservedTask, ...]  # by when they began
    memory: Memory
    processor: Processor  # of several workers, of the one that lacked most of it
    roofline: str  # the rates of the floors, for people
    security: Security
    sizes: Mapping[str, int]  # bytes of the proof by part
    sums: Sums | None = None  # where tasks were left out
    shards: tuple[ObservedShard, ...] = ()  # that the proof is in, if it is
    workers: tuple[ObservedWorker, ...] = ()  # who made them, where several workers of a cluster did

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        facts = {
            "security": self.security.summary,
            "bytes of the proof": sum(self.sizes.values()),
            "peak bytes of memory": self.memory.peak,
            "made by": short(self.worker or f"this process, {self.executor}"),
            "shards": len(self.shards) or 1,
        }
        rows = [(one.round, one.tasks, f"{one.seconds:.3f}") for one in self.rounds]
        return html(self._title, facts, [("round", "tasks", "seconds"), *rows])

    @property
    def _title(self) -> str:
        tasks = sum(one.tasks for one in self.rounds)
        took = f"{tasks} tasks in {self.seconds('prove'):.3f} s on {self.device}"
        return f"Observation of {short(self.name)}: {took}"

    def seconds(self, stage: str) -> float:
        """How long a stage took; 0 for one that was not."""
        return sum(one.seconds for one in self.stages if one.name == stage)

    @property
    def end(self) -> float:
        """When the last thing that was seen ended."""
        return max(
            (end for end in chain((s.end for s in self.stages), (t.device_end for t in self.tasks))), default=0.0
        )

    @property
    def proving(self) -> float:
        """Seconds of the graph, of all workers together."""
        return self.seconds("prove") * max(len(self.workers), 1)

    def lane(self, thread: int) -> str:
        """What to call a thread of the tasks."""
        if not self.workers:
            return f"thread {thread}"
        worker = self.workers[self.maker(thread)]
        return f"{worker.address} thread {thread - worker.threads[0]}"

    def maker(self, thread: int) -> int:
        """The number of the worker whose thread it is; 0 where there are none."""
        return next((number for number, worker in enumerate(self.workers) if thread in worker.threads), 0)

    @property
    def idle(self) -> float:
        """Seconds of the graph in which no task ran on host or device: those of the scheduler.

        Of shards, of all their graphs; the time in which one is verified is not idle. Of workers of a cluster, the sum
        over them.
        """
        if self.sums:
            return self.sums.idle
        if self.workers:
            return self.proving - sum(covered(spans_of(self._tasks_of(worker))) for worker in self.workers)
        spans = spans_of(self.tasks)
        spans += [(one.start, one.end) for shard in self.shards for one in shard.stages if one.name == "verify"]
        return self.seconds("prove") - covered(spans)

    def _tasks_of(self, worker: ObservedWorker) -> list[ObservedTask]:
        return [task for task in self.tasks if task.thread in worker.threads]

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The sums of each round, over all shards, in the order in which they began."""
        return self.sums.rounds if self.sums else rounds_of(self.tasks, self.processor.starved)

    @property
    def rounds_of_shards(self) -> tuple[tuple[Round, ...], ...]:
        """`rounds` of each shard."""
        if self.sums:
            return self.sums.of_shards
        tasks: list[list[ObservedTask]] = [[] for _ in self.shards]
        for task in self.tasks if self.shards else ():
            assert task.shard is not None
            tasks[task.shard].append(task)
        return tuple(rounds_of(of_shard, self.processor.starved) for of_shard in tasks)

    @property
    def table_times(self) -> list[TableTime]:
        """What each table took of each round; rounds in their order, and the slowest table of each first.

        Nothing where tasks were left out.
        """
        times: dict[str, dict[int, TableTime]] = {}
        for task in self.tasks:
            of_round = times.setdefault(task.round, {})
            for part in task.tables:
                old = of_round.get(part.table, TableTime(task.round, part.table, 0.0, False, 0.0))
                of_round[part.table] = replace(
                    old,
                    seconds=old.seconds + task.device_seconds * part.share,
                    modelled=old.modelled or len(task.tables) > 1,
                    floor=old.floor + task.planned.seconds * part.share,
                )
        return [one for found in times.values() for one in sorted(found.values(), key=lambda one: -one.seconds)]

    def with_stages(self, stages: Sequence[Stage]) -> Observation:
        """The same with what this process did besides, on `clock`; of two stages of a name the one given counts."""
        names = {stage.name for stage in stages}
        kept = [stage.moved(self.began) for stage in self.stages if stage.by_worker or stage.name not in names]
        both = sorted([*kept, *stages], key=lambda stage: stage.start)
        began = min([self.began, *(stage.start for stage in both)])
        shift = self.began - began
        tasks = tuple(task.moved(shift) for task in self.tasks) if shift else self.tasks
        shards = tuple(
            replace(shard, stages=tuple(stage.moved(shift) for stage in shard.stages)) for shard in self.shards
        )
        moved = tuple(stage.moved(-began) for stage in both)
        return replace(self, began=began, stages=moved, tasks=tasks, shards=shards)

    def named(self, name: str) -> Observation:
        """The same, of a job that is called so."""
        return replace(self, name=name)

    def of_worker(self, worker: str) -> Observation:
        """The same, made by a worker of a cluster."""
        return replace(self, worker=worker, stages=tuple(replace(stage, by_worker=True) for stage in self.stages))

    def brief(self) -> Observation:
        """The same without tasks."""
        return replace(self, tasks=(), sums=Sums(self.rounds, self.idle, self.rounds_of_shards))

    def summary(self) -> dict[str, Any]:
        """The times of the proof by stage and round, and its memory, as JSON has them."""
        shards = {
            "shards": [
                asdict(shard)
                | {"seconds": shard.seconds(), "stages": _stages_facts(shard.stages), "rounds": _rounds_facts(rounds)}
                for shard, rounds in zip(self.shards, self.rounds_of_shards, strict=True)
            ]
        }
        return (
            {
                "name": self.name,
                "label": self.label,
                "began": self.began,
                "seconds": self.end,
                "executor": self.executor,
                "worker": self.worker or None,
                "device": self.device,
                "stages": _stages_facts(self.stages),
                "idle": self.idle,
                "rounds": _rounds_facts(self.rounds),
                "memory": asdict(self.memory),
                "processor": _processor_facts(self.processor),
            }
            | (shards if self.shards else {})
            | ({"workers": list(map(_worker_facts, self.workers))} if self.workers else {})
        )

    def to_json(self) -> dict[str, Any]:
        """All of it, as docs/cli.md documents it: what ``--report out.json`` writes."""
        more = {
            "versions": dict(self.versions),
            "machine": asdict(self.machine),
            "ceilings": self.roofline,
            "parameters": asdict(self.parameters),
            "tables": [_but_no_shard(asdict(table)) for table in self.tables],
            "table_times": [asdict(one) | {"ratio": one.ratio} for one in self.table_times],
            "security": security_facts(self.security),
            "sizes": dict(self.sizes),
            "tasks": [_task_facts(task) for task in self.tasks],
        }
        return {"format": FORMAT} | self.summary() | more

    def save(self, path: str | Path) -> None:
        """Write `to_json`; raises FileError."""
        write(Path(path), json.dumps(self.to_json(), allow_nan=False).encode())


def _stages_facts(stages: Sequence[Stage]) -> list[dict[str, Any]]:
    return [asdict(stage) | {"seconds": stage.seconds} for stage in stages]


def _rounds_facts(rounds: Sequence[Round]) -> list[dict[str, Any]]:
    return [asdict(one) | {"ratio": one.ratio} for one in rounds]


def _processor_facts(processor: Processor) -> dict[str, Any]:
    return asdict(processor) | {"lacked": processor.lacked, "starved": processor.starved}


def _worker_facts(worker: ObservedWorker) -> dict[str, Any]:
    return asdict(worker) | {"processor": _processor_facts(worker.processor)}


def _task_facts(task: ObservedTask) -> dict[str, Any]:
    of_parts = {"tables": [asdict(share) for share in task.tables], "planned": task.planned._asdict()}
    return _but_no_shard(task._asdict() | of_parts)


def _but_no_shard(fields: dict[str, Any]) -> dict[str, Any]:
    """The same, without the shard where there is none."""
    return {name: value for name, value in fields.items() if name != "shard" or value is not None}
