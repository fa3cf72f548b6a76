"""The expected cost of a proof at each rate, and the smallest proof within a time."""

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from graphprover.admission.admission import largest
from graphprover.device import CpuDevice, Device
from graphprover.device.choose import CPU
from graphprover.graphs.planner.costs import hashing, proof_of_work
from graphprover.graphs.planner.holding import plan_whole
from graphprover.graphs.planner.pace import expected_seconds, measured_pace
from graphprover.graphs.planner.plan import On
from graphprover.graphs.planner.roofline import Roofline, assumed
from graphprover.graphs.planner.shard_memory import plan_shards
from graphprover.protocol.level import MOST_POW_BITS, Level
from graphprover.protocol.parameters import RATES
from graphprover.prover.autoshard import size_of
from graphprover.prover.peak_memory import array_bytes
from graphprover.prover.prepare import Prepared, PreparedShards, at_level

_log = logging.getLogger(__name__)  # warnings go to stderr by default

AnyPrepared = Prepared | PreparedShards


@dataclass(frozen=True)
class Candidate:
    """A possible proof of a statement, with its expected cost."""

    prepared: AnyPrepared
    rate: int  # the rate is 1/rate
    pow_bits: int  # of the proof of work before the queries
    bytes: int  # expected size of the proof
    seconds: float  # lower bound of its time, by the model
    peak_bytes: int  # planned memory, beyond traces that exist before the proof


@dataclass(frozen=True)
class PlannedDevice:
    """The device for which candidates are planned."""

    on: On
    roofline: Roofline
    memory: int | None  # bytes for proofs; None if unknown

    def fits(self, found: Candidate) -> bool | None:
        """Return whether a candidate fits the memory, together with the arrays of traces; None if unknown."""
        if self.memory is None:
            return None
        return found.peak_bytes + self.given(found.prepared) <= self.memory

    def budget(self, prepared: AnyPrepared) -> int | None:
        """Return the bytes for a proof beyond the traces that exist before it; None if unknown."""
        return None if self.memory is None else self.memory - self.given(prepared)

    def given(self, prepared: AnyPrepared) -> int:
        """Return the bytes of the traces that exist before the proof, in the same memory."""
        return 0 if self.on.loads else array_bytes(*prepared.shards)


def candidates(
    prepare: Callable[[Level], AnyPrepared], level: Level, policy: Callable[[int], Any], planned: PlannedDevice
) -> Iterator[Candidate]:
    """Yield the candidate at each rate that reaches the level.

    Args:
        prepare: Prepares the statement for a level with a rate. It is called once for each layout policy.
        level: The level; its rate is ignored.
        policy: Returns the layout policy at a rate.
        planned: The device.
    """
    known: dict[Any, AnyPrepared] = {}
    for rate in RATES:
        at = replace(level, rate=rate)
        with suppress(ValueError):
            own = policy(rate)
            if own not in known:
                known[own] = prepare(at)
            yield _candidate(at_level(known[own], at), at, planned)


def _candidate(prepared: AnyPrepared, level: Level, planned: PlannedDevice) -> Candidate:
    """Return a prepared proof with its expected cost."""
    assert level.rate
    on, seconds = planned.on, planned.roofline.modelled
    if len(prepared.shards) == 1:
        ((layout, traces),) = prepared.shapes
        whole = plan_whole(layout, traces, on, planned.budget(prepared))
        peak, floor = whole.peak.bytes, whole.floor(planned.roofline)
    else:
        shards = plan_shards(prepared.shapes, on, planned.memory or 0)
        peak, floor = shards.peak.bytes, sum(seconds(shard.cost).seconds for shard in shards.shards)
    return Candidate(prepared, level.rate, level.pow_bits, size_of(prepared), floor, peak)


def _with_more_work(found: Candidate, level: Level, planned: PlannedDevice) -> Iterator[Candidate]:
    """Yield a candidate, and those with more bits of work before the queries, of which only the time differs."""
    yield found

    def work(prepared: AnyPrepared) -> float:
        calls = sum(proof_of_work(shard.layout) for shard in prepared.shards)
        return planned.roofline.modelled(hashing(level.hash, calls)).seconds

    for pow_bits in range(found.pow_bits + 1, MOST_POW_BITS + 1):
        prepared = at_level(found.prepared, replace(level, rate=found.rate, pow_bits=pow_bits))
        seconds = found.seconds + work(prepared) - work(found.prepared)
        yield replace(found, prepared=prepared, pow_bits=pow_bits, bytes=size_of(prepared), seconds=seconds)


def smallest(
    prepare: Callable[[Level], AnyPrepared], level: Level, limit: float, device: Device, policy: Callable[[int], Any]
) -> AnyPrepared | None:
    """Choose the rate and the proof of work of the smallest proof within a time, and log the choice.

    The time is the expected one of `graphprover plan` on this processor; for a GPU it is the model's lower bound.

    Args:
        prepare: Prepares the statement for a level with a rate.
        level: The level; its bits of work are the least ones, and its rate is ignored.
        limit: Seconds.
        device: The device that makes the proof; its memory must suffice.
        policy: Returns the layout policy at a rate.

    Returns:
        The prepared statement; None if no rate fits time and memory, which is logged too.
    """
    planned = PlannedDevice(On.of(device), assumed(device.kind, device.threads).roofline, largest(device))

    def expected(found: Candidate) -> float:
        if device.kind != CPU:
            return found.seconds
        return expected_seconds(pace_of(device.threads, level.hash), found.seconds)

    possible: list[Candidate] = []
    for at_rate in candidates(prepare, level, policy, planned):
        if planned.fits(at_rate):
            work = _with_more_work(at_rate, level, planned)
            possible += [found for found in work if expected(found) <= limit]
    if not possible:
        _log.warning("graphprover: small: no rate is expected to fit %g s and the memory: the fastest is taken", limit)
        return None
    best = min(possible, key=lambda found: (found.bytes, found.seconds))
    _log.warning(
        "graphprover: small: rate 1/%d and %d bits of work: %s expected in %s%.3g s (limit %g s)",
        best.rate, best.pow_bits, _bytes(best.bytes), "" if device.kind == CPU else "at least ", expected(best), limit,
    )  # fmt: skip
    return best.prepared


@cache  # other work of this process would disturb a later measurement
def pace_of(threads: int, hash: str) -> float:
    """Return measured / modelled time of this host's CPU with this number of threads, measured once in a process."""
    return measured_pace(CpuDevice(threads), hash)


def _bytes(count: int) -> str:
    return f"{count / 1e3:,.0f} kB" if count < 1e6 else f"{count / 1e6:,.2f} MB"
