"""When each shard of a proof commits and is finished by its plan, and what memory is held meanwhile."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from graphprover.graphs.planner.costs import kept_by_size
from graphprover.graphs.planner.plan import Plan, make_plan, make_plans_of_shard
from graphprover.graphs.planner.roofline import Roofline
from graphprover.graphs.planner.shard_memory import Given, On, ShardsPlan, plan_keeping
from graphprover.graphs.proof_graph import Keep

COMMIT, FINISH = "commit", "finish"


@dataclass(frozen=True)
class Part:
    """One of the two graphs of a shard."""

    name: str  # COMMIT or FINISH
    shard: int
    plan: Plan
    start: float  # seconds, by the model
    seconds: float
    waiting: int  # bytes of shards that wait while it runs, its own among them once it has committed
    peak: int  # bytes that are held at most meanwhile

    @property
    def end(self) -> float:
        return self.start + self.seconds


@dataclass(frozen=True)
class Timed:
    """The shards one after another where the same is kept of each."""

    keep: Keep
    plan: ShardsPlan
    parts: tuple[Part, ...]  # in the order in which they run

    @property
    def seconds(self) -> float:
        """Of the whole proof."""
        return self.parts[-1].end

    @property
    def by_shard(self) -> list[dict[str, Part]]:
        """Both parts of each shard, by their names."""
        found: list[dict[str, Part]] = [{} for _ in self.plan.shards]
        for part in self.parts:
            found[part.shard][part.name] = part
        return found


@dataclass(frozen=True)
class ShardsTimes:
    """What shards take on a device whose rates are assumed."""

    shards: Given
    device: On
    roofline: Roofline

    @cached_property
    def all_kept(self) -> Timed:
        """The least time, for the most memory."""
        return self._timed(Keep.ALL)

    @cached_property
    def nothing_kept(self) -> Timed:
        """The least memory: what a shard has committed to is made again."""
        return self._timed(Keep.NOTHING)

    @cached_property
    def heaviest(self) -> int:
        """The shard that takes longest where nothing is made twice."""
        seconds = [sum(part.seconds for part in parts.values()) for parts in self.all_kept.by_shard]
        return max(range(len(seconds)), key=seconds.__getitem__)

    def alone(self, shard: int) -> Plan:
        """The plan of one shard as if it were a whole proof, so with nothing made twice."""
        layout, main = self.shards[shard]
        return make_plan(layout, self.device.log_batch_rows, main, self.device.loads)

    def _timed(self, keep: Keep) -> Timed:
        plan = plan_keeping(self.shards, self.device, keep)
        return Timed(keep, plan, tuple(self._parts(plan, keep)))

    def _parts(self, plan: ShardsPlan, keep: Keep) -> Iterator[Part]:
        on = self.device
        plans = [make_plans_of_shard(layout, keep, on.log_batch_rows, main, on.loads) for layout, main in self.shards]
        now, count, waiting = 0.0, len(plans), plan.waiting
        order = [*((COMMIT, index) for index in range(count)), *((FINISH, index) for index in reversed(range(count)))]
        for name, index in order:
            of_graph = plans[index][name == FINISH]
            seconds = sum(self.roofline.modelled(task.cost).seconds for task in of_graph.tasks.values())
            peak = waiting[index] + of_graph.peak_bytes(on.threads) - kept_by_size(of_graph.layout)
            held = waiting[index] + (plan.shards[index].kept if name == FINISH else 0)
            yield Part(name, index, of_graph, now, seconds, held, peak)
            now += seconds
