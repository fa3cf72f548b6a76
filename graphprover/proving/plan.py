"""plan(): the tasks of a proof, and its expected size, time and memory, before it is made."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from graphprover.admission.admission import largest
from graphprover.air.degree import packed
from graphprover.device import Device
from graphprover.device.choose import CPU, DeviceProfile, device_for, profile_of
from graphprover.graphs.batches import Holds
from graphprover.graphs.planner.costs import hashing
from graphprover.graphs.planner.holding import plan_whole
from graphprover.graphs.planner.layers import Target
from graphprover.graphs.planner.pace import expected_seconds
from graphprover.graphs.planner.plan import On, Plan, make_plan
from graphprover.graphs.planner.roofline import assumed
from graphprover.graphs.planner.shard_memory import ShardsPlan, plan_keeping, plan_shards
from graphprover.graphs.planner.trees import Tree, best_trees, tree_with
from graphprover.graphs.proof_graph import Keep
from graphprover.jobs.job import Job
from graphprover.jobs.preparing import prepared_about, statement_at
from graphprover.protocol.goal import Goal
from graphprover.protocol.level import Level
from graphprover.protocol.parameters import DEFAULT_HASH
from graphprover.protocol.security import JOHNSON_PROXIMITY, QUERY_POW_BITS
from graphprover.prover.prepare import rate_for, ready
from graphprover.prover.smallest import AnyPrepared, PlannedDevice, candidates, pace_of
from graphprover.prover.tree_choice import SHARED, Layers
from graphprover.proving.prove import in_shards
from graphprover.runtime.display.notebook import html, quoted
from graphprover.statement.cells import cells_per_row
from graphprover.statement.check import warn
from graphprover.statement.cost import Cost
from graphprover.statement.shards import ShardedStatement, expect_statement
from graphprover.statement.statement import Statement


@dataclass(frozen=True)
class RateCost:
    """The expected cost of a proof at one rate."""

    rate: int  # the rate is 1/rate
    queries: int
    bytes: int  # of the proof
    seconds: float  # lower bound, by the model
    expected_seconds: float | None  # on this host, if idle; None for a GPU
    peak_bytes: int  # beyond the traces that exist before the proof
    fits: bool | None  # the memory for proofs; None if it is unknown


@dataclass(frozen=True)
class PlanInShards:
    """The plan of a proof in several shards."""

    kept: Mapping[Keep, ShardsPlan]  # by the cached data of a waiting shard
    chosen: ShardsPlan | None  # for the memory of the device; None if it is unknown


@dataclass(frozen=True, repr=False)
class ProofPlan:
    """The plan of a proof: what ``graphprover plan`` prints."""

    name: str  # of the program, or the label of the statement
    device: DeviceProfile
    graph: Plan | PlanInShards  # the tasks
    holds: Holds  # the columns that the device holds of each table of a proof in one graph
    rate: int  # of the planned proof, 1/rate
    default_rate: int  # the rate of a proof for which none is asked
    rates: tuple[RateCost, ...]  # all rates that reach the security
    committed_cells: Mapping[str, int]  # by table
    memory: int | None  # bytes for proofs on the device; None if unknown
    pace: float | None  # of this host's kernels: measured over modelled time; None for a GPU
    hash: str
    pow_bits: int  # of the proof of work before the queries
    work_seconds: float  # of the proof of work, on average
    cycles: int | None = None  # of a guest's run
    cost: Cost | None = None  # of a guest's run
    trees: tuple[Tree, ...] = ()  # of a compressed proof: the best ones

    @property
    def proof(self) -> RateCost:
        """The expected cost of the planned proof."""
        return next(found for found in self.rates if found.rate == self.rate)

    def __repr__(self) -> str:
        found = self.proof
        seconds = f"{found.seconds:.3g} s at least" if found.expected_seconds is None else f"{self._expected(found)} s"
        return f"<{self._title}: {found.bytes:,} bytes, {seconds}, {found.peak_bytes:,} bytes of memory>"

    def _repr_html_(self) -> str:
        facts: dict[str, object] = {"device": self.device, "committed cells": sum(self.committed_cells.values())}
        if self.cycles is not None:
            facts["cycles"] = self.cycles
        if self.cost is not None:
            facts["cost"] = self.cost
        if isinstance(self.graph, Plan):
            facts["tasks"] = len(self.graph.tasks)
        else:
            facts["shards"] = self.shards
        facts["bytes of memory for proofs"] = "unknown" if self.memory is None else self.memory
        facts["proof of work"] = f"2^{self.pow_bits} hashes, {self.work_seconds:.2g} s on average"
        heads = ("rate", "queries", "bytes of the proof", "least seconds", "expected seconds", "peak bytes of memory")
        rows = [
            (
                f"1/{one.rate}{' (planned)' * (one.rate == self.rate)}",
                one.queries,
                one.bytes,
                f"{one.seconds:.3g}",
                self._expected(one),
                f"{one.peak_bytes:,}{' (does not fit)' * (one.fits is False)}",
            )
            for one in self.rates
        ]
        return html(self._title, facts, [heads, *rows])

    @property
    def shards(self) -> int:
        """The number of shards."""
        return 1 if isinstance(self.graph, Plan) else len(self.graph.kept[Keep.ALL].shards)

    @property
    def _title(self) -> str:
        return f"Plan of a proof{f' of {quoted(self.name)}' if self.name else ''} at rate 1/{self.rate}"

    @staticmethod
    def _expected(found: RateCost) -> str:
        return "unknown" if found.expected_seconds is None else f"{found.expected_seconds:.3g}"


def plan(
    statement: Statement | ShardedStatement,
    security: float = 128,
    rate: int | None = None,
    device: Device | str = "auto",
    proximity: str = JOHNSON_PROXIMITY,
    shards: int | Sequence[Sequence[int]] = 1,
    *,
    hash: str = DEFAULT_HASH,
    pow_bits: int = QUERY_POW_BITS,
) -> ProofPlan:
    """Return the plan of a proof of ``statement``, without making it.

    Args:
        statement: The statement, whose tables all have traces.
        security: Provable bits, as in `graphprover.prove`.
        rate: The rate is 1/``rate``, as in `graphprover.prove`; the plan has the other rates, too.
        device: The device of the proof; the GPU that a name stands for need not exist on this host.
        proximity: The soundness analysis, as in `graphprover.prove`.
        shards: The shards, as in `graphprover.prove`.
        hash: The hash of the proof, as in `graphprover.prove`.
        pow_bits: The proof of work, as in `graphprover.prove`.

    Raises:
        ValueError: for a malformed trace, an option that is not offered, or a level that cannot be reached.
    """
    expect_statement(statement, "plan")
    for part in statement.statements:
        warn(part)
    if not statement.heads:
        statement = in_shards(statement.statements[0], shards)
    level = Level(security, rate, proximity, hash, pow_bits)
    prepared = ready(statement, level)
    return plan_of(
        prepared.shards[0].label,
        prepared,
        prepare=partial(ready, statement),
        level=level,
        policy=lambda rate: None,
        device=device,
    )


def plan_of_job(job: Job, device: Device | str) -> ProofPlan:
    """Run the program of a job, and return the plan of its proof; ``device``: as in `plan`.

    A proof whose prover has neither a number nor a size of shards is planned in one. The plan of a compressed proof is
    of its base, with the best trees of layers beside.
    """
    program, prover = job.prover.program, job.prover
    run = job.recorded(None, job.run_options())
    prepared = prepared_about(job, run, None)

    def prepare(level: Level) -> AnyPrepared:
        return ready(statement_at(job, run, prover.shards or 1, level), level)

    level = prover.level
    if prover.small is not None:
        parameters = prepared.shards[0].layout.parameters
        level = replace(level, rate=1 << parameters.log_blowup, pow_bits=parameters.query_pow_bits)
    return plan_of(
        program.name,
        prepared,
        prepare=prepare,
        level=level,
        policy=lambda rate: program.layout_policy(job.layout_rate(replace(level, rate=rate))),
        device=device,
        cycles=run.cycles if program.has_runs else None,
        cost=program.cost_about(run) if program.has_runs else None,
        layers=prover.layers,
    )


def plan_of(
    name: str,
    prepared: AnyPrepared,
    *,
    prepare: Callable[[Level], AnyPrepared],
    level: Level,
    policy: Callable[[int | None], Any],
    device: Device | str,
    cycles: int | None = None,
    cost: Cost | None = None,
    layers: Layers = (),
) -> ProofPlan:
    """Return the plan of a prepared proof.

    Args:
        name: The name of the program, or the label of the statement.
        prepared: The prepared statement.
        prepare: Prepares the statement for a level with another rate.
        level: The requested level.
        policy: Returns the layout policy at a rate.
        device: The device of the proof; the GPU that a name stands for need not exist on this host.
        cycles: The cycles of a guest's run.
        cost: The cost of a guest's run.
        layers: The layers of a compressed proof.
    """
    profile = _profile(device)
    planned = _planned(profile, device)
    pace = pace_of(profile.threads, level.hash) if profile.kind == CPU else None
    expected = None if pace is None else partial(expected_seconds, pace)
    own = policy(level.rate)

    def prepare_once(at: Level) -> AnyPrepared:
        return prepared if policy(at.rate) == own else prepare(at)

    found = candidates(prepare_once, level, policy, planned)
    rates = tuple(
        RateCost(
            at.rate,
            at.prepared.shards[0].layout.parameters.num_queries,
            at.bytes,
            at.seconds,
            expected(at.seconds) if expected else None,
            at.peak_bytes,
            planned.fits(at),
        )
        for at in found
    )
    work = planned.roofline.modelled(hashing(level.hash, 1 << level.pow_bits)).seconds
    graph, holds = _graph(prepared, planned)
    cells, least = dict[str, int](), 0  # with the degrees of this rate; with the least degrees, as for a default rate
    for shard in prepared.shards:
        for air, log_rows in zip(shard.layout.tables, shard.layout.log_heights, strict=True):
            cells[air.name] = cells.get(air.name, 0) + (cells_per_row(air) << log_rows)
            least += cells_per_row(packed(air, 0)) << log_rows
    return ProofPlan(
        name,
        profile,
        graph,
        holds,
        rate=1 << prepared.shards[0].layout.parameters.log_blowup,
        default_rate=rate_for(least),
        rates=rates,
        committed_cells=cells,
        memory=planned.memory,
        pace=pace,
        hash=level.hash,
        pow_bits=level.pow_bits,
        work_seconds=expected(work) if expected else work,
        cycles=cycles,
        cost=cost,
        trees=_trees(prepared, level, layers, profile, planned, pace) if layers else (),
    )


def _trees(
    prepared: AnyPrepared,
    level: Level,
    layers: Layers,
    profile: DeviceProfile,
    planned: PlannedDevice,
    pace: float | None,
) -> tuple[Tree, ...]:
    """Return the best trees of layers about a proof, or the one with given layers."""
    memory = SHARED.memory if planned.memory is None and profile.kind != CPU else planned.memory
    target = Target(profile.kind, planned.on, planned.roofline, memory, pace or 1)
    shapes = tuple((shard.layout.tables, shard.layout.log_heights) for shard in prepared.shards)
    if isinstance(layers, Goal):
        return best_trees(shapes, level, layers, target)
    return (tree_with(shapes, level, layers, target),)


def _graph(prepared: AnyPrepared, planned: PlannedDevice) -> tuple[Plan | PlanInShards, Holds]:
    """Return the tasks of a prepared proof, and the columns that the device holds of a proof in one graph."""
    budget, on = planned.budget(prepared), planned.on
    if len(prepared.shards) > 1:
        kept = {keep: plan_keeping(prepared.shapes, on, keep) for keep in Keep}
        return PlanInShards(kept, None if budget is None else plan_shards(prepared.shapes, on, budget)), {}
    ((layout, traces),) = prepared.shapes
    whole = plan_whole(layout, traces, on, budget)
    return make_plan(layout, on.log_batch_rows, traces, on.loads, whole.holds), whole.holds


def _profile(device: Device | str) -> DeviceProfile:
    if isinstance(device, str):
        return profile_of(device)
    return DeviceProfile(device.kind, device.log_batch_rows, device.threads)


def _planned(profile: DeviceProfile, device: Device | str) -> PlannedDevice:
    """Return the device to plan for; the memory of a GPU that is not in this machine is unknown."""
    memory = None
    with suppress(ValueError):
        memory = largest(device_for(device))
    on = On(profile.log_batch_rows, profile.threads, profile.kind != CPU)
    return PlannedDevice(on, assumed(profile.kind, profile.threads).roofline, memory)
