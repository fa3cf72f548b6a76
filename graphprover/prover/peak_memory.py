"""The device memory that a proof needs, by the plan."""

from dataclasses import dataclass, field

import numpy as np

from graphprover.admission.admission import largest
from graphprover.device import Device
from graphprover.device.choose import CPU
from graphprover.graphs.batches import Holds
from graphprover.graphs.planner.holding import plan_whole
from graphprover.graphs.planner.plan import On, Peak
from graphprover.graphs.planner.shard_memory import ShardsPlan, plan_shards
from graphprover.prover.prepare import Prepared, PreparedShards


@dataclass(frozen=True)
class MemoryPlan:
    """The memory of a proof by one device."""

    bytes: int  # with the arrays that a CPU proves
    peak: Peak  # of the graphs
    shards: ShardsPlan | None  # see `shards_plan`
    holds: Holds = field(default_factory=dict)  # of a proof in one shard: what the device holds of each batch


def memory_plan(prepared: Prepared | PreparedShards, device: Device) -> MemoryPlan:
    """Return the memory of a proof by a device, which holds as much between rounds and graphs as there is room for."""
    given, plan = given_bytes(device, *prepared.shards), shards_plan(prepared, device)
    if plan:
        return MemoryPlan(plan.peak.bytes + given, plan.peak, plan)
    ((layout, traces),) = prepared.shapes
    whole = plan_whole(layout, traces, On.of(device), largest(device) - given)
    return MemoryPlan(whole.peak.bytes + given, whole.peak, None, whole.holds)


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
