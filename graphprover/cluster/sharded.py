"""A sharded proof on a Dask cluster: two tasks a shard, and the draw for all of them between.

A shard is finished by the worker on which it has committed, since its arrays are there; nothing of it travels but its
digest, its header and, in the end, its proof. What a lost worker held is made again elsewhere, and the digests stand.
The client verifies each shard as it comes, so workers do not: one that does not hold is made again elsewhere, too. If
what shards have committed to is at fault, they commit again, on other workers, and where these differ is found by that.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from distributed import span

from graphprover.cluster.client import Cluster
from graphprover.cluster.commitments import Version, by_workers, differing, suspects, without
from graphprover.cluster.shard_tasks import ShardTasks
from graphprover.device import CpuDevice, Device
from graphprover.graphs.progress import Tell
from graphprover.graphs.rounds.transcript import joint_nonce
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.errors import VerificationError, shard_error
from graphprover.protocol.joint import Joint
from graphprover.protocol.proof import BatchProof
from graphprover.telemetry.merge import joined_sight
from graphprover.telemetry.model import Stage
from graphprover.telemetry.subscribe import clock, give
from graphprover.verifier import Expected, Verdict

DRAW = "joint challenge"  # the stage of the client between them
MOST_SUSPECTS = 2  # that a proof is made without, one after another: of two workers that differ, either may be right

_log = logging.getLogger(__name__)

Expect = Callable[[Proof | ShardedProof], Expected]


def prove_parts(
    cluster: Cluster,
    name: str,
    parts: Sequence[Any],
    device: Device | str,
    expect: Expect,
    tell: Tell | None = None,
) -> tuple[Proof | ShardedProof, Verdict]:
    """Prove a statement of as many shards as there are parts on a cluster, and verify the proof here.

    A single part is one task, of one worker (`Cluster.prove`). Several are two tasks each. A shard that does not hold
    is recomputed once, by another worker if there is one. Shards that do not hold together, or whose headers are
    refused, commit once more, on other workers. If the commitments differ, all shards are finished with the commitments
    of other workers than the suspects, for two suspects at most.

    Args:
        cluster: The cluster.
        name: The name of the proof, for people.
        parts: The subject of each shard's tasks, as `graphprover.cluster.messages.Part` has it.
        device: The device of each worker.
        expect: Verifies the headers of all shards, and returns the verification of each. It runs while the shards are
            made.
        tell: Called with the progress of the tasks.

    Returns:
        The proof and its verdict.

    Raises:
        VerificationError: if no valid proof could be made; it names the workers.
        Exception: every exception of `Cluster.prove`.
    """
    if len(parts) == 1:
        return cluster.prove(parts[0], device, lambda proof: _verdict(proof, expect), tell)
    began = clock()
    tasks = ShardTasks(cluster, name.split(" ")[0] or "statement", parts, device, tell)
    try:
        with span(tasks.name), ThreadPoolExecutor(1) as meanwhile:
            versions = list(tasks.commit(range(len(parts)), {}).values())
            found = _finished(tasks, versions, expect, meanwhile)
            if isinstance(found, _Failure):
                found = _without_suspects(tasks, versions, found, expect, meanwhile)
        if tasks.observe:
            stages = Stage("prove", began, found.finished), found.draw, Stage("join", found.finished, clock())
            commits = [version.asked for version in found.versions if version.asked]
            finishes = [tasks.finished[index] for index in range(len(parts))]
            give(joined_sight(name, found.proof, commits, finishes, found.checks, stages, found.verdict.security))
        return found.proof, found.verdict
    finally:
        tasks.release()


def _verdict(proof: Proof | ShardedProof, expect: Expect) -> Verdict:
    """Verify a proof that one worker has made."""
    expected = expect(proof)
    return expected.verdict([expected.check(index, own) for index, own in enumerate(proof.proofs)])


@dataclass(frozen=True)
class _Made:
    """A proof that holds."""

    proof: ShardedProof
    verdict: Verdict
    versions: Sequence[Version]
    draw: Stage
    checks: Sequence[Stage]  # the verification of each shard
    finished: float  # on `clock`, when all shards held


@dataclass(frozen=True)
class _Failure:
    """Why there is no proof of what the shards have committed to."""

    error: VerificationError
    by: str  # workers, for people
    shards: frozenset[int] = frozenset()  # that are at fault; empty if it may be any
    agreed: bool = False  # two workers have made the same

    def told(self, more: str = "") -> VerificationError:
        """The error, with the workers."""
        return VerificationError(f"{self.error}, by {self.by}{more}")


def _finished(
    tasks: ShardTasks,
    versions: Sequence[Version],
    expect: Expect,
    meanwhile: ThreadPoolExecutor,
    distrusted: frozenset[str] = frozenset(),
) -> _Made | _Failure:
    """Draw the challenges of what the shards have committed to, and finish and verify all of them."""
    tasks.current = dict(enumerate(versions))
    committers = {index: version.worker for index, version in enumerate(versions)}
    commitments = [version.commitment for version in versions]
    joint = Joint(tuple(commitment.digest for commitment in commitments))
    try:
        headers = ShardedProof(joint, tuple(commitment.header for commitment in commitments))
    except ValueError as error:  # of other parameters
        return _Failure(VerificationError(str(error)), by_workers(committers))
    drawing = clock()
    nonce = joint_nonce(CpuDevice(1), joint, headers.parameters.lookup_pow_bits)  # little work
    draw = Stage(DRAW, drawing, clock())
    expected, checks = meanwhile.submit(expect, headers), dict[int, Stage]()

    def check(index: int, proof: Proof) -> "Future[BatchProof]":
        def checked() -> BatchProof:
            against, started = expected.result(), clock()
            batch = against.check(index, proof)
            if batch.lookup_nonce != nonce:
                raise shard_error(index, "another nonce before the lookup challenges than was drawn")
            checks[index] = Stage("verify", started, clock())
            return batch

        return meanwhile.submit(checked)

    def failed(error: VerificationError) -> _Failure:
        shards = frozenset() if error.shard is None else frozenset({error.shard})
        return _Failure(error, by_workers({i: committers[i] for i in shards or committers}), shards)

    refused = tasks.finish(tasks.numbers, {number.index: distrusted for number in tasks.numbers}, joint, nonce, check)
    try:
        against = expected.result()
    except VerificationError as error:  # wrong headers, which no shard holds with
        return failed(error)
    if refused and not any(one.other for one in refused.values()):
        first = refused
        avoid = {number.index: distrusted | {one.worker} for number, one in first.items()}
        refused = tasks.finish(list(first), avoid, joint, nonce, check)
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
        verdict = against.verdict([tasks.batches[number.index] for number in tasks.numbers])
    except VerificationError as error:
        return failed(error)
    proof = ShardedProof(joint, tuple(tasks.made[number.index] for number in tasks.numbers))
    return _Made(proof, verdict, versions, draw, [checks[index] for index in sorted(checks)], finished)


def _without_suspects(
    tasks: ShardTasks, first: Sequence[Version], failure: _Failure, expect: Expect, meanwhile: ThreadPoolExecutor
) -> _Made:
    """Have shards commit again on other workers, and finish what workers that are not suspect have committed to.

    Raises VerificationError, which names the workers, if all commit to the same or nothing holds without the suspects.
    """
    if failure.agreed:
        raise failure.told()

    def again(shards: Sequence[int]) -> dict[int, Version]:
        shown = ", ".join(map(str, shards))
        _log.warning("graphprover: prove-%s: %s; shards %s commit again", tasks.name, failure.told(), shown)
        return tasks.commit(shards, {index: named | {first[index].worker} for index in shards})

    everything = range(len(first))
    named = frozenset(first[index].worker for index in failure.shards)
    second = again([index for index in everything if not named or first[index].worker in named])
    if not differing(first, second) and len(second) < len(first):  # the blame was wrong
        named = frozenset()
        second |= again([index for index in everything if index not in second])
    if not differing(first, second):
        raise failure.told("; the shards that were made again are the same")
    for distrusted in [named] if named else [frozenset({one}) for one in suspects(first, second)[:MOST_SUSPECTS]]:
        shown = ", ".join(sorted(distrusted))
        _log.warning("graphprover: prove-%s: workers differ; it is finished without %s", tasks.name, shown)
        found = _finished(tasks, without(first, second, distrusted), expect, meanwhile, distrusted)
        if isinstance(found, _Made):
            return found
        failure = found
    raise failure.told()
