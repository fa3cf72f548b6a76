"""One shard of a proof on a worker: it commits, and is finished once all shards have committed.

Between the two, its arrays stay in the memory of this process. A pickle has only digest and header, so another process
recomputes the shard from the beginning.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakSet, WeakValueDictionary, finalize

from graphprover.admission.admission import admitted, keep, largest, sharing
from graphprover.admission.ledger import Kept
from graphprover.cluster.messages import ShardRequest
from graphprover.cluster.window_worker import LaidOutWindow, prepared_shard
from graphprover.device import Device
from graphprover.device.choose import CPU
from graphprover.field import Ext
from graphprover.graphs.batches import Holds
from graphprover.graphs.executor_names import THREADS
from graphprover.graphs.executors import executor_for
from graphprover.graphs.observer import (
    GraphOfProof,
    Observer,
    around_tasks,
    machine,
    observed_tables,
    observer_for,
    versions,
)
from graphprover.graphs.planner.costs import kept_by_size
from graphprover.graphs.planner.plan import On, Peak
from graphprover.graphs.planner.roofline import assumed
from graphprover.graphs.planner.shard_memory import ShardPlan, ShardsPlan, plan_recomputed, plan_shards
from graphprover.graphs.proof_graph import Keep
from graphprover.graphs.task_keys import Key
from graphprover.proof.proof import Proof
from graphprover.proof.sizes import sizes_of
from graphprover.protocol.joint import Joint
from graphprover.prover.observe import made_in
from graphprover.prover.peak_memory import given_bytes
from graphprover.prover.prepare import Prepared, PreparedShards, wrapped
from graphprover.prover.sharded import InShards
from graphprover.telemetry.merge import TaskTelemetry
from graphprover.telemetry.model import ObservedMemory, Stage
from graphprover.telemetry.subscribe import observing, on_clock
from graphprover.vm.traces.shared_run import RunShard

COMMIT, PROVE = "commit", "prove"  # stages

Source = Prepared | PreparedShards

_runs: "WeakValueDictionary[str, Source]" = WeakValueDictionary()  # by token: runs with shards in this process
_committed: "WeakSet[CommittedShard]" = WeakSet()


@dataclass(frozen=True)
class FinishedShard:
    """A shard of a proof, which the client or a layer about it verifies."""

    proof: Proof
    size: int  # bytes of the proof
    lookup_nonce: int | None
    total: Ext  # the sum of its lookup terminals
    seconds: Mapping[str, float]  # by stage: "prepare", "wait", "prove"
    recomputed: bool  # its retained arrays were lost
    telemetry: TaskTelemetry | None  # observation, if requested

    @property
    def part(self) -> "FinishedShard":
        """The part for the client, if the shard stays on its worker: without the payload."""
        return replace(self, proof=self.proof.without_payload())

    def __sizeof__(self) -> int:
        """Return the size in bytes for Dask."""
        return object.__sizeof__(self) + self.proof.size


class RetainedArrays:
    """The retained arrays of a shard, until they are taken or dropped. Threads may share it."""

    def __init__(self) -> None:
        self._values: dict[Key, Any] = {}
        self.grant: Kept | None = None

    def fill(self, values: dict[Key, Any], device: Device, bytes_: int) -> None:
        self._values = values
        self.grant = keep(device, bytes_, self.drop)

    def take(self) -> dict[Key, Any]:
        """Return the arrays and forget them, so that each is freed after its use."""
        values, self._values = self._values, {}
        return values

    def drop(self) -> None:
        """Free the arrays. It takes no lock, so a garbage collector may call it."""
        self._values = {}
        if self.grant:
            self.grant.ended = True


class CommittedShard:
    """A shard that has committed; in its own process with the retained arrays, elsewhere without them."""

    def __init__(self, digest: bytes, header: Proof, telemetry: TaskTelemetry | None = None) -> None:
        self.digest, self.header = digest, header  # the header is a proof without payload
        self.telemetry = telemetry  # observation, if requested
        self.source: Source | None = None  # see `_source`
        self.token, self.nbytes = "", 0
        self.plan: ShardPlan | None = None  # None in other processes
        self.seconds: Mapping[str, float] = {}
        self.store = RetainedArrays()
        finalize(self, self.store.drop).atexit = False

    def __sizeof__(self) -> int:
        """Return the size in bytes, by which Dask chooses the worker that finishes the shard."""
        return object.__sizeof__(self) + self.nbytes

    def __reduce__(self) -> Any:
        return CommittedShard, (self.digest, self.header, self.telemetry)


def commit_shard(request: ShardRequest, device: Device, laid_out: LaidOutWindow | None = None) -> CommittedShard:
    """Run rounds 0 and 1 of a shard, and retain as many arrays as the device's memory allows.

    ``laid_out``: the tables of a run's window, if a process has laid them out.

    Raises:
        Exception: Any exception of `graphprover.jobs.made.made` before it has a proof.
    """
    times = [time.perf_counter()]
    source = _source(request, device, laid_out)
    shard = _shard(source, request)
    times.append(time.perf_counter())
    planned = _planned(shard, request, device)
    with _admitted(request, shard, planned, device) as peak:
        times.append(time.perf_counter())
        with _observed(device, request, shard, planned.holds) as observed:
            committed = observed.prover.commit(request.number, shard, planned.keep, planned.holds)
        times.append(time.perf_counter())
        telemetry = (
            observed.telemetry(
                COMMIT,
                times,
                planned,
                peak.bytes - given_bytes(device, shard),
                before=laid_out.stages if laid_out else (),
            )
            if observing()
            else None
        )
        result = CommittedShard(committed.digest, shard.header, telemetry)
        result.source, result.token, result.plan = source, request.token, planned
        result.nbytes = planned.kept + given_bytes(device, shard)
        result.store.fill(committed.cached, device, result.nbytes)
    result.seconds = _stages(times)
    _committed.add(result)
    return result


def finish_shard(
    request: ShardRequest, joint: Joint, nonce: int, committed: CommittedShard | None, device: Device
) -> FinishedShard:
    """Run the other rounds, from the retained arrays or from the beginning.

    Raises:
        OtherShard: If the recomputed shard differs from the commitment.
        Exception: Any exception of `graphprover.jobs.made.made`.
    """
    times = [time.perf_counter()]
    source = committed.source if committed and committed.source else _source(request, device)
    shard, planned = _shard(source, request), committed.plan if committed else None
    times.append(time.perf_counter())

    def finished(plan: ShardPlan, kept: dict[Key, Any], peak: Peak) -> FinishedShard:
        times.append(time.perf_counter())
        before = plan.kept if kept else 0
        with _observed(device, request, shard, plan.holds) as observed:
            proven = observed.prover.finish(request.number, shard, kept, joint, nonce, plan.holds)
            proof = wrapped(proven, shard.header)
        times.append(time.perf_counter())
        telemetry = None
        if observing():
            more = peak.bytes - given_bytes(device, shard) - before
            telemetry = observed.telemetry(
                PROVE, times, plan, more, sizes_of(proof, shard.layout, decoded=proven.proof)
            )
        recomputed = not before and (planned is None or planned.keep != Keep.NOTHING)
        batch = proven.proof
        return FinishedShard(proof, proof.size, batch.lookup_nonce, batch.total, _stages(times), recomputed, telemetry)

    if committed and planned and planned.keep != Keep.NOTHING:
        with _admitted(request, shard, planned, device, committed.store.grant) as peak:
            # Another proof may have needed the memory of the arrays.
            if kept := committed.store.take():
                return finished(planned, kept, peak)
    alone = plan_recomputed(shard.layout, shard.traces, On.of(device), largest(device) - given_bytes(device, shard))
    with _admitted(request, shard, alone, device) as peak:
        return finished(alone, {}, peak)


def _source(request: ShardRequest, device: Device, laid_out: LaidOutWindow | None = None) -> Source:
    """Return the prepared shard, or all shards of a guest's run, which a process makes once for several shards."""
    if isinstance(request.subject, Prepared):
        return request.subject
    if isinstance(request.subject, RunShard):
        return prepared_shard(request.subject, device, laid_out.tables if laid_out else None)
    prepared = _runs.get(request.token)
    if prepared is None:
        prepared = _runs[request.token] = request.subject.prepared(device)
        assert len(prepared.shards) == request.number.count
    return prepared


