"""prove(): from a statement with its traces to a proof, as one task graph."""

import logging
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeVar, overload

from dask.delayed import Delayed

from graphprover.device import Device
from graphprover.device.choose import CPU, device_for
from graphprover.graphs import proof_graph
from graphprover.graphs.batches import batches
from graphprover.graphs.builder import Around, Graph
from graphprover.graphs.executor_names import LOCAL, THREADS
from graphprover.graphs.executors import executor_for
from graphprover.graphs.observer import GraphOfProof, around_tasks, observer_for
from graphprover.graphs.planner.costs import kept_by_size
from graphprover.graphs.progress import Tell
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.proof.sizes import proofs_of, sizes_of
from graphprover.protocol.errors import VerificationError, shard_error
from graphprover.protocol.layout import Layout
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.proof import Cap
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.protocol.verification import prepare as prepare_verification
from graphprover.prover.assign import deal
from graphprover.prover.observe import ObservationBuilder, made_in
from graphprover.prover.peak_memory import plan_for
from graphprover.prover.prepare import Prepared, PreparedShards, ready, wrapped
from graphprover.prover.sharded import prove_shards
from graphprover.statement.check import warn
from graphprover.statement.shards import ShardedStatement, shards_of
from graphprover.statement.statement import Statement
from graphprover.telemetry.model import Stage
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import clock, observing, publish, stage
from graphprover.verifier import Expected, Verdict, expect, verify

T = TypeVar("T")
Subject = TypeVar("Subject", Prepared, PreparedShards)

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr


@overload
def prove(
    statement: Statement,
    executor: Any = ...,
    security: float = ...,
    rate: int | None = ...,
    parameters: Parameters | None = ...,
    device: Device | str = ...,
    proximity: str = ...,
    progress: bool | Tell = ...,
) -> Proof: ...
@overload
def prove(
    statement: Statement | ShardedStatement,
    executor: Any = ...,
    security: float = ...,
    rate: int | None = ...,
    parameters: Parameters | None = ...,
    device: Device | str = ...,
    proximity: str = ...,
    progress: bool | Tell = ...,
    shards: int | Sequence[Sequence[int]] = ...,
) -> Proof | ShardedProof: ...
def prove(
    statement: Statement | ShardedStatement,
    executor: Any = THREADS,
    security: float = 128,
    rate: int | None = None,
    parameters: Parameters | None = None,
    device: Device | str = "auto",
    proximity: str = JOHNSON_PROXIMITY,
    progress: bool | Tell = False,
    shards: int | Sequence[Sequence[int]] = 1,
) -> Proof | ShardedProof:
    """Prove ``statement``, whose tables all have traces.

    ``executor``: ``"threads"`` (default), ``"sync"``, a ``distributed.Client``, a scheduler's address or file,
    ``"cuda"`` or ``"processes"`` for a cluster on this host that lasts as long as this call: on a cluster one worker
    makes the whole proof, or each shard of it, on its own device, and it is verified here (docs/cluster.md).
    ``security``: provable bits, from which the parameters are chosen at rate 1/``rate`` (2, 4 or 8; by default 2, and 8
    where there is little to prove), unless ``parameters`` gives them; with ``proximity="unique"`` by unique decoding
    alone. ``device``: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, a `Device`, or ``"auto"``, the first GPU where there is one.
    The bytes of the proof depend on neither executor nor device. Where ``"auto"`` has chosen a GPU whose memory does
    not suffice, a warning says so and the CPU makes the whole proof. ``progress``: True draws a bar on stderr, in a
    terminal or a notebook; a function is called with the tasks that have ended, those in all, and the one that begins.
    ``shards``: in how many shards the proof is, or the indices of the tables of each, rising
    (docs/architecture.md#shards); a sharded statement has its own.

    Raises ValueError for a malformed trace or a level that cannot be reached; MemoryError, naming round and table,
    where memory ends; `graphprover.device.DeviceLost` where a GPU fails, which this process must not use again;
    RuntimeError by threads in a process that was forked from one that had used them. A trace that does not satisfy its
    table gives a proof that does not verify: `graphprover.check` names the row. Columns and public values that nothing
    reads are told in warnings.
    """
    for part in [statement] if isinstance(statement, Statement) else statement.statements:
        warn(part)
    if isinstance(statement, Statement):
        statement = in_shards(statement, shards)
    with stage("prepare"):
        prepared = ready(statement, security, rate, parameters, proximity)
    level = 0 if parameters else security  # with its own parameters, the caller has chosen the level
    return prove_prepared(prepared, executor, device, progress, checks_of(prepared, statement, level, proximity))[0]


