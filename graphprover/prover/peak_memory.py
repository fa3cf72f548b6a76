"""The device memory that a proof needs, by the plan."""

from dataclasses import dataclass

import numpy as np

from graphprover.admission.admission import largest
from graphprover.device import Device
from graphprover.device.choose import CPU
from graphprover.graphs.planner.plan import Peak, peak_of
from graphprover.graphs.planner.shard_memory import On, ShardsPlan, plan_shards
from graphprover.prover.prepare import Prepared, PreparedShards


@dataclass(frozen=True)
class MemoryPlan:
    """The memory of a proof by one device."""

    bytes: int  # with the arrays that a CPU proves
    peak: Peak  # of the graphs
    shards: ShardsPlan | None  # see `shards_plan`


def memory_plan(prepared: Prepared | PreparedShards, device: Device) -> MemoryPlan:
    """Return the memory of a proof by a device, which keeps as much of each shard as there is room for."""
    plan = shards_plan(prepared, device)
    peak = plan.peak if plan else peak_of(prepared.shards[0].layout, device, prepared.shards[0].traces)
    return MemoryPlan(peak.bytes + given_bytes(device, *prepared.shards), peak, plan)


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
