"""Sharded proving: two graphs each, and one draw for all between; here one after another on one device."""

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

from graphprover.device import Device
from graphprover.graphs import proof_graph
from graphprover.graphs.batches import batches
from graphprover.graphs.builder import Around, Graph
from graphprover.graphs.executors import executor_for
from graphprover.graphs.observer import GraphOfProof, around_tasks, observer_for
from graphprover.graphs.planner.shard_memory import ShardsPlan
from graphprover.graphs.progress import Tell
from graphprover.graphs.proof_graph import Committed, Keep
from graphprover.graphs.rounds.query import Proven
from graphprover.graphs.rounds.transcript import joint_nonce
from graphprover.graphs.task_keys import Key, ShardNumber
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import Shard, ShardedProof
from graphprover.protocol.joint import Joint
from graphprover.protocol.proof import Cap
from graphprover.prover.observe import ObservationBuilder, made_in
from graphprover.prover.prepare import Prepared, PreparedShards, wrapped
from graphprover.telemetry.model import Stage
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import clock, observing

_log = logging.getLogger(__name__)

Run = Callable[[Any], Any]  # a task's value


@dataclass(frozen=True)
class MadeShards:
    """A sharded proof, and what it took."""

    proof: ShardedProof
    preprocessed_caps: tuple[Cap | None, ...]  # each shard's own commitment to its preprocessed columns
    seconds: tuple[Mapping[str, float], ...]  # of each shard, by stage: "commit", "prove", "verify"
    observe: Callable[[], Observation] | None  # gives what was seen, if somebody has asked


def prove_shards(
    prepared: PreparedShards,
    device: Device,
    executor: str,
    plan: ShardsPlan,
    tell: Tell | None = None,
    check: Callable[[Shard, Cap | None], object] | None = None,
) -> MadeShards:
    """The proof of a sharded statement, each finished from what ``plan`` says is kept of it.

    ``check``: verifies each shard as it is made. Raises what the graphs raise, naming the shard; RuntimeError where a
    shard that is made again is another, since a trace task of its traces is not pure.
    """
    began, observer = clock(), observer_for(device)
    seen: list[GraphOfProof] = []
    run, token = _running(executor, device, plan.tasks, tell), uuid.uuid4().hex[:8]
    count = len(prepared.shards)
    numbers, waiting = [ShardNumber(index, count) for index in range(count)], plan.waiting
    firsts = [0, *accumulate(len(shard.layout.tables) for shard in prepared.shards)]
    stages: list[list[Stage]] = [[] for _ in numbers]

    def by(number: ShardNumber, live: int) -> InShards:
        shard = prepared.shards[number.index]

        def run_seen(task: Any) -> Any:
            if observer:
                seen.append(GraphOfProof(task, shard.layout, made_in(shard), live, number.index, firsts[number.index]))
            return run(task)

        return InShards(device, run_seen, token, around_tasks(device, observer, len(seen)))

    @contextmanager
    def stage(name: str, number: ShardNumber) -> Iterator[None]:
        started = clock()
        yield
        stages[number.index].append(Stage(name, started, clock()))

    # Rounds 0 and 1 of each shard.
    committed = []
    for number, shard, planned in zip(numbers, prepared.shards, plan.shards, strict=True):
        with stage("commit", number):
            committed.append(by(number, waiting[number.index]).commit(number, shard, planned.keep))
        _log.debug("%s has committed, and keeps %s: %d bytes", number, planned.keep.name, planned.kept)

    # σ and τ, of all of them.
    joint = Joint(tuple(shard.digest for shard in committed))
    nonce = joint_nonce(device, joint, prepared.shards[0].layout.parameters.lookup_pow_bits)

    # The other rounds of each: of the last one first, of which most is there.
    proofs: dict[int, tuple[Proof, Cap | None]] = {}
    for number in reversed(numbers):
        shard = prepared.shards[number.index]
        with stage("prove", number):
            finisher = by(number, waiting[number.index] + plan.shards[number.index].kept)
            proven = finisher.finish(number, shard, committed.pop().cached, joint, nonce)
            proof, cap = wrapped(proven, shard.header), proven.preprocessed_cap
        proofs[number.index] = proof, cap
        if check:
            with stage("verify", number):
                check(Shard(joint, number.index, proof), cap)

    made, caps = zip(*(proofs[number.index] for number in numbers), strict=True)
    sharded_proof, observe = ShardedProof(joint, made), None
    if observer:
        observer.tell()
    if observer and observing():
        builder = ObservationBuilder(device, executor, observer, seen, Stage("prove", began, clock()))
        observe = partial(builder.of_shards, prepared, sharded_proof, plan, stages)
    seconds = tuple({one.name: one.seconds for one in of_shard} for of_shard in stages)
    return MadeShards(sharded_proof, caps, seconds, observe)


@dataclass(frozen=True)
class InShards:
    """Shards of one proof, by a device that keeps their arrays between the two graphs."""

    device: Device
    run: Run
    token: str  # of the proof: in the keys of what is kept, too
    around: Around | None = None

    def commit(self, number: ShardNumber, shard: Prepared, keep: Keep) -> Committed:
        """Rounds 0 and 1 of a shard."""
        self.device.expect(shard.layout.tables)
        committed: Committed = self.run(
            proof_graph.committing(self._graph(number, shard, {}), *_given(shard), keep=keep)
        )
        return committed

    def finish(self, number: ShardNumber, shard: Prepared, kept: dict[Key, Any], joint: Joint, nonce: int) -> Proven:
        """Its other rounds, which use up what was ``kept``, and make again what was not."""
        graph = self._graph(number, shard, kept)
        proven: Proven = self.run(proof_graph.finishing(graph, *_given(shard), joint=joint, nonce=nonce))
        return proven

    def _graph(self, number: ShardNumber, shard: Prepared, kept: dict[Key, Any]) -> Graph:
        batched = batches(shard.layout, self.device.log_batch_rows)
        return Graph(self.device, self.token, batched, number, kept, self.around)


def _given(shard: Prepared) -> tuple[Any, ...]:
    """What its graphs are built of."""
    return shard.layout, shard.label, dict(enumerate(shard.traces)), dict(shard.preprocessed), shard.public_values


def _running(executor: str, device: Device, total: int, tell: Tell | None) -> Run:
    """Runs one graph after another; ``tell`` hears of all their tasks as if they were one graph's."""
    ended = 0

    def told(now: int, _: int, task: str) -> None:
        assert tell is not None
        if task or ended + now == total:
            tell(ended + now, total, task)

    run = executor_for(executor, device.threads, told if tell else None)

    def counted(task: Any) -> Any:
        nonlocal ended
        value = run(task)
        ended += len(task.dask)
        return value

    return counted
