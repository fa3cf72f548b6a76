"""The graphs of a proof by one device: one for a single shard, two for each of several, one after another."""

import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dask.delayed import Delayed

from graphprover.device import Device
from graphprover.device.choose import CPU
from graphprover.graphs import proof_graph
from graphprover.graphs.batches import NO_HOLDS, Holds, batches
from graphprover.graphs.builder import Around, Graph
from graphprover.graphs.executor_names import SYNCHRONOUS
from graphprover.graphs.executors import Repeated, executor_for
from graphprover.graphs.observer import GraphOfProof, around_tasks, observer_for
from graphprover.graphs.planner.costs import kept_by_size
from graphprover.graphs.planner.shard_memory import ShardsPlan
from graphprover.graphs.progress import Tell
from graphprover.graphs.proof_graph import Committed, Keep
from graphprover.graphs.rounds.query import Proven
from graphprover.graphs.rounds.transcript import joint_nonce
from graphprover.graphs.task_keys import Key, ShardNumber, place_of
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.joint import Joint
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import Cap
from graphprover.protocol.verification import prepare as prepare_verification
from graphprover.prover.made import Made
from graphprover.prover.observe import ObservationBuilder, made_in
from graphprover.prover.prepare import Prepared, PreparedShards, wrapped
from graphprover.runtime.compiling import compile_seconds
from graphprover.statement.cells import cells_of
from graphprover.telemetry.model import Stage
from graphprover.telemetry.subscribe import clock, observing

_log = logging.getLogger(__name__)

Run = Callable[[Any], Any]  # a task's value

# Committed cells up to which a CPU's tasks run in order: below, threads for tasks cost more than they gain, and the
# loops of large tasks use idle threads anyway.
FEW_CELLS = 1 << 21


Check = Callable[[int, Proof, Joint | None, Cap | None], object]  # verifies the shard of this index


def prove_shards(
    prepared: Prepared | PreparedShards,
    device: Device,
    executor: str,
    plan: ShardsPlan | None = None,
    tell: Tell | None = None,
    check: Check | None = None,
    holds: Holds = NO_HOLDS,
    peak: int | None = None,
) -> Made:
    """Prove a statement by one device of this process.

    One shard is one graph. Several shards are two graphs each, with the draw of the joint challenge between.

    Args:
        prepared: The prepared statement.
        device: The device.
        executor: ``"threads"`` or ``"sync"``.
        plan: Which arrays of each of several shards stay between its graphs.
        tell: Called with the progress of the tasks.
        check: Verifies each of several shards as it is made.
        holds: The columns of each table that the device holds, in a single shard.
        peak: The bytes of the device's memory that the proof needs at most; None if they are not planned: a proof in
            one shard then neither repeats an earlier one nor is repeated.

    Returns:
        The proof with the stage "prove".

    Raises:
        RuntimeError: if a recomputed shard differs, because one of its trace tasks is not pure.
        Exception: every exception of a graph; a shard's has the shard's number.
    """
    making = _Making(prepared, device, executor, plan, holds, tell, peak)
    if plan is None:
        joint, made = None, [making.whole()]
    else:
        joint, made = making.several(plan, check)
    proofs, caps = zip(*made, strict=True)
    return making.ended(proofs[0] if joint is None else ShardedProof(joint, proofs), caps)


