"""A sharded proof on a Dask cluster: two tasks for each shard, and the shared challenges between them.

The worker that has committed to a shard also finishes it, since it retains the arrays. It sends only digest, header and
proof to the client. If a worker is lost, others recompute its shards, and the commitments stay valid. The client, not
the worker, verifies each shard as it comes. An invalid shard is retried on another worker. If a commitment is at fault,
other workers commit to the shards, too, and the client compares the commitments to find the worker at fault.

If the proof is compressed, the shards stay on their workers for the layers about them. The client gets the values of
each shard by which it checks all shards together, and each shard is verified by its layer. If that leads to no valid
layer about all shards, the client fetches the shards and verifies them, as it does for other proofs.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from distributed import span

from graphprover.admission.admission import TooLarge
from graphprover.cluster import ClusterError
from graphprover.cluster.client import Cluster
from graphprover.cluster.commitments import Version, by_workers, differing, suspects, without
from graphprover.cluster.results import StayingShard
from graphprover.cluster.shard_tasks import ShardTasks
from graphprover.cluster.shard_windows import lay_out
from graphprover.cluster.tasks import TaskResult
from graphprover.device import CpuDevice, Device
from graphprover.graphs.progress import Tell
from graphprover.graphs.rounds.transcript import joint_nonce
from graphprover.proof.compressed import AcceptedShard, ShardHeaders
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.errors import RuleError, VerificationError, shard_error
from graphprover.protocol.joint import Joint
from graphprover.prover.made import Made
from graphprover.telemetry.merge import merged_observation
from graphprover.telemetry.model import Stage
from graphprover.telemetry.subscribe import clock
from graphprover.verifier import Verdict
from graphprover.verifier.headers import blamed_shard, check_header
from graphprover.verifier.pool import ShardChecks
from graphprover.verifier.shards import Expected, InCommon
from graphprover.vm.traces.shared_run import SharedRun

DRAW = "joint challenge"  # the client's stage between the two tasks
MOST_SUSPECTS = 2  # workers to try without, one after another: of two that differ, either may be at fault

_log = logging.getLogger(__name__)

Expect = Callable[[Proof | ShardedProof], Expected]


@dataclass(frozen=True, eq=False)
class Staying:
    """The shards of a proof that stay on their workers."""

    results: Mapping[int, TaskResult]  # by index: the result whose value is the shard
    restore: Callable[[Sequence[int]], None]  # proves the ones of some shards again that are lost with their workers


# Proves one layer about all shards. Of shards that stay on their workers, the proof has the headers alone.
Compress = Callable[[Made, Staying | None], Made]


def prove_parts(
    cluster: Cluster,
    name: str,
    subjects: Sequence[Any],
    device: Device | str,
    expect: Expect,
    checks: ShardChecks,
    tell: Tell | None = None,
    shared: SharedRun | None = None,
    compress: Compress | None = None,
    began: float | None = None,
) -> tuple[Made, Verdict]:
    """Prove a statement of as many shards as there are subjects on a cluster, and verify the proof here.

    There are several shards, of two tasks each; `Cluster.prove` makes a proof of one. A shard that does not hold is
    recomputed once, by another worker if there is one. Shards that do not hold together, or whose headers are
    refused, commit once more, on other workers. If the commitments differ, all shards are finished with the commitments
    of other workers than the suspects, for two suspects at most.

    Args:
        cluster: The cluster.
        name: The name of the proof, for people.
        subjects: The subject of each shard's tasks, as `graphprover.cluster.messages.ShardRequest` has it.
        device: The device of each worker.
        expect: Verifies the headers of all shards, and returns the verification of each. It runs while the shards are
            made.
        checks: Verifies the shards beside the thread of the call.
        tell: Called with the progress of the tasks.
        shared: The guest's run, if the workers record windows of it. If these lead to no valid proof, each worker makes
            its shards from their subjects alone.
        compress: Proves layers about the shards, which stay on their workers. It gets all shards of the proof instead
            if that fails, after their verification.
        began: The time on `clock` when the work for the proof began, if that was before this call.

    Returns:
        The proof, which this process has verified, or layers about it; and the verdict about its shards.

    Raises:
        VerificationError: if no valid proof could be made; it names the workers.
        Exception: every exception of `Cluster.prove`.
    """
    tasks = ShardTasks(cluster, name.split(" ")[0] or "statement", subjects, device, tell)
    try:
        with span(tasks.name):
            asked = _Asked(name, expect, checks, compress, clock() if began is None else began)
            by_windows = _by_windows(tasks, shared, asked) if shared else None
            found = by_windows or _from_subjects(tasks, asked)
        made = found.compressed or _made(tasks, found, asked)
        if compress and not found.compressed:
            made = compress(made, None)
        return made, found.verdict
    finally:
        tasks.release()


@dataclass(frozen=True)
class _Asked:
    """The arguments of `prove_parts` that stay the same in all attempts."""

    name: str
    expect: Expect
    checks: ShardChecks
    compress: Compress | None
    began: float  # time on `clock`


@dataclass(frozen=True)
class _Proved:
    """A valid proof, or headers of one that are valid if each shard is valid by itself."""

    proof: ShardedProof
    verdict: Verdict
    versions: Sequence[Version]
    draw: Stage
    checks: Mapping[int, Stage]  # the verification of each shard by the client
    join: Stage  # begins when all shards were there, and verified if the client verifies them
    restore: Callable[[Sequence[int]], None]  # see `Staying`
    compressed: Made | None = None


@dataclass(frozen=True)
class _Failure:
    """The reason why the commitments lead to no valid proof."""

    error: VerificationError
    by: str  # the workers, as text
    shards: frozenset[int] = frozenset()  # indices at fault; empty if any may be
    agreed: bool = False  # two workers have failed at the same shard

    def with_workers(self, more: str = "") -> VerificationError:
        """Return the error with the workers' addresses."""
        return self.error.refusal(f"{self.error}, by {self.by}{more}")


