"""The device memory that a proof needs, by the plan."""

from dataclasses import dataclass, field

import numpy as np

from graphprover.admission.admission import largest
from graphprover.device import Device
from graphprover.device.choose import CPU
from graphprover.graphs.batches import Holds
from graphprover.graphs.planner.costs import Cost
from graphprover.graphs.planner.holding import plan_whole
from graphprover.graphs.planner.plan import On, Peak
from graphprover.graphs.planner.roofline import assumed
from graphprover.graphs.planner.shard_memory import ShardsPlan, plan_shards
from graphprover.prover.prepare import Prepared, PreparedShards

# Of a host, fitted to sha256 of 1 MiB in one, two and four shards on one GPU (docs/performance.md#shards).
SECONDS_OF_TASK = 5e-4


@dataclass(frozen=True)
class MemoryPlan:
    """The memory of a proof by one device."""

    bytes: int  # with the arrays that a CPU proves
    peak: Peak  # of the graphs
    shards: ShardsPlan | None  # see `shards_plan`
    cost: Cost  # of all graphs
    tasks: int
    holds: Holds = field(default_factory=dict)  # of a proof in one shard: the columns held of each table

    @property
    def holds_all(self) -> bool:
        """Return whether all extensions are held within a graph."""
        return not (any(shard.holds for shard in self.shards.shards) if self.shards else self.holds)

    def seconds(self, kind: str, threads: int) -> float:
        """Return the modelled time on a kind of device, with the host's time for the tasks."""
        return assumed(kind, threads).roofline.modelled(self.cost).seconds + SECONDS_OF_TASK * self.tasks


def memory_plan(prepared: Prepared | PreparedShards, device: Device) -> MemoryPlan:
    """Return the memory of a proof by a device, which holds as much between rounds and graphs as there is room for."""
    given, plan = given_bytes(device, *prepared.shards), shards_plan(prepared, device)
    if plan:
        cost = sum((shard.cost for shard in plan.shards), Cost())
        return MemoryPlan(plan.peak.bytes + given, plan.peak, plan, cost, plan.tasks)
    ((layout, traces),) = prepared.shapes
    whole = plan_whole(layout, traces, On.of(device), largest(device) - given)
    return MemoryPlan(whole.peak.bytes + given, whole.peak, None, whole.cost, len(whole.costs), whole.holds)


def shards_plan(prepared: Prepared | PreparedShards, device: Device) -> ShardsPlan | None:
    """Return which arrays of each shard stay between its two graphs; None for one shard, which has one graph."""
    if len(prepared.shards) == 1:
        return None
    return plan_shards(prepared.shapes, On.of(device), largest(device) - given_bytes(device, *prepared.shards))


def given_bytes(device: Device, *shards: Prepared) -> int:
    """Return the bytes of the arrays that a CPU proves; 0 for a GPU, which gets copies."""
    return array_bytes(*shards) if device.kind == CPU else 0


def array_bytes(*shards: Prepared) -> int:
    """Return the bytes of all traces and preprocessed columns that are arrays of the host."""
    arrays = [array for shard in shards for array in (*shard.traces, *shard.preprocessed.values())]
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