def _shard(source: Source, request: ShardRequest) -> Prepared:
    """Return the requested shard: the source itself, unless a worker has cut a run into all shards."""
    return source.shards[request.number.index if len(source.shards) > 1 else 0]


def _planned(shard: Prepared, request: ShardRequest, device: Device) -> ShardPlan:
    """Return what to retain of a shard, if all shards that this process may have to hold are of its size."""
    budget = largest(device) // min(sharing(device), request.number.count) - given_bytes(device, shard)
    plan = plan_shards([(shard.layout, shard.traces)] * request.shards_per_worker, On.of(device), budget)
    before = sum(shard.token == request.token for shard in _committed)
    return plan.shards[min(before, request.shards_per_worker - 1)]


@contextmanager
def _admitted(
    request: ShardRequest, shard: Prepared, plan: ShardPlan, device: Device, instead: Kept | None = None
) -> Iterator[Peak]:
    """Hold the memory of a shard's plan during the block, and yield its peak with the input arrays on a CPU."""
    peak = ShardsPlan((plan,), kept_by_size(shard.layout)).peak
    peak = replace(peak, bytes=peak.bytes + given_bytes(device, shard))
    with admitted(device, peak.bytes, f"{request.number}: {plan.peak}", instead):
        yield peak


@dataclass(frozen=True)
class _Observed:
    """A prover of shards, and the observer of its graph, if an observation was requested."""

    prover: InShards
    shard: Prepared
    observer: Observer | None
    graphs: list[GraphOfProof]

    def telemetry(
        self,
        stage: str,
        times: list[float],
        plan: ShardPlan,
        peak: int,
        sizes: Mapping[str, int] | None = None,
        before: tuple[Stage, ...] = (),
    ) -> TaskTelemetry:
        """Return the observation of a task.

        ``peak``: planned bytes beyond those in use before it; ``before``: stages of earlier tasks.
        """
        assert self.observer is not None
        device, own = self.prover.device, enumerate(("prepare", "wait", stage))
        stages = *before, *(Stage(name, on_clock(times[i]), on_clock(times[i + 1]), by_worker=True) for i, name in own)
        return TaskTelemetry(
            stages=stages,
            tasks=self.observer.tasks(self.graphs, stages[0].start),
            tables=observed_tables(self.shard.layout),
            device=device.kind,
            machine=machine(device),
            executor=THREADS,
            versions=versions(device.kind != CPU),
            roofline=str(assumed(device.kind, device.threads)),
            memory=ObservedMemory(self.observer.before, device.memory.peak, peak),
            processor=self.observer.processor,
            keep=plan.keep.name.lower(),
            kept=plan.kept,
            sizes=sizes or {},
        )


@contextmanager
def _observed(device: Device, request: ShardRequest, shard: Prepared, holds: Holds) -> Iterator[_Observed]:
    observer, graphs = observer_for(device), list[GraphOfProof]()
    run = executor_for(THREADS, device)

    def run_seen(task: Any) -> Any:
        if observer:
            graphs.append(GraphOfProof(task, shard.layout, made_in(shard), 0, holds=holds))
        return run(task)

    prover = InShards(device, run_seen, request.token, around_tasks(device, observer))
    yield _Observed(prover, shard, observer, graphs)
    if observer:
        observer.tell()


def _stages(times: list[float]) -> dict[str, float]:
    """Return the seconds of each stage, given the times at which each begins and the last ends."""
    return {name: times[i + 1] - times[i] for i, name in enumerate(("prepare", "wait", "prove"))}