def _made(tasks: ShardTasks, found: _Proved, asked: _Asked) -> Made:
    """Return the record of a proof in shards, with its observation if one is requested."""
    seen = None
    if tasks.observe:
        stages = Stage("prove", tasks.began, found.join.start), found.draw, found.join
        commits = [version.asked for version in found.versions if version.asked]
        finishes = [tasks.finished[index] for index in range(len(tasks.subjects))]
        security = found.verdict.security
        seen = merged_observation(asked.name, found.proof, commits, finishes, found.checks, stages, security)
    return Made(found.proof, seconds={"prove": found.join.start - asked.began}, observation=seen)


def _by_windows(tasks: ShardTasks, shared: SharedRun, asked: _Asked) -> _Proved | None:
    """Have workers record windows of a run, and finish and verify all shards; return None without a valid proof.

    A shard then depends on times and shapes from all workers, so a worker with an error need not be the one at fault.

    Raises:
        VerificationError: If two workers return no window or commitment.
        ClusterError: If workers are lost.
        TooLarge: If a shard does not fit.
    """
    try:
        versions = list(tasks.commit(range(len(tasks.subjects)), {}, lay_out(tasks, shared)).values())
        found = _proved(tasks, versions, asked)
    except (VerificationError, ClusterError, TooLarge):
        raise
    except Exception as error:
        reason = error
    else:
        if isinstance(found, _Proved):
            return found
        reason = found.with_workers()
    tasks.release()
    _log.warning("graphprover: prove-%s: %s; each worker runs the whole guest", tasks.name, reason)
    return None


def _from_subjects(tasks: ShardTasks, asked: _Asked) -> _Proved:
    """Have each worker make its shards from their subjects, and verify them.

    Raises:
        VerificationError: As `_without_suspects`.
    """
    versions = list(tasks.commit(range(len(tasks.subjects)), {}).values())
    found = _proved(tasks, versions, asked)
    return found if isinstance(found, _Proved) else _without_suspects(tasks, versions, found, asked)


def _proved(tasks: ShardTasks, versions: Sequence[Version], asked: _Asked) -> _Proved | _Failure:
    """Finish all shards; if the proof is to be compressed, their workers make layers about them."""
    if asked.compress:
        found = _finished(tasks, versions, asked, stay=True)
        if isinstance(found, _Proved):
            try:
                made = asked.compress(_made(tasks, found, asked), Staying(tasks.staying, found.restore))
                return replace(found, compressed=made)
            except ClusterError:
                raise
            except Exception as error:
                reason: Exception = error
        else:
            reason = found.with_workers()
        _log.warning("graphprover: prove-%s: %s; the client verifies all shards", tasks.name, reason)
    return _finished(tasks, versions, asked)