class _Making:
    """The graphs of a proof, as they run."""

    def __init__(
        self,
        prepared: Prepared | PreparedShards,
        device: Device,
        executor: str,
        plan: ShardsPlan | None,
        holds: Holds,
        tell: Tell | None,
        peak: int | None,
    ) -> None:
        self._prepared, self._device, self._executor = prepared, device, executor
        self._plan, self._holds, self._peak = plan, holds, peak
        self._began, self._compiled = clock(), compile_seconds()
        self._observer = observer_for(device, prepared.shards[0].layout if plan is None else None)
        self._graphs: list[GraphOfProof] = []
        self._stages: list[list[Stage]] = [[] for _ in prepared.shards]
        self._token = uuid.uuid4().hex[:8]
        if plan:
            self._run = _running(executor, device, plan.tasks, tell)
        else:
            few = device.kind == CPU and cells_of(prepared.shards[0].layout) <= FEW_CELLS
            self._whole = executor_for(SYNCHRONOUS if few else executor, device, tell)

    def whole(self) -> tuple[Proof, Cap | None]:
        """Make a proof of one shard, by one graph."""
        (shard,) = self._prepared.shards
        layout, device = shard.layout, self._device
        device.expect(layout.tables)
        if device.kind != CPU:
            _expect_verification(layout)
        around = around_tasks(device, self._observer)
        task = proof_task(shard, device, self._token, around, self._holds)
        if self._observer:
            of_proof = GraphOfProof(task, layout, made_in(shard), kept_by_size(layout), holds=self._holds)
            self._graphs.append(of_proof)
        _log.debug("%d tables of up to 2^%d rows on %s", len(layout.tables), max(layout.log_heights), device)
        proven: Proven = self._whole(task, self._repeated(task, layout, around))
        return wrapped(proven, shard.header), proven.preprocessed_cap

    def _repeated(self, task: Delayed, layout: Layout, around: Around | None) -> Repeated | None:
        """Return how the device may repeat an earlier proof; None for columns that are extended again for each use."""
        if self._peak is None or any(self._holds.values()):
            return None
        # The names of tasks say which traces are generated, and from what.
        return Repeated((layout, *map(place_of, task.dask)), self._peak, skips=around is None)

    def several(self, plan: ShardsPlan, check: Check | None) -> tuple[Joint, list[tuple[Proof, Cap | None]]]:
        """Make several shards: all commit, the joint challenge is drawn, and each is finished."""
        shards, waiting = self._prepared.shards, plan.waiting
        numbers = [ShardNumber(index, len(shards)) for index in range(len(shards))]
        # Rounds 0 and 1 of each shard.
        committed = []
        for number, shard, planned in zip(numbers, shards, plan.shards, strict=True):
            with self._stage("commit", number):
                committer = self._by(number, waiting[number.index])
                committed.append(committer.commit(number, shard, planned.keep, planned.holds))
            _log.debug("%s has committed, and keeps %s: %d bytes", number, planned.keep.name, planned.kept)
        # σ and τ, of all of them.
        joint = Joint(tuple(shard.digest for shard in committed))
        nonce = joint_nonce(self._device, joint, shards[0].layout.parameters)
        # The other rounds of each: of the last one first, of which most is there.
        made: list[tuple[Proof, Cap | None]] = []
        for number in reversed(numbers):
            shard = shards[number.index]
            with self._stage("prove", number):
                finisher = self._by(number, waiting[number.index] + plan.shards[number.index].kept)
                cached, holds = committed.pop().cached, plan.shards[number.index].holds
                proven = finisher.finish(number, shard, cached, joint, nonce, holds)
                made.append((wrapped(proven, shard.header), proven.preprocessed_cap))
            if check:
                with self._stage("verify", number):
                    check(number.index, made[-1][0], joint, made[-1][1])
        return joint, made[::-1]

    def ended(self, proof: Proof | ShardedProof, caps: tuple[Cap | None, ...]) -> Made:
        """Return the record of the proof that was made."""
        seen = None
        proving, compiled = Stage("prove", self._began, clock()), compile_seconds() - self._compiled
        if self._observer:
            self._observer.tell()
        if self._observer and observing():
            builder = ObservationBuilder(self._device, self._executor, self._observer, self._graphs, proving)
            seen = builder.observation(self._prepared, proof, self._plan, self._holds, self._stages)
        return Made(
            proof,
            caps,
            {proving.name: proving.seconds},
            compiled,
            self._peak or 0,
            shards=tuple({one.name: one.seconds for one in of_shard} for of_shard in self._stages if of_shard),
            cells=sum(cells_of(shard.layout) for shard in self._prepared.shards),
            observation=seen,
        )

    def _by(self, number: ShardNumber, live: int) -> "InShards":
        """Return what runs the next graph of a shard; ``live``: bytes that the device holds before it."""
        shards = self._prepared.shards
        shard, first = shards[number.index], sum(len(before.layout.tables) for before in shards[: number.index])
        assert self._plan is not None
        holds = self._plan.shards[number.index].holds

        def run_seen(task: Any) -> Any:
            if self._observer:
                self._graphs.append(GraphOfProof(task, shard.layout, made_in(shard), live, number.index, first, holds))
            return self._run(task)

        around = around_tasks(self._device, self._observer, len(self._graphs))
        return InShards(self._device, run_seen, self._token, around)

    @contextmanager
    def _stage(self, name: str, number: ShardNumber) -> Iterator[None]:
        started = clock()
        yield
        self._stages[number.index].append(Stage(name, started, clock()))


