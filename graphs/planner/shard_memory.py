"""The memory plan of a sharded proof on one device: which values of each shard to cache while others are made.

Shards commit in order and are finished in reverse order. So the last shard has all remaining memory, and the cached
values of a shard occupy memory while later shards are made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from graphprover.device import Array
from graphprover.graphs.batches import NO_HOLDS, Holds
from graphprover.graphs.planner.costs import Cost, kept_by_size
from graphprover.graphs.planner.holding import fewest_changes
from graphprover.graphs.planner.plan import On, Peak, make_plans_of_shard
from graphprover.graphs.proof_graph import Keep
from graphprover.graphs.task_keys import ShardNumber
from graphprover.protocol.layout import Layout
from graphprover.statement.trace_task import TraceTask


@dataclass(frozen=True)
class ShardPlan:
    """The plan of a shard with its cached values."""

    layout: Layout
    keep: Keep
    holds: Holds  # what the device holds of each table within a graph
    kept: int  # cached bytes between its commitment and its second graph
    peak: Peak  # of its two graphs, without arrays that a device caches by size
    cost: Cost  # of both graphs
    tasks: tuple[int, int]  # of each graph


@dataclass(frozen=True)
class ShardsPlan:
    """The plan of all shards of a proof on one device."""

    shards: tuple[ShardPlan, ...]
    by_size: int  # bytes that the device caches by size

    @property
    def tasks(self) -> int:
        """Return the number of tasks of all graphs."""
        return sum(sum(shard.tasks) for shard in self.shards)

    @property
    def waiting(self) -> list[int]:
        """Return for each shard the bytes held by earlier shards and by size while it is made."""
        return list(accumulate((shard.kept for shard in self.shards[:-1]), initial=self.by_size))

    @property
    def peaks(self) -> list[int]:
        """Return the peak bytes while each shard is made."""
        return [waiting + shard.peak.bytes for waiting, shard in zip(self.waiting, self.shards, strict=True)]

    @property
    def peak(self) -> Peak:
        """Return the peak memory of the proof; its task is named with its shard."""
        most, index = max((bytes_, -index) for index, bytes_ in enumerate(self.peaks))
        number, peak = ShardNumber(-index, len(self.shards)), self.shards[-index].peak
        return Peak(most, f"{number}: {peak.round}", peak.name)


Given = Sequence[tuple[Layout, Sequence[Array | TraceTask]]]  # each shard and its traces


def plan_shards(shards: Given, device: On, budget: int) -> ShardsPlan:
    """Return the plan that caches the most within ``budget`` bytes, if that is possible.

    In this order: all trees, which save the most hashing for each byte; everything of the last shard, which waits while
    no other is made; traces; extensions. If no plan of this kind fits, fewer columns are held within each graph first.
    """
    trees = _at_least(shards, device, Keep.TREES, budget)
    holds = [NO_HOLDS] * len(shards)
    if trees.peak.bytes > budget:
        holds = [
            _holds(layout, main, device, Keep.TREES, budget - waiting)
            for (layout, main), waiting in zip(shards, trees.waiting, strict=True)
        ]
    kept = {keep: plan_keeping(shards, device, keep, holds) for keep in Keep}
    last, others = [len(shards) - 1], list(reversed(range(len(shards) - 1)))
    plan = kept[Keep.NOTHING]
    for keep, indices in (
        (Keep.TREES, last + others),
        (Keep.TRACES, last),
        (Keep.ALL, last),
        (Keep.TRACES, others),
        (Keep.ALL, others),
    ):
        for index in indices:
            changed = (*plan.shards[:index], kept[keep].shards[index], *plan.shards[index + 1 :])
            more = replace(plan, shards=changed)
            # Trees may lower a shard's peak: its extensions are then recomputed only after the lookup columns.
            if more.peak.bytes <= max(budget, plan.peak.bytes):
                plan = more
    return plan


def plan_recomputed(layout: Layout, main: Sequence[Array | TraceTask], device: On, budget: int) -> ShardPlan:
    """Return the plan of a shard without cached values that takes the least time within ``budget`` bytes."""
    most = budget - kept_by_size(layout)
    plan = _planned(layout, main, device, Keep.NOTHING, NO_HOLDS)
    if plan.peak.bytes <= most:
        return plan
    return _planned(layout, main, device, Keep.NOTHING, _holds(layout, main, device, Keep.NOTHING, most))


def _holds(layout: Layout, main: Sequence[Array | TraceTask], device: On, keep: Keep, budget: int) -> Holds:
    """Return what to hold of each table of a shard so that its own peak is at most ``budget`` bytes."""

    def peak(holds: Holds) -> int:
        return _planned(layout, main, device, keep, holds).peak.bytes

    return fewest_changes(layout, budget, peak)


def _at_least(shards: Given, device: On, keep: Keep, budget: int) -> ShardsPlan:
    """Return the plan that caches this much of all shards, or nothing if only that fits."""
    nothing = plan_keeping(shards, device, Keep.NOTHING)
    return nothing if nothing.peak.bytes <= budget else plan_keeping(shards, device, keep)


def plan_keeping(shards: Given, device: On, keep: Keep, holds: Sequence[Holds] = ()) -> ShardsPlan:
    """Return the plan with the same caching for each shard; ``holds``: of each shard, by default extensions."""
    given = zip(shards, holds or [NO_HOLDS] * len(shards), strict=True)
    planned = tuple(_planned(layout, main, device, keep, of_shard) for (layout, main), of_shard in given)
    return ShardsPlan(planned, kept_by_size(*{layout for layout, _ in shards}))


_plans: dict[object, ShardPlan] = {}  # by shape
_SHAPES = 1000  # cached at most


def _planned(layout: Layout, main: Sequence[Array | TraceTask], device: On, keep: Keep, holds: Holds) -> ShardPlan:
    made = tuple(isinstance(trace, TraceTask) for trace in main)
    shape = layout, made, device, keep, tuple(holds.items())
    if shape not in _plans:
        if len(_plans) >= _SHAPES:
            _plans.clear()
        first, last = make_plans_of_shard(layout, keep, device.log_batch_rows, main, device.loads, holds)
        peak = max(first.peak(device.threads), last.peak(device.threads), key=lambda peak: peak.bytes)
        peak = replace(peak, bytes=peak.bytes - kept_by_size(layout))
        kept = sum(last.tasks[key].cost.kept for key in last.held)
        tasks = len(first.tasks), len(last.tasks)
        _plans[shape] = ShardPlan(layout, keep, holds, kept, peak, first.total + last.total, tasks)
    return _plans[shape]