def _finished(
    tasks: ShardTasks,
    versions: Sequence[Version],
    asked: _Asked,
    distrusted: frozenset[str] = frozenset(),
    stay: bool = False,
) -> _Proved | _Failure:
    """Draw the shared challenges, and finish and verify all shards.

    ``stay``: whether the shards stay on their workers. Then each shard is verified later, by its layer.
    """
    tasks.current = dict(enumerate(versions))
    committers = {index: version.worker for index, version in enumerate(versions)}
    commitments = [version.commitment for version in versions]
    joint = Joint(tuple(commitment.digest for commitment in commitments))
    try:
        headers = ShardedProof(joint, tuple(commitment.header for commitment in commitments))
    except RuleError as error:  # parameters differ
        return _Failure(error.refusal(), by_workers(committers))
    drawing = clock()
    nonce = joint_nonce(CpuDevice(1), joint, headers.parameters)  # a small proof of work
    draw = Stage(DRAW, drawing, clock())
    expected, stages = asked.checks.submit(asked.expect, headers), dict[int, Stage]()

    def verified(index: int, shard: Proof) -> InCommon:
        batch, stages[index] = asked.checks.check(expected.result(), index, shard)
        return batch

    def check(index: int, shard: Proof | StayingShard) -> "Future[InCommon]":
        return asked.checks.submit(_checked, headers, index, shard, nonce, verified)

    def restore(indices: Sequence[int]) -> None:
        before = {index: tasks.shards[index] for index in indices}
        refused = tasks.finish([tasks.numbers[index] for index in indices], {}, joint, nonce, check, stay)
        for one in refused.values():
            raise one.error.refusal(f"{one.error}, by {one.worker}")
        for index, shard in before.items():
            if tasks.shards[index] != shard:
                what = f"the shard of {tasks.staying[index].worker} differs from the one of a lost worker"
                raise shard_error(index, VerificationError("worker.shard", what))

    def failed(error: VerificationError) -> _Failure:
        shards = frozenset() if error.shard is None else frozenset({error.shard})
        return _Failure(error, by_workers({i: committers[i] for i in shards or committers}), shards)

    numbers = tasks.numbers
    refused = tasks.finish(numbers, {number.index: distrusted for number in numbers}, joint, nonce, check, stay)
    try:
        against = expected.result()
    except VerificationError as error:  # wrong headers: no shard can be valid
        return failed(error)
    if refused and not any(one.other for one in refused.values()):
        first = refused
        avoid = {number.index: distrusted | {one.worker} for number, one in first.items()}
        refused = tasks.finish(list(first), avoid, joint, nonce, check, stay)
        for number, one in refused.items():
            before = first[number].worker
            if not one.other and one.worker != before:
                return _Failure(one.error, f"{before} and by {one.worker}", frozenset({number.index}), agreed=True)
    if refused:
        shards = frozenset(number.index for number in refused)
        return _Failure(
            next(iter(refused.values())).error, by_workers({index: committers[index] for index in shards}), shards
        )
    finished = clock()
    try:
        verdict = against.verdict([tasks.checked[number.index] for number in tasks.numbers])
    except VerificationError as error:
        return failed(error)
    proof = _joined(joint, nonce, headers, [tasks.shards[number.index] for number in tasks.numbers])
    return _Proved(proof, verdict, versions, draw, stages, Stage("join", finished, clock()), restore)


def _checked(
    headers: ShardedProof,
    index: int,
    shard: Proof | StayingShard,
    nonce: int,
    verified: Callable[[int, Proof], InCommon],
) -> InCommon:
    """Check the header of a shard that stays on its worker, or verify another one; and compare the joint nonce."""
    values: InCommon
    if isinstance(shard, StayingShard):
        values = shard
        with blamed_shard(headers, index):
            check_header(shard.header, headers.proofs[index])
    else:
        values = verified(index, shard)
    if values.lookup_nonce != nonce:
        what = "its nonce before the lookup challenges is not the joint nonce"
        raise shard_error(index, VerificationError("shards.nonce", what))
    return values


def _joined(joint: Joint, nonce: int, headers: ShardedProof, shards: Sequence[Proof | StayingShard]) -> ShardedProof:
    """Return the proof of all shards, or its headers if the shards stay on their workers."""
    proofs = tuple(shard for shard in shards if isinstance(shard, Proof))
    if proofs:
        return ShardedProof(joint, proofs)
    accepted, sizes = list[AcceptedShard](), list[int]()
    for index, shard in enumerate(shards):
        assert isinstance(shard, StayingShard)
        accepted.append(AcceptedShard(len(shards), index, joint.digests[index], nonce, shard.total))
        sizes.append(shard.size)
    return ShardHeaders(joint, headers.proofs, tuple(accepted), tuple(sizes))


def _without_suspects(tasks: ShardTasks, first: Sequence[Version], failure: _Failure, asked: _Asked) -> _Proved:
    """Have other workers commit to shards, too, and finish with the commitments of workers that are not suspect.

    Raises:
        VerificationError: If all commitments are equal, or no proof without suspects is valid; it names the workers.
    """
    if failure.agreed:
        raise failure.with_workers()

    def again(shards: Sequence[int]) -> dict[int, Version]:
        shown = ", ".join(map(str, shards))
        _log.warning(
            "graphprover: prove-%s: %s; other workers commit to shards %s", tasks.name, failure.with_workers(), shown
        )
        return tasks.commit(shards, {index: named | {first[index].worker} for index in shards})

    everything = range(len(first))
    named = frozenset(first[index].worker for index in failure.shards)
    second = again([index for index in everything if not named or first[index].worker in named])
    if not differing(first, second) and len(second) < len(first):  # another worker may be at fault
        named = frozenset()
        second |= again([index for index in everything if index not in second])
    if not differing(first, second):
        raise failure.with_workers("; other workers' commitments are equal")
    for distrusted in [named] if named else [frozenset({worker}) for worker in suspects(first, second)[:MOST_SUSPECTS]]:
        shown = ", ".join(sorted(distrusted))
        _log.warning("graphprover: prove-%s: commitments differ; finishing without %s", tasks.name, shown)
        found = _finished(tasks, without(first, second, distrusted), asked, distrusted)
        if isinstance(found, _Proved):
            return found
        failure = found
    raise failure.with_workers()
