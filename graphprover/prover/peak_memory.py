"""What a proof takes of a device's memory."""

from dataclasses import replace

import numpy as np

from graphprover.admission.admission import largest
from graphprover.device import Device
from graphprover.device.choose import CPU
from graphprover.graphs.planner.plan import Peak, peak_of
from graphprover.graphs.planner.shard_memory import On, ShardsPlan, plan_shards
from graphprover.prover.prepare import Prepared, PreparedShards


def plan_for(prepared: PreparedShards, device: Device) -> ShardsPlan:
    """What the device keeps of each shard, as far as there is room."""
    return plan_shards(prepared.shapes, On.of(device), largest(device) - given_bytes(device, *prepared.shards))


def peak_bytes(prepared: Prepared | PreparedShards, device: Device) -> int:
    """What a proof takes of a device's memory at least."""
    if isinstance(prepared, Prepared):
        return peak_for(prepared, device).bytes
    return plan_for(prepared, device).peak.bytes + given_bytes(device, *prepared.shards)


def peak_for(prepared: Prepared, device: Device) -> Peak:
    """What a proof takes of a device's memory; on a CPU with the arrays that it proves, of which a GPU gets copies."""
    peak = peak_of(prepared.layout, device, prepared.traces)
    return replace(peak, bytes=peak.bytes + given_bytes(device, prepared))


def given_bytes(device: Device, *shards: Prepared) -> int:
    """Of the arrays that a CPU proves, which a GPU gets copies of."""
    arrays = [array for shard in shards for array in (*shard.traces, *shard.preprocessed.values())]
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)) if device.kind == CPU else 0