def in_shards(statement: Statement, shards: int | Sequence[Sequence[int]]) -> Statement | ShardedStatement:
    """The statement in this number of shards, or with these tables in each; raises ValueError where that cannot be."""
    if shards == 1:
        return statement
    return deal(statement, shards) if isinstance(shards, int) else shards_of(statement, shards)


@dataclass(frozen=True)
class Checks:
    """How to verify what a cluster makes; each raises VerificationError."""

    whole: Callable[[Proof | ShardedProof], Verdict]  # a proof that one worker has made
    shards: Callable[[ShardedProof], Expected]  # of shards, given their headers: what they are verified against


def checks_of(
    prepared: Prepared | PreparedShards, statement: Statement | ShardedStatement, security: float, proximity: str
) -> Checks:
    """Return how to verify a cluster's proof of a statement that was prepared here.

    A proof with another header than the prepared one is refused: it has other parameters, heights or public values.
    """

    def whole(proof: Proof | ShardedProof) -> Verdict:
        check_headers(proof, prepared)
        return verify(proof, statement, security, proximity)

    def shards(headers: ShardedProof) -> Expected:
        check_headers(headers, prepared)
        return expect(headers, statement, security, proximity)

    return Checks(whole, shards)


def check_headers(proof: Proof | ShardedProof, prepared: Prepared | PreparedShards) -> None:
    """Raise VerificationError unless the header of each shard, or of the whole proof, is the prepared one."""
    expected = [shard.header for shard in (prepared.shards if isinstance(prepared, PreparedShards) else [prepared])]
    found = proofs_of(proof)
    if isinstance(proof, ShardedProof) != isinstance(prepared, PreparedShards) or len(found) != len(expected):
        raise VerificationError(f"the proof is in {len(found)} shards; {len(expected)} were asked for")
    for index, (own, header) in enumerate(zip(found, expected, strict=True)):
        for field in ("label", "parameters", "log_heights", "public_values"):
            if getattr(own, field) != getattr(header, field):
                reason = f"the proof has other {field.replace('_', ' ')} than were asked for"
                raise shard_error(index, reason) if isinstance(proof, ShardedProof) else VerificationError(reason)


def prove_prepared(
    prepared: Prepared | PreparedShards,
    executor: Any = THREADS,
    device: Device | str = "auto",
    progress: bool | Tell = False,
    checks: Checks | None = None,
) -> tuple[Any, Any]:
    """The proof, and the commitment to the preprocessed columns that it has made, if any, for `verify`.

    Nothing of a cluster's is a commitment to rely on: there is none then. ``checks``: by which a proof by a
    cluster is verified here; no other needs them. Arguments and errors are those of `prove`.
    """
    if executor not in LOCAL:
        from graphprover.cluster.client import joined  # which loads Dask's distributed
        from graphprover.cluster.sharded import prove_parts

        assert checks
        tasks = len(prepared.shards) if isinstance(prepared, PreparedShards) else 1
        with told(progress) as tell, joined(executor, tasks) as cluster:
            if isinstance(prepared, PreparedShards):
                parts = prepared.on_host().shards
                return prove_parts(cluster, prepared.label, parts, device, checks.shards, tell)[0], None
            return cluster.prove(prepared.on_host(), device, checks.whole, tell)[0], None
    if isinstance(prepared, PreparedShards):

        def by(prepared: PreparedShards, device: Device) -> tuple[ShardedProof, tuple[Cap | None, ...]]:
            with told(progress) as tell:
                made = prove_shards(prepared, device, executor, plan_for(prepared, device), tell)
            if made.observe:
                publish(made.observe())
            return made.proof, made.preprocessed_caps

        return on_device(prepared, device, by)

    def by_graph(prepared: Prepared, device: Device) -> tuple[Proof, Cap | None]:
        proof, cap, observe = prove_by(prepared, device, executor, progress)
        if observe:
            publish(observe())
        return proof, cap

    return on_device(prepared, device, by_graph)


