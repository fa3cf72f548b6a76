"""What a device keeps of each shard of a proof while it makes the others, one after another.

Shards commit in order, and are finished in the opposite one: so the last has everything left, and what is kept of a
shard is there while those after it are made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from graphprover.device import Array, Device
from graphprover.graphs.planner.costs import Cost, kept_by_size
from graphprover.graphs.planner.plan import Peak, make_plans_of_shard
from graphprover.graphs.proof_graph import Keep
from graphprover.graphs.task_keys import ShardNumber
from graphprover.protocol.layout import Layout
from graphprover.statement.trace_task import TraceTask


@dataclass(frozen=True)
class ShardPlan:
    """A shard with what is kept of it."""

    layout: Layout
    keep: Keep
    kept: int  # bytes from when it has committed to when it is finished
    peak: Peak  # of its own two graphs, without what a device keeps by size
    cost: Cost  # of both
    tasks: tuple[int, int]  # of each graph


@dataclass(frozen=True)
class ShardsPlan:
    """All shards of a proof, by one device."""

    shards: tuple[ShardPlan, ...]
    by_size: int  # bytes that the device keeps for its life

    @property
    def tasks(self) -> int:
        """Of all graphs."""
        return sum(sum(shard.tasks) for shard in self.shards)

    @property
    def waiting(self) -> list[int]:
        """Bytes that are held of other shards and by size while each shard is made."""
        return list(accumulate((shard.kept for shard in self.shards[:-1]), initial=self.by_size))

    @property
    def peaks(self) -> list[int]:
        """The most bytes that are held at once while each shard is made."""
        return [waiting + shard.peak.bytes for waiting, shard in zip(self.waiting, self.shards, strict=True)]

    @property
    def peak(self) -> Peak:
        """The most memory that the proof holds at once; its task is named with its shard."""
        most, index = max((bytes_, -index) for index, bytes_ in enumerate(self.peaks))
        number, peak = ShardNumber(-index, len(self.shards)), self.shards[-index].peak
        return Peak(most, f"{number}: {peak.round}", peak.name)


@dataclass(frozen=True)
class On:
    """What a plan depends on of a device."""

    log_batch_rows: int
    threads: int
    loads: bool  # its memory is its own

    @classmethod
    def of(cls, device: Device) -> "On":
        return cls(device.log_batch_rows, device.threads, device.memory.keeps)


Given = Sequence[tuple[Layout, Sequence[Array | TraceTask]]]  # each shard and its traces


def plan_shards(shards: Given, device: On, budget: int) -> ShardsPlan:
    """What to keep so that the proof takes at most so many bytes, if that can be.

    First all trees, for they are the most hashing for the fewest bytes; then all of the last shard, which waits while
    no other is made; then traces; then extensions.
    """
    kept = {keep: plan_keeping(shards, device, keep) for keep in Keep}
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
            # Trees may lower a shard's peak: its extensions are made again only once lookup columns are there.
            if more.peak.bytes <= max(budget, plan.peak.bytes):
                plan = more
    return plan


def plan_keeping(shards: Given, device: On, keep: Keep) -> ShardsPlan:
    """The plan where that is kept of each shard."""
    planned = tuple(_planned(layout, main, device, keep) for layout, main in shards)
    return ShardsPlan(planned, kept_by_size(*{layout for layout, _ in shards}))


_plans: dict[object, ShardPlan] = {}  # of shapes that were planned
_SHAPES = 1000  # that are kept


def _planned(layout: Layout, main: Sequence[Array | TraceTask], device: On, keep: Keep) -> ShardPlan:
    shape = layout, tuple(isinstance(trace, TraceTask) for trace in main), device, keep
    if shape not in _plans:
        if len(_plans) >= _SHAPES:
            _plans.clear()
        first, last = make_plans_of_shard(layout, keep, device.log_batch_rows, main, device.loads)
        peak = max(first.peak(device.threads), last.peak(device.threads), key=lambda peak: peak.bytes)
        peak = replace(peak, bytes=peak.bytes - kept_by_size(layout))
        kept = sum(last.tasks[key].cost.kept for key in last.held)
        tasks = len(first.tasks), len(last.tasks)
        _plans[shape] = ShardPlan(layout, keep, kept, peak, first.total + last.total, tasks)
    return _plans[shape]
