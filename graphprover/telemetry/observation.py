"""The observation of a proof: its stages, and every task of its graph with the task's plan."""

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
from graphprover.runtime.display.notebook import html, short
from graphprover.runtime.files import write
from graphprover.telemetry.model import (
    PROVING,
    GuestRun,
    ObservedMachine,
    ObservedMemory,
    ObservedShard,
    ObservedTable,
    ObservedTask,
    ObservedWorker,
    Processor,
    Stage,
    rate,
)
from graphprover.telemetry.rounds import RoundTime, Sums, TableTime, covered, rounds_of, spans_of
from graphprover.telemetry.tree import TreePart, critical_path

FORMAT = 1  # version of the JSON format


@dataclass(frozen=True, repr=False)
class Observation:
    """One observed proof. Its clock starts with the first stage; times are in seconds."""

    name: str  # name of the job, or of the statement
    label: str  # label of the statement in the proof
    began: float  # seconds since 1970 at time 0 of the clock
    versions: Mapping[str, str]  # of graphprover, python and packages
    machine: ObservedMachine
    executor: str  # executor of the graph: threads or sync
    worker: str  # address of the cluster worker; empty for this process
    device: str  # cpu, or cuda:0
    parameters: Parameters
    tables: tuple[ObservedTable, ...]
    stages: tuple[Stage, ...]
    tasks: tuple[ObservedTask, ...]  # by start
    memory: ObservedMemory
    processor: Processor  # of the worker that lacked most, if there are several
    roofline: str  # the rates of the lower bounds, as text
    security: Security
    sizes: Mapping[str, int]  # bytes of the proof by part
    sums: Sums | None = None  # sums that replace omitted tasks
    shards: tuple[ObservedShard, ...] = ()  # empty for an unsharded proof
    workers: tuple[ObservedWorker, ...] = ()  # empty if one process proved it
    run: GuestRun | None = None  # None for tables, and if the prover does not know the run
    compile_seconds: float = 0.0  # of preparing and proving, in which kernels were compiled
    layer: int = 0  # number of the layer of a compressed proof, from 1; 0 of any other proof
    about: str = ""  # names of the proofs that a layer is about; empty for the only one
    layers: tuple[Observation, ...] = ()  # of the layers that were made after this proof, in their order
    tree: tuple[TreePart, ...] = ()  # of the given proofs or shards, then of the layers; empty without layers

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

    @property
    def proofs(self) -> tuple[Observation, ...]:
        """Return the observations of this proof and of its layers."""
        return self, *self.layers

    def seconds(self, stage: str) -> float:
        """Return the seconds of a stage; 0 if there was none."""
        return sum(one.seconds for one in self.stages if one.name == stage)

    @property
    def end(self) -> float:
        """Return the end of the last stage or task."""
        return max(
            (end for end in chain((s.end for s in self.stages), (t.device_end for t in self.tasks))), default=0.0
        )

    @property
    def proving(self) -> float:
        """Return the seconds of the graph, summed over workers."""
        return self.seconds("prove") * max(len(self.workers), 1)

    def lane(self, thread: int) -> str:
        """Return the name of a thread of the tasks."""
        if not self.workers:
            return f"thread {thread}"
        worker = self.workers[self.maker(thread)]
        return f"{worker.address} thread {thread - worker.threads[0]}"

    def maker(self, thread: int) -> int:
        """Return the number of the worker that owns a thread; 0 without workers."""
        return next((number for number, worker in enumerate(self.workers) if thread in worker.threads), 0)

    @property
    def idle(self) -> float:
        """Return the seconds in which no task ran on host or device: the scheduler's time.

        For shards it is the sum over their graphs without the time of verification; for workers the sum over them.
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
    def rounds(self) -> tuple[RoundTime, ...]:
        """Return the sums of each round over all shards, in order of their start."""
        return self.sums.rounds if self.sums else rounds_of(self.tasks, self.processor.starved)

    @property
    def rounds_of_shards(self) -> tuple[tuple[RoundTime, ...], ...]:
        """Return `rounds` for each shard."""
        if self.sums:
            return self.sums.of_shards
        tasks: list[list[ObservedTask]] = [[] for _ in self.shards]
        for task in self.tasks if self.shards else ():
            assert task.shard is not None
            tasks[task.shard].append(task)
        return tuple(rounds_of(of_shard, self.processor.starved) for of_shard in tasks)

    @property
    def table_times(self) -> list[TableTime]:
        """Return the time of each table in each round; rounds in order, and the slowest table of each first.

        Empty if the tasks are omitted.
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
        """Return the observation with this process's stages, on `clock`; a new stage replaces one of its name."""
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
        """Return the observation with the name of a job; layers have their number, too."""
        own = ": ".join([name, *[self.about] * bool(self.about), *[f"layer {self.layer}"] * bool(self.layer)])
        return replace(self, name=own, layers=tuple(layer.named(name) for layer in self.layers))

    def of_run(self, run: GuestRun | None, compile_seconds: float) -> Observation:
        """Return the observation with the run of a guest, and the seconds of compilation in run and proof."""
        return replace(self, run=run, compile_seconds=compile_seconds)

    @property
    def cycles_per_second(self) -> float | None:
        """Return the `rate` of the run's cycles; None without a run."""
        seconds = {stage: self.seconds(stage) for stage in PROVING}
        return rate(self.run.cycles, seconds, self.compile_seconds) if self.run else None

    def of_worker(self, worker: str) -> Observation:
        """Return the observation with the address of the cluster worker that measured it."""
        stages = tuple(replace(stage, by_worker=True) for stage in self.stages)
        layers = tuple(layer.of_worker(worker) for layer in self.layers)
        tree = tuple(replace(part, worker=worker) for part in self.tree)
        return replace(self, worker=worker, stages=stages, layers=layers, tree=tree)

    def brief(self) -> Observation:
        """Return the observation without its tasks."""
        sums, layers = Sums(self.rounds, self.idle, self.rounds_of_shards), tuple(one.brief() for one in self.layers)
        return replace(self, tasks=(), sums=sums, layers=layers)

    def summary(self) -> dict[str, Any]:
        """Return the times of the proof by stage and round, and its memory, for JSON."""
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
                "run": asdict(self.run) | {"cycles_per_second": self.cycles_per_second} if self.run else None,
                "began": self.began,
                "seconds": self.end,
                "executor": self.executor,
                "worker": self.worker or None,
                "device": self.device,
                "stages": _stages_facts(self.stages),
                "compile_seconds": self.compile_seconds,
                "idle": self.idle,
                "rounds": _rounds_facts(self.rounds),
                "memory": asdict(self.memory),
                "processor": _processor_facts(self.processor),
            }
            | ({"layer": self.layer} if self.layer else {})
            | (shards if self.shards else {})
            | ({"workers": list(map(_worker_facts, self.workers))} if self.workers else {})
            | ({"tree": self._tree_facts()} if self.tree else {})
            | ({"layers": [layer.summary() for layer in self.layers]} if self.layers else {})
        )

    def _tree_facts(self) -> list[dict[str, Any]]:
        path = critical_path(self.tree)
        return [
            asdict(part) | {"seconds": part.seconds, "critical": number in path}
            for number, part in enumerate(self.tree)
        ]

    def to_json(self) -> dict[str, Any]:
        """Return everything, as docs/cli_json.md documents it: the content of ``--report out.json``."""
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
        layers = {"layers": [layer.to_json() for layer in self.layers]} if self.layers else {}
        return {"format": FORMAT} | self.summary() | more | layers

    def save(self, path: str | Path) -> None:
        """Write `to_json`; raises FileError."""
        write(Path(path), json.dumps(self.to_json(), allow_nan=False).encode())


def _stages_facts(stages: Sequence[Stage]) -> list[dict[str, Any]]:
    return [asdict(stage) | {"seconds": stage.seconds} for stage in stages]


def _rounds_facts(rounds: Sequence[RoundTime]) -> list[dict[str, Any]]:
    return [asdict(one) | {"ratio": one.ratio} for one in rounds]


def _processor_facts(processor: Processor) -> dict[str, Any]:
    return asdict(processor) | {"lacked": processor.lacked, "starved": processor.starved}


def _worker_facts(worker: ObservedWorker) -> dict[str, Any]:
    return asdict(worker) | {"processor": _processor_facts(worker.processor)}


def _task_facts(task: ObservedTask) -> dict[str, Any]:
    of_parts = {"tables": [asdict(share) for share in task.tables], "planned": task.planned._asdict()}
    return _but_no_shard(task._asdict() | of_parts)


def _but_no_shard(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields, without an absent shard."""
    return {name: value for name, value in fields.items() if name != "shard" or value is not None}