@lru_cache(maxsize=16)  # as many layouts as the verifier caches
def _expect_verification(layout: Layout) -> None:
    """Prepare, in a process's first proof of a layout, its verification while Python waits for the GPU."""
    threading.Thread(target=prepare_verification, args=[layout], name="verification").start()


def proof_task(
    prepared: Prepared, device: Device, token: str, around: Around | None = None, holds: Holds = NO_HOLDS
) -> Delayed:
    """Return the graph of a proof of one shard, whose value is `graphprover.graphs.rounds.query.Proven`.

    Args:
        prepared: The prepared statement.
        device: The device that its tasks use.
        token: Part of the graph's keys, another one for each proof.
        around: Called around each task.
        holds: The columns of each table that the device holds.
    """
    graph = Graph(device, token, batches(prepared.layout, device.log_batch_rows, holds), around=around)
    return proof_graph.build(graph, *_given(prepared))


@dataclass(frozen=True)
class InShards:
    """Shards of a sharded proof, by a device that keeps their arrays between the two graphs."""

    device: Device
    run: Run
    token: str  # of the proof: in the keys of what is kept, too
    around: Around | None = None

    def commit(self, number: ShardNumber, shard: Prepared, keep: Keep, holds: Holds) -> Committed:
        """Run rounds 0 and 1 of a shard."""
        self.device.expect(shard.layout.tables)
        committed: Committed = self.run(
            proof_graph.committing(self._graph(number, shard, {}, holds), *_given(shard), keep=keep)
        )
        return committed

    def finish(
        self, number: ShardNumber, shard: Prepared, kept: dict[Key, Any], joint: Joint, nonce: int, holds: Holds
    ) -> Proven:
        """Run the other rounds of a shard, which consume the arrays ``kept`` and recompute the others."""
        graph = self._graph(number, shard, kept, holds)
        proven: Proven = self.run(proof_graph.finishing(graph, *_given(shard), joint=joint, nonce=nonce))
        return proven

    def _graph(self, number: ShardNumber, shard: Prepared, kept: dict[Key, Any], holds: Holds) -> Graph:
        batched = batches(shard.layout, self.device.log_batch_rows, holds)
        return Graph(self.device, self.token, batched, number, kept, self.around)


def _given(shard: Prepared) -> tuple[Any, ...]:
    """Return the arguments of a shard's graphs."""
    return shard.layout, shard.label, dict(enumerate(shard.traces)), dict(shard.preprocessed), shard.public_values


def _running(executor: str, device: Device, total: int | None, tell: Tell | None) -> Run:
    """Return a function that runs graphs one after another.

    Args:
        executor: ``"threads"`` or ``"sync"``.
        device: The device of their tasks.
        total: The number of tasks of all graphs; None for a single graph.
        tell: Called as if all tasks were of one graph.
    """
    ended = 0

    def told(now: int, _: int, task: str) -> None:
        assert tell is not None and total is not None
        if task or ended + now == total:
            tell(ended + now, total, task)

    run = executor_for(executor, device, told if tell and total is not None else tell)

    def counted(task: Any) -> Any:
        nonlocal ended
        value = run(task)
        ended += len(task.dask)
        return value

    return counted
