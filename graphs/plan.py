"""What a proof costs before it runs: operations and bytes of every task, and the most memory at once.

The tasks and their dependencies are those of the graph itself, built on empty traces; what each costs is in
``graphs.costs``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from typing import cast

import numpy as np
from dask.order import order

from graphprover.device.interface import CPU_BATCH, Array, Device
from graphprover.graphs import proof
from graphprover.graphs.batches import batches
from graphprover.graphs.costs import Cost, Costs, kept_by_size
from graphprover.graphs.tasks import Graph
from graphprover.notebook import html
from graphprover.protocol.layout import Layout
from graphprover.recipe import Recipe


@dataclass(frozen=True)
class Task:
    """One task of the plan."""

    round: str
    name: str  # batch of tables, commitment or height
    needs: tuple[str, ...]  # keys of other tasks
    cost: Cost


@dataclass(frozen=True)
class Peak:
    """The most memory that a proof holds at once, and the task that needs it."""

    bytes: int
    round: str
    name: str  # batch of tables, commitment or height

    def __str__(self) -> str:
        return f"{self.round} of {self.name}"


@dataclass(frozen=True)
class Plan:
    """All tasks of a proof, by key, in the order in which one thread would run them."""

    layout: Layout
    tasks: Mapping[str, Task]

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
        return f"Plan of {len(self.tasks)} tasks for {len(self.layout.tables)} tables"

    @cached_property
    def total(self) -> Cost:
        """The sum over all tasks."""
        return sum((task.cost for task in self.tasks.values()), Cost())

    def peak_bytes(self, threads: int) -> int:
        """The bytes of `peak`."""
        return self.peak(threads).bytes

    def peak(self, threads: int) -> Peak:
        """The most memory at once, with this many tasks side by side, beyond the traces that were there before.

        Tasks run in order; a result is freed when the last task that needs it ends. Tables of sizes that a device keeps
        for its life are counted from the start.
        """
        keys = list(self.tasks)
        last_use = dict.fromkeys(keys, len(keys))
        for position, key in enumerate(keys):
            for needed in self.tasks[key].needs:
                last_use[needed] = position
        freed_at: dict[int, int] = {}
        live = kept_by_size(self.layout)
        peak = Peak(live, "", "")
        for position, key in enumerate(keys):
            task = self.tasks[key]
            live += task.cost.kept
            beside = [self.tasks[other] for other in keys[position + 1 : position + threads]]
            others = sum(t.cost.kept + t.cost.scratch for t in beside if t.round == task.round)
            if (now := live + task.cost.scratch + others) > peak.bytes:
                peak = Peak(now, task.round, task.name)
            freed_at[last_use[key]] = freed_at.get(last_use[key], 0) + task.cost.kept
            live -= freed_at.pop(position, 0)
        return peak


def make_plan(
    layout: Layout, log_batch_rows: int = CPU_BATCH, main: Sequence[Array | Recipe] = (), loaded: bool = False
) -> Plan:
    """The plan of a proof of this layout on a device that batches tables up to so many rows.

    ``main``: the traces where they are known (`prover.checked_traces`); the proof itself makes those that are recipes.
    ``loaded``: it copies the others to the device, which has memory of its own.
    """
    empty = {table: np.empty((air.main_width, 0), dtype=np.uint64) for table, air in enumerate(layout.tables)}
    preprocessed = {table: empty[table] for table in layout.preprocessed_tables}
    traces = empty | dict(enumerate(main))
    public_values = [(0,) * air.num_public_values for air in layout.tables]
    device = cast(Device, None)  # the graph is never run
    batched = batches(layout, log_batch_rows)
    task = proof.build(Graph(device, "", batched), layout, "", traces, preprocessed, public_values)
    graph = dict(task.__dask_graph__())
    made = [table for table, trace in traces.items() if isinstance(trace, Recipe)]
    costs = Costs(layout, batched, made, loaded)
    positions = order(graph)
    tasks = {}
    for key in sorted(graph, key=positions.__getitem__):
        round_, _, rest = str(key).partition("-")
        name = rest.removesuffix("-")
        needs = tuple(sorted(str(needed) for needed in graph[key].dependencies))
        tasks[str(key)] = Task(round_, name, needs, costs.of(round_, name))
    return Plan(layout, tasks)


_peaks: dict[object, Peak] = {}  # of shapes that were proved
_SHAPES = 1000  # that are kept


def peak_of(layout: Layout, device: Device, main: Sequence[Array | Recipe]) -> Peak:
    """The peak of a proof by a device, planned once for each shape.

    The shape is the layout and which traces are recipes; what the recipes share is taken to follow from that.
    """
    made = tuple(isinstance(trace, Recipe) for trace in main)
    shape = layout, made, device.log_batch_rows, device.threads, device.memory.keeps
    peak = _peaks.get(shape)
    if peak is None:
        if len(_peaks) >= _SHAPES:
            _peaks.clear()
        peak = make_plan(layout, device.log_batch_rows, main, loaded=device.memory.keeps).peak(device.threads)
        _peaks[shape] = peak
    return peak
