"""Where a proof's time goes: each round's time against its floor, on whatever device.

A round's floor is the longest of four times: its bytes, each array read and written once, at the speed of copying; its
multiplications, its butterflies and its Keccak-f, each at the speed of code that does nothing else. The counts are the
plan's, with nonces by their average, and the ceilings are measured in the same run.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dask.callbacks import Callback
from dask.diagnostics import Profiler

from figures import Figures
from graphprover import Proof, Statement, prove
from graphprover.graphs.planner.costs import Cost
from graphprover.graphs.planner.plan import Plan
from graphprover.graphs.planner.roofline import Roofline
from graphprover.graphs.task_keys import place_of


class Synchronised:
    """A device that waits at the end of every task for what the task has enqueued.

    Without it a task's time is that of enqueuing, and waiting counts where the host next needs a result.
    """

    def __init__(self, device: Any) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    @contextmanager
    def task(self) -> Iterator[None]:
        with self._device.task():
            yield
            self._device.synchronize()


@dataclass(frozen=True)
class Spent:
    """The seconds of one proof."""

    proof: float  # from the statement to the bytes
    graph: float  # of these, in which Dask ran the graph
    rounds: Mapping[str, float]  # of these, in tasks

    @property
    def tasks(self) -> float:
        return sum(self.rounds.values())

    @property
    def scheduler(self) -> float:
        """Between the tasks; of a device that runs one task at a time."""
        return self.graph - self.tasks


class _Graph(Callback):
    """How long Dask runs a graph."""

    seconds = 0.0

    def _start(self, dsk: Any) -> None:
        self.seconds = -time.perf_counter()

    def _finish(self, dsk: Any, state: Any, errored: bool) -> None:
        self.seconds += time.perf_counter()


def timed(statement: Statement, device: Any) -> tuple[Proof, Spent]:
    """A proof, and how long it took."""
    with Profiler() as tasks, _Graph() as graph:
        started = time.perf_counter()
        proof = prove(statement, rate=2, device=device)
        seconds = time.perf_counter() - started
    rounds: dict[str, float] = defaultdict(float)
    for task in tasks.results:
        rounds[place_of(task.key).round] += task.end_time - task.start_time
    return proof, Spent(seconds, graph.seconds, rounds)


def report(out: Figures, name: str, spent: Spent, plan: Plan, roofline: Roofline) -> None:
    """Print each round's time in tasks, its floor, what that is the time of, and the ratio; slowest first."""
    costs: dict[str, Cost] = defaultdict(Cost)
    tasks = Counter(task.round for task in plan.tasks.values())
    for task in plan.tasks.values():
        costs[task.round] += task.cost
    out.text(f"{'round':20}{'tasks':>6}{'ms':>10}{'floor':>10}{'ratio':>8}  bound by")
    lower_bounds = 0.0
    for round_ in sorted(tasks, key=lambda name: -spent.rounds.get(name, 0.0)):
        parts = roofline.seconds(costs[round_])
        bound = max(parts, key=parts.__getitem__)
        lower_bounds += parts[bound]
        _line(out, name, round_, tasks[round_], spent.rounds.get(round_, 0.0), parts[bound], bound)
    _line(out, name, "between tasks", 0, spent.scheduler, 0.0, "")
    _line(out, name, "before and after", 0, spent.proof - spent.graph, 0.0, "")
    _line(out, name, "whole proof", sum(tasks.values()), spent.proof, lower_bounds, "all of these")


def _line(out: Figures, name: str, part: str, tasks: int, seconds: float, floor: float, bound: str) -> None:
    counted = str(tasks) if tasks else ""
    text = f"{part:20}{counted:>6}{1000 * seconds:10.2f}"
    out.text(f"{text}{1000 * floor:10.2f}{seconds / floor:8.1f}  {bound}" if floor else text)
    out(f"{name}: in {part}", 1000 * seconds, "ms", floor / seconds if floor and seconds else None, tasks=tasks)
