"""One shard of a proof whose others are made elsewhere: it commits, and is finished once all have.

What it keeps between the two is in the memory of the process, and nowhere else: whoever gets it from another process
has the digest and the header alone, and makes the rest again.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakSet, WeakValueDictionary, finalize

from graphprover.admission.admission import admitted, keep, largest, sharing
from graphprover.admission.ledger import Kept
from graphprover.cluster.messages import Part
from graphprover.device import Device
from graphprover.device.choose import CPU
from graphprover.graphs.executor_names import THREADS
from graphprover.graphs.executors import executor_for
from graphprover.graphs.observer import (
    GraphOfProof,
    Observer,
    around_tasks,
    machine,
    observer_for,
    seen_tables,
    versions,
)
from graphprover.graphs.planner.plan import Peak
from graphprover.graphs.planner.roofline import assumed
from graphprover.graphs.planner.shard_memory import On, ShardPlan, plan_keeping, plan_shards
from graphprover.graphs.proof_graph import Keep
from graphprover.graphs.task_keys import Key
from graphprover.proof.proof import Proof
from graphprover.proof.sizes import sizes_of
from graphprover.protocol.joint import Joint
from graphprover.prover.observe import made_in
from graphprover.prover.peak_memory import given_bytes
from graphprover.prover.prepare import Prepared, PreparedShards, wrapped
from graphprover.prover.sharded import InShards
from graphprover.telemetry.merge import SeenPart
from graphprover.telemetry.model import Memory, Stage
from graphprover.telemetry.subscribe import observing, on_clock

COMMIT, PROVE = "commit", "prove"  # stages of a shard

Source = Prepared | PreparedShards

_runs: "WeakValueDictionary[str, Source]" = WeakValueDictionary()  # by token: runs whose shards are held here
_held: "WeakSet[Held]" = WeakSet()


@dataclass(frozen=True)
class Finished:
    """A shard that was made here, to be verified by who has asked for it."""

    proof: Proof
    seconds: Mapping[str, float]  # by stage: "prepare", "wait", "prove"
    again: bool  # what it had kept was lost, and is made again
    seen: SeenPart | None  # where that was asked for

    def __sizeof__(self) -> int:
        """In bytes, as Dask counts them."""
        return object.__sizeof__(self) + self.proof.size


class Store:
    """What a shard keeps, until somebody takes it or it is dropped, by whatever thread."""

    def __init__(self) -> None:
        self._values: dict[Key, Any] = {}
        self.grant: Kept | None = None

    def fill(self, values: dict[Key, Any], device: Device, bytes_: int) -> None:
        self._values = values
        self.grant = keep(device, bytes_, self.drop)

    def take(self) -> dict[Key, Any]:
        """All of it; what is used of it then goes."""
        values, self._values = self._values, {}
        return values

    def drop(self) -> None:
        """Gives it up. It waits for nothing, so that a garbage collector may call it."""
        self._values = {}
        if self.grant:
            self.grant.ended = True


class Held:
    """A shard that has committed, and what is kept of it in this process; elsewhere, what the client needs alone."""

    def __init__(self, digest: bytes, header: Proof, seen: SeenPart | None = None) -> None:
        self.digest, self.header = digest, header  # the proof without its payload
        self.seen = seen  # where that was asked for
        self.source: Source | None = None  # what it is a shard of, as `_sources` gives it
        self.token, self.nbytes = "", 0
        self.keep: Keep | None = None  # nothing is known of it elsewhere
        self.seconds: Mapping[str, float] = {}
        self.store = Store()
        finalize(self, self.store.drop).atexit = False

    def __sizeof__(self) -> int:
        """In bytes: Dask decides by it where the shard is finished."""
        return object.__sizeof__(self) + self.nbytes

    def __reduce__(self) -> Any:
        return Held, (self.digest, self.header, self.seen)


def commit_one(part: Part, device: Device) -> Held:
    """Rounds 0 and 1 of a shard, of which is kept what the device's memory allows.

    Raises what `graphprover.jobs.jobs.made` raises before there is a proof.
    """
    times = [time.perf_counter()]
    source = _source(part, device)
    shard = _shard(source, part)
    times.append(time.perf_counter())
    planned = _planned(shard, part, device)
    peak = _peak(shard, planned.keep, device)
    with admitted(device, peak.bytes, f"{part.number}: {peak}"):
        times.append(time.perf_counter())
        with _looking(device, part, shard) as looking:
            committed = looking.by.commit(part.number, shard, planned.keep)
        times.append(time.perf_counter())
        seen = looking.seen(COMMIT, times, planned, peak.bytes - given_bytes(device, shard)) if observing() else None
        held = Held(committed.digest, shard.header, seen)
        held.source, held.token, held.keep = source, part.token, planned.keep
        held.nbytes = planned.kept + given_bytes(device, shard)
        held.store.fill(committed.kept, device, held.nbytes)
    held.seconds = _stages(times)
    _held.add(held)
    return held


def finish_one(part: Part, joint: Joint, nonce: int, held: Held | None, device: Device) -> Finished:
    """The other rounds, from what was kept, or from the beginning.

    Raises what `graphprover.jobs.jobs.made` raises; RuntimeError where the shard is another than the one that has
    committed.
    """
    times = [time.perf_counter()]
    source = held.source if held and held.source else _source(part, device)
    shard, store = _shard(source, part), held.store if held else Store()
    times.append(time.perf_counter())
    planned = held.keep if held else None
    peaks = [_peak(shard, keep or Keep.NOTHING, device) for keep in (Keep.NOTHING, planned)]
    peak = max(peaks, key=lambda peak: peak.bytes)
    with admitted(device, peak.bytes, f"{part.number}: {peak}", store.grant):
        kept = store.take()
        again = not kept and planned != Keep.NOTHING
        times.append(time.perf_counter())
        there = bool(kept)
        with _looking(device, part, shard) as looking:
            proven = looking.by.finish(part.number, shard, kept, joint, nonce)
            proof = wrapped(proven, shard.header)
        store.drop()
        times.append(time.perf_counter())
        seen = None
        if observing():
            of_shard = plan_keeping([(shard.layout, shard.traces)], On.of(device), planned or Keep.NOTHING).shards[0]
            more = peak.bytes - given_bytes(device, shard) - of_shard.kept * there
            seen = looking.seen(PROVE, times, of_shard, more, sizes_of(proof, shard.layout, decoded=proven.proof))
    return Finished(proof, _stages(times), again, seen)


def _source(part: Part, device: Device) -> Source:
    """What the shard is one of. A guest runs once for all of them that are made here at about the same time."""
    if isinstance(part.subject, Prepared):
        return part.subject
    prepared = _runs.get(part.token)
    if prepared is None:
        prepared = _runs[part.token] = part.subject.prepared(device)
        assert len(prepared.shards) == part.number.count
    return prepared


def _shard(source: Source, part: Part) -> Prepared:
    """Return the shard of a part: the source itself, unless a worker has cut a run into all shards."""
    return source.shards[part.number.index if len(source.shards) > 1 else 0]


def _planned(shard: Prepared, part: Part, device: Device) -> ShardPlan:
    """What to keep of it, if all shards that this process may have to hold are like it."""
    budget = largest(device) // min(sharing(device), part.number.count) - given_bytes(device, shard)
    plan = plan_shards([(shard.layout, shard.traces)] * part.waiting, On.of(device), budget)
    before = sum(held.token == part.token for held in _held)
    return plan.shards[min(before, part.waiting - 1)]


def _peak(shard: Prepared, keep: Keep, device: Device) -> Peak:
    """Of one shard by itself, with the arrays that a CPU is given."""
    peak = plan_keeping([(shard.layout, shard.traces)], On.of(device), keep).peak
    return replace(peak, bytes=peak.bytes + given_bytes(device, shard))


@dataclass(frozen=True)
class _Looking:
    """A graph of a shard as it runs, and who looks on."""

    by: InShards
    shard: Prepared
    observer: Observer | None
    graphs: list[GraphOfProof]

    def seen(
        self, stage: str, times: list[float], plan: ShardPlan, peak: int, sizes: Mapping[str, int] | None = None
    ) -> SeenPart:
        """What was seen; ``peak``: bytes that the plan foresees beyond those before."""
        assert self.observer is not None
        device, began = self.by.device, on_clock(times[0])
        return SeenPart(
            stages=tuple(
                Stage(name, on_clock(times[i]), on_clock(times[i + 1]), by_worker=True)
                for i, name in enumerate(("prepare", "wait", stage))
            ),
            tasks=self.observer.tasks(self.graphs, began),
            tables=seen_tables(self.shard.layout),
            device=device.kind,
            machine=machine(device),
            executor=THREADS,
            versions=versions(device.kind != CPU),
            ceilings=str(assumed(device.kind, device.threads)),
            memory=Memory(self.observer.before, device.memory.peak, peak),
            processor=self.observer.processor,
            keep=plan.keep.name.lower(),
            kept=plan.kept,
            sizes=sizes or {},
        )


@contextmanager
def _looking(device: Device, part: Part, shard: Prepared) -> Iterator[_Looking]:
    observer, graphs = observer_for(device), list[GraphOfProof]()
    run = executor_for(THREADS, device.threads)

    def run_seen(task: Any) -> Any:
        if observer:
            graphs.append(GraphOfProof(task, shard.layout, made_in(shard), 0))
        return run(task)

    by = InShards(device, run_seen, part.token, around_tasks(device, observer))
    yield _Looking(by, shard, observer, graphs)
    if observer:
        observer.tell()


def _stages(times: list[float]) -> dict[str, float]:
    """Seconds by stage, from when each begins."""
    return {name: times[i + 1] - times[i] for i, name in enumerate(("prepare", "wait", "prove"))}
