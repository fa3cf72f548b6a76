"""The plan of a proof: operations and bytes of every task, and the peak memory, before it runs.

The tasks and dependencies come from the graph itself, built on empty traces; ``planner.costs`` has the cost of each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from typing import Any, cast

import numpy as np
from dask.delayed import Delayed

from graphprover.device.interface import CPU_BATCH, Array, Device
from graphprover.graphs import proof_graph
from graphprover.graphs.batches import NO_HOLDS, Holds, batches
from graphprover.graphs.builder import Graph
from graphprover.graphs.one_thread import steps_of
from graphprover.graphs.planner.costs import Cost, Costs, kept_by_size
from graphprover.graphs.proof_graph import Keep
from graphprover.graphs.task_keys import Key, ShardNumber, place_of
from graphprover.protocol.digests import DIGEST_BYTES
from graphprover.protocol.joint import Joint
from graphprover.protocol.layout import Layout
from graphprover.runtime.display.notebook import html
from graphprover.statement.trace_task import TraceTask


@dataclass(frozen=True)
class Task:
    """One task of the plan."""

    round: str
    name: str  # batch of tables, commitment or height
    needs: tuple[str, ...]  # keys of other tasks
    cost: Cost


@dataclass(frozen=True)
class Peak:
    """The peak memory of a proof, and the task that needs it."""

    bytes: int
    round: str
    name: str  # batch of tables, commitment or height

    def __str__(self) -> str:
        return f"{self.round} of {self.name}"


@dataclass(frozen=True)
class Plan:
    """All tasks of a proof, by ``{round} of {name}``, in the order of one thread."""

    layout: Layout
    tasks: Mapping[str, Task]
    costs: Costs  # the cost model
    held: frozenset[str] = frozenset()  # tasks with cached results, held until their last reader

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        of_round: dict[str, list[Cost]] = {}
        for task in self.tasks.values():
            of_round.setdefault(task.round, []).append(task.cost)
        sums = {name: sum(costs, Cost()) for name, costs in of_round.items()}
        rows = [(name, len(of_round[name]), *astuple(cost)) for name, cost in sums.items()]
        facts = {"peak bytes beyond the traces, one task at a time": self.peak_bytes(1)}
        return html(self._title, facts, [("round", "tasks", *(field.name for field in fields(Cost))), *rows])

    @property
    def _title(self) -> str:
        tables = len(self.layout.tables)
        return f"Plan of {len(self.tasks)} tasks for {tables} table{'s' * (tables != 1)}"

    @cached_property
    def total(self) -> Cost:
        """Return the sum over all tasks."""
        return sum((task.cost for task in self.tasks.values()), Cost())

    def peak_bytes(self, threads: int) -> int:
        """Return the bytes of `peak`."""
        return self.peak(threads).bytes

    def peak(self, threads: int) -> Peak:
        """Return the peak memory with ``threads`` tasks in parallel, beyond traces that exist before the proof.

        Tasks run in order; a result is freed when its last reader ends. Arrays that a device caches by size are counted
        from the start.
        """
        keys = list(self.tasks)
        last_use = dict.fromkeys(keys, len(keys))
        for position, key in enumerate(keys):
            for needed in self.tasks[key].needs:
                last_use[needed] = position
        freed_at: dict[int, int] = {}
        live = kept_by_size(self.layout) + sum(self.tasks[key].cost.kept for key in self.held)
        peak = Peak(live, "", "")
        for position, key in enumerate(keys):
            task = self.tasks[key]
            live += 0 if key in self.held else task.cost.kept
            beside = [self.tasks[other] for other in keys[position + 1 : position + threads]]
            others = sum(t.cost.kept + t.cost.scratch for t in beside if t.round == task.round)
            if (now := live + task.cost.scratch + others) > peak.bytes:
                peak = Peak(now, task.round, task.name)
            freed_at[last_use[key]] = freed_at.get(last_use[key], 0) + task.cost.kept
            live -= freed_at.pop(position, 0)
        return peak


@dataclass(frozen=True)
class On:
    """The parameters of a device that a plan depends on."""

    log_batch_rows: int
    threads: int
    loads: bool  # whether it has its own memory

    @classmethod
    def of(cls, device: Device) -> "On":
        return cls(device.log_batch_rows, device.threads, device.memory.keeps)


def make_plan(
    layout: Layout,
    log_batch_rows: int = CPU_BATCH,
    main: Sequence[Array | TraceTask] = (),
    loaded: bool = False,
    holds: Holds = NO_HOLDS,
) -> Plan:
    """Return the plan of a proof, or of a shard as if it were made by one graph.

    Args:
        layout: The layout of the proof.
        log_batch_rows: log2 of the most rows of tables that share tasks.
        main: The traces, if known (`prepare.checked_traces`); the proof generates the trace tasks among them.
        loaded: Whether the other traces are copied to the device, which has its own memory.
        holds: The columns that the device holds of each table.
    """
    shard = ShardNumber(0, 2) if layout.shard else None
    graph = Graph(_NO_DEVICE, "", batches(layout, log_batch_rows, holds), shard)
    return _plan(graph, layout, proof_graph.build(graph, *_empty(layout, main)), main, loaded)


def make_plans_of_shard(
    layout: Layout,
    keep: Keep,
    log_batch_rows: int = CPU_BATCH,
    main: Sequence[Array | TraceTask] = (),
    loaded: bool = False,
    holds: Holds = NO_HOLDS,
) -> tuple[Plan, Plan]:
    """Return the plans of the two graphs of a shard: up to its commitment, and from the cached values to its proof.

    ``keep`` is the level of caching; other arguments are as in `make_plan`.
    """
    given, batched = _empty(layout, main), batches(layout, log_batch_rows, holds)
    graphs = [Graph(_NO_DEVICE, "", batched, ShardNumber(0, 2)) for _ in range(3)]
    nodes = proof_graph.begin(graphs[0], *given).cached_nodes(layout, keep)
    graphs[2].cached.update((cast(Key, node.key), None) for node in nodes)
    first = _plan(graphs[1], layout, proof_graph.committing(graphs[1], *given, keep=keep), main, loaded)
    last = proof_graph.finishing(graphs[2], *given, joint=Joint((bytes(DIGEST_BYTES),) * 2), nonce=0)
    return first, _plan(graphs[2], layout, last, main, loaded)


_NO_DEVICE = cast(Device, None)  # for graphs that never run


def _empty(layout: Layout, main: Sequence[Array | TraceTask]) -> tuple[Any, ...]:
    """Return the inputs of a graph with empty columns and values, except for known trace tasks."""
    empty = {table: np.empty((air.main_width, 0), dtype=np.uint64) for table, air in enumerate(layout.tables)}
    preprocessed = {table: empty[table] for table in layout.preprocessed_tables}
    public_values = [(0,) * air.num_public_values for air in layout.tables]
    return layout, "", empty | dict(enumerate(main)), preprocessed, public_values


def _plan(graph: Graph, layout: Layout, task: Delayed, main: Sequence[Array | TraceTask], loaded: bool) -> Plan:
    """Return the plan of a graph."""
    made = [table for table, trace in enumerate(main) if isinstance(trace, TraceTask)]
    costs = Costs(layout, graph.batches, made, loaded)
    found = dict(task.__dask_graph__())
    keys, tasks, held = list(found), {}, set()
    for step in steps_of(found):
        key = keys[step.task]
        place = place_of(key)
        needs = tuple(sorted(str(place_of(needed)) for needed in found[key].dependencies))
        cost = costs.of(*place)
        if key in graph.cached:
            held.add(str(place))
            cost = Cost(kept=cost.kept)
        tasks[str(place)] = Task(*place, needs, cost)
    return Plan(layout, tasks, costs, frozenset(held))
