"""Proofs by a device of this process: admitted to its memory, made, and verified before anyone sees them."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from graphprover.admission.admission import admitted
from graphprover.device import Device
from graphprover.graphs.executor_names import THREADS
from graphprover.graphs.progress import Tell
from graphprover.graphs.task_keys import ShardNumber
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import Shard, ShardedProof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import BatchProof, Cap, decode
from graphprover.protocol.verification import check_batch, check_shard
from graphprover.prover.peak_memory import given_bytes, peak_for, plan_for
from graphprover.prover.prepare import Prepared, PreparedShards
from graphprover.prover.prove import on_device, prove_by, told
from graphprover.prover.sharded import prove_shards
from graphprover.statement.cells import cells_per_row
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement, binding_digest
from graphprover.telemetry.model import Stage
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import on_clock
from graphprover.verifier import Verdict, check_in_common, verify, verify_shards

Caps = Cap | tuple[Cap | None, ...] | None  # of shards, one each


@dataclass(frozen=True)
class Made:
    """A proof that its maker has verified, unless it was told not to, and what it took."""

    proof: Proof | ShardedProof
    preprocessed_cap: Caps  # the maker's own commitment to the preprocessed columns
    seconds: Mapping[str, float]  # by stage: "wait" for memory, "prove", "verify"; a job adds "prepare" before
    peak_bytes: int  # of the device's memory, as planned
    kept: bool = False  # it was there before, and nothing was made
    shards: tuple[Mapping[str, float], ...] = ()  # seconds of each, by stage: "commit", "prove", "verify" if one by one
    cells: int = 0  # of all tables, that were committed to; 0 where nothing was made
    observation: Observation | None = None  # if `observing`; to be given to whoever has asked
    checksum: bytes = b""  # `checksum_of` the proof after its verification; empty if it was not verified

    def __sizeof__(self) -> int:
        """In bytes, as Dask counts them."""
        return object.__sizeof__(self) + self.proof.size


def checksum_of(proof: Proof | ShardedProof) -> bytes:
    """Return the SHA-256 of a proof's bytes.

    A worker of a batch computes it after verification. The client does not verify the payloads of a batch. It compares
    the checksum, so it notices a payload that has changed since.
    """
    return hashlib.sha256(proof.to_bytes()).digest()


def make(
    prepared: Prepared | PreparedShards,
    executor: str = THREADS,
    device: Device | str = "auto",
    progress: bool | Tell = False,
    check: Callable[[Any, Any], object] | None = None,
    verified: bool = True,
) -> Made:
    """A proof by a device of this process, once its memory has room, verified before anyone sees it.

    ``check`` verifies it, given the commitment that it was made with, where the caller knows more about it than its
    tables; shards are verified one by one without it. Not ``verified``: that is left to the caller. Raises what `prove`
    raises; MemoryError, before anything runs, where the proof can never fit; VerificationError where it does not
    convince.
    """
    if isinstance(prepared, PreparedShards):
        return _make_shards(prepared, executor, device, progress, check, verified)

    def by(prepared: Prepared, device: Device) -> Made:
        peak = peak_for(prepared, device)
        times = [time.perf_counter()]
        with admitted(device, peak.bytes, str(peak)):
            times.append(time.perf_counter())
            proof, cap, observe = prove_by(prepared, device, executor, progress)
            times.append(time.perf_counter())
        if verified:
            if check:
                check(proof, cap)
            else:
                _check(prepared.layout, proof, cap)
            times.append(time.perf_counter())
        stages = _stages(times)
        observation = observe().with_stages(stages) if observe else None
        seconds = {stage.name: stage.seconds for stage in stages}
        return Made(proof, cap, seconds, peak.bytes, cells=cells_of(prepared.layout), observation=observation)

    return on_device(prepared, device, by)


def _make_shards(
    prepared: PreparedShards,
    executor: str,
    device: Device | str,
    progress: bool | Tell,
    check: Callable[[ShardedProof, Caps], object] | None,
    verified: bool,
) -> Made:
    """`make` of a sharded proof."""

    def by(prepared: PreparedShards, device: Device) -> Made:
        plan = plan_for(prepared, device)
        bytes_ = plan.peak.bytes + given_bytes(device, *prepared.shards)
        times = [time.perf_counter()]
        layouts, batches = [shard.layout for shard in prepared.shards], list[BatchProof]()

        def check_one(shard: Shard, cap: Cap | None) -> None:
            batches.append(check_made_shard(layouts[shard.index], shard, cap))

        with admitted(device, bytes_, str(plan.peak)):
            times.append(time.perf_counter())
            with told(progress) as tell:
                one_by_one = check_one if verified and not check else None
                made = prove_shards(prepared, device, executor, plan, tell, one_by_one)
            times.append(time.perf_counter())
        if verified:
            if check:
                check(made.proof, made.preprocessed_caps)
            else:
                check_in_common(layouts, batches[::-1])
            times.append(time.perf_counter())
        stages = _stages(times)
        return Made(
            made.proof,
            made.preprocessed_caps,
            {stage.name: stage.seconds for stage in stages},
            bytes_,
            shards=made.seconds,
            cells=sum(map(cells_of, layouts)),
            observation=made.observe().with_stages(stages) if made.observe else None,
        )

    return on_device(prepared, device, by)


def _stages(times: Sequence[float]) -> list[Stage]:
    """Those of `make`, between these times of time.perf_counter; what is not verified ends before the last."""
    spans = zip(("wait", "prove", "verify"), pairwise(times), strict=False)
    return [Stage(name, on_clock(start), on_clock(end)) for name, (start, end) in spans]


def check_made_shard(layout: Layout, shard: Shard, cap: Cap | None) -> BatchProof:
    """What is in a shard that was made here, with ``cap``.

    Raises VerificationError where it does not prove the tables of its layout.
    """
    proof, number = shard.proof, ShardNumber(shard.index, len(shard.joint.digests))
    try:
        batch, binding = decode(proof.payload, layout), binding_digest(layout, proof.label, cap)
        check_shard(layout, batch, proof.public_values, cap, binding, shard.joint, shard.index)
    except VerificationError as error:
        raise VerificationError(f"{number}: {error}") from error
    return batch


def cells_of(layout: Layout) -> int:
    """Of all tables."""
    sized = zip(layout.tables, layout.log_heights, strict=True)
    return sum(cells_per_row(air) << log_rows for air, log_rows in sized)


def _check(layout: Layout, proof: Proof, cap: Cap | None) -> None:
    """Raises VerificationError where a proof does not prove the tables of its layout."""
    batch, binding = decode(proof.payload, layout), binding_digest(layout, proof.label, cap)
    check_batch(layout, batch, proof.public_values, cap, binding)


def verify_made(
    proof: Proof | ShardedProof, statement: Statement | ShardedStatement, security: float, proximity: str, caps: Any
) -> Verdict:
    """`verify` by who has made the proof, and with it commitments to the preprocessed columns."""
    if not isinstance(proof, ShardedProof):
        return verify(proof, statement, security, proximity, preprocessed=caps)
    if isinstance(statement, ShardedStatement):
        return verify_shards(proof, statement, security, proximity, preprocessed=caps)
    return verify(proof, statement, security, proximity)
