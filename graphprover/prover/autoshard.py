"""Cutting a run so that its proof fits a device."""

import logging
from collections.abc import Callable

from graphprover.admission.admission import largest
from graphprover.device import Device
from graphprover.prover.peak_memory import memory_plan
from graphprover.prover.prepare import Prepared, PreparedShards

LEAST_CYCLE_RANGE = 1 << 16  # cycles: in shorter ones most is fixed tables, and little is saved

_log = logging.getLogger(__name__)


def fitting(cut: Callable[[int], Prepared | PreparedShards], cycles: int, device: Device) -> Prepared | PreparedShards:
    """Cut a run into as few cycle ranges as its proof needs to fit the device's memory, by the plan.

    Args:
        cut: Prepares the statement about the run in a number of shards.
        cycles: The cycles of the run.
        device: The device that makes the proof.

    Returns:
        The prepared statement; in one shard if that fits, or if no number of shards does.
    """
    whole = prepared = cut(1)
    budget, shards = largest(device), 1
    first = needed = memory_plan(prepared, device).bytes
    while needed > budget:
        shards = max(shards + 1, -(-shards * needed // max(budget, 1)))
        if shards * LEAST_CYCLE_RANGE > cycles:
            return whole
        prepared = cut(shards)
        needed = memory_plan(prepared, device).bytes
    if shards > 1:
        _log.warning(
            "graphprover: a proof in one shard takes %.1f GB, %.1f GB are there: it is made in %d shards",
            first / 1e9, budget / 1e9, shards,
        )  # fmt: skip
    return prepared
