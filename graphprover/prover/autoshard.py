"""Cutting a run so that its proof fits a device."""

import logging
from collections.abc import Callable

from graphprover.admission.admission import largest
from graphprover.device import Device
from graphprover.proof.sizes import expected_sizes
from graphprover.prover.peak_memory import memory_plan
from graphprover.prover.prepare import Prepared, PreparedShards

LEAST_CYCLE_RANGE = 1 << 16  # cycles: in shorter ones most is fixed tables, and little is saved
LESS_TIME = 0.9  # of the time, for which a run is cut into one shard more
MOST_BYTES = 2  # times the bytes of the fewest shards

_log = logging.getLogger(__name__)


def fitting(cut: Callable[[int], Prepared | PreparedShards], cycles: int, device: Device) -> Prepared | PreparedShards:
    """Cut a run into as few cycle ranges as its proof needs to fit the device's memory, by the plan.

    Args:
        cut: Prepares the statement about the run in a number of shards.
        cycles: The cycles of the run.
        device: The device that makes the proof.

    Returns:
        The prepared statement; in one shard if that fits, or if no number of shards does. If fewer columns must be held
        (`Hold`), in a few more shards if these take less time and at most twice the bytes.
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
    prepared = _faster(prepared, cut, cycles, device, budget)
    if (shards := len(prepared.shards)) > 1:
        _log.warning(
            "graphprover: %.1f GB are there; a proof in one shard takes at least %.1f GB, or too long: "
            "it is made in %d shards", budget / 1e9, first / 1e9, shards,
        )  # fmt: skip
    return prepared


def _faster(
    prepared: Prepared | PreparedShards,
    cut: Callable[[int], Prepared | PreparedShards],
    cycles: int,
    device: Device,
    budget: int,
) -> Prepared | PreparedShards:
    """Return a run that fits in its shards, or in more of them, as long as each takes less time."""
    most, plan = MOST_BYTES * size_of(prepared), memory_plan(prepared, device)
    while not plan.holds_all:
        shards = len(prepared.shards) + 1
        if shards * LEAST_CYCLE_RANGE > cycles:
            break
        more = cut(shards)
        planned = memory_plan(more, device)
        before, after = (one.seconds(device.kind, device.threads) for one in (plan, planned))
        if planned.bytes > budget or size_of(more) > most or after > LESS_TIME * before:
            break
        prepared, plan = more, planned
    return prepared


def size_of(prepared: Prepared | PreparedShards) -> int:
    """Return the expected bytes of a proof."""
    return sum(sum(expected_sizes(shard.layout).values()) for shard in prepared.shards)