def on_device(prepared: Subject, device: Device | str, by: Callable[[Subject, Device], T]) -> T:
    """What ``by`` makes by the device, and once more by the CPU where ``"auto"`` has chosen a GPU that is too small."""
    chosen = device_for(device) if isinstance(device, str) else device
    try:
        return by(prepared, chosen)
    except MemoryError as error:
        cpu = device_for("cpu")
        if device != "auto" or type(chosen) is type(cpu):
            raise
        reason = str(error)
    _log.warning("graphprover: the GPU's memory does not suffice, so the CPU makes the proof: %s", reason)
    return by(prepared.on_host(), cpu)


def prove_by(
    prepared: Prepared, device: Device, executor: Any, progress: bool | Tell
) -> tuple[Proof, Cap | None, Callable[[], Observation] | None]:
    """The proof by one device, and if somebody has asked for what was seen, a function that gives it."""
    # 3. Graph: one task for each round and batch of tables, the transcript between the rounds.
    began = clock()
    layout = prepared.layout
    device.expect(layout.tables)
    if device.kind != CPU:
        _expect_verification(layout)
    observer = observer_for(device, layout)
    task = proof_task(prepared, device, uuid.uuid4().hex[:8], around_tasks(device, observer))
    # 4. Run it.
    _log.debug("%d tables of up to 2^%d rows on %s", len(layout.tables), max(layout.log_heights), device)
    with told(progress) as tell:
        proven = executor_for(executor, device.threads, tell)(task)
    # 5. Wrap it for the user.
    proof = wrapped(proven, prepared.header)
    proving = Stage("prove", began, clock())
    observe: Callable[[], Observation] | None = None
    if observer:
        observer.tell()
    if observer and observing():
        graph = GraphOfProof(task, layout, made_in(prepared), kept_by_size(layout))
        builder = ObservationBuilder(device, executor, observer, [graph], proving)
        observe = partial(builder.whole, prepared, sizes_of(proof, layout, decoded=proven.proof))
    return proof, proven.preprocessed_cap, observe


@lru_cache(maxsize=16)  # as much as is kept of it
def _expect_verification(layout: Layout) -> None:
    """In a process's first proof of this layout, make what verifying takes of it while Python waits for the GPU."""
    threading.Thread(target=prepare_verification, args=[layout], name="verification").start()


def proof_task(prepared: Prepared, device: Device, token: str, around: Around | None = None) -> Delayed:
    """The graph whose value is `query.Proven`; ``token`` tells its keys from those of other proofs.

    ``around``: what else is done around each task.
    """
    layout, traces, fixed = prepared.layout, dict(enumerate(prepared.traces)), dict(prepared.preprocessed)
    graph = Graph(device, token, batches(layout, device.log_batch_rows), around=around)
    return proof_graph.build(graph, layout, prepared.label, traces, fixed, prepared.public_values)


def told(progress: bool | Tell) -> AbstractContextManager[Tell | None]:
    """Who follows a proof, if anyone."""
    if progress is True:
        from graphprover.reports.terminal import bar  # which nobody else needs

        return bar()
    return nullcontext(progress or None)
