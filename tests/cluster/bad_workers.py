"""Faulty workers: functions that `Client.run` calls in their processes to change their results."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from graphprover.cluster import metrics, window_worker, worker
from graphprover.cluster.messages import ShardRequest
from graphprover.cluster.shard_worker import CommittedShard, FinishedShard
from graphprover.device import CpuDevice, Device
from graphprover.graphs.rounds.transcript import joint_nonce
from graphprover.jobs.job import Job
from graphprover.protocol.joint import Joint
from graphprover.protocol.layout import make_layout
from graphprover.prover.made import Made
from graphprover.prover.prepare import Prepared, prepare
from graphprover.statement.statement import Statement
from tests.graphs.test_proof_graph import FEW


class Unreadable(Exception):
    """An exception that unpickles to another object in other processes."""

    def __reduce__(self) -> Any:
        return _unpickled, (str(self), os.getpid())


def _unpickled(text: str, pid: int) -> Any:
    return Unreadable(text) if pid == os.getpid() else SimpleNamespace()


class OnlyThere(Exception):
    """An exception of a module that the client does not have, after `raises`."""


def raises(kind: str) -> None:
    """Let proofs of this process fail with an exception of this kind."""

    def fails(*arguments: object) -> None:
        if kind == "unreadable":
            raise Unreadable("a cause")
        OnlyThere.__module__ = "only_there"
        OnlyThere.__qualname__ = "OnlyThere"
        raise OnlyThere("a cause")

    there: Any = ModuleType("only_there")
    there.OnlyThere = OnlyThere
    sys.modules["only_there"] = there
    metrics.made = fails  # type: ignore[assignment]


def raises_bare() -> None:
    """Let tasks of this process raise an exception that is not wrapped by graphprover."""

    def fails(*given: object) -> None:
        raise Unreadable("a cause")

    worker.prove = fails  # type: ignore[assignment]


def returns(value: Any) -> None:
    """Let this process return a value for every task."""
    worker.measured_proof = lambda *arguments: value  # type: ignore[assignment]


def without_parameters() -> None:
    """Give proofs of this process a text for parameters, which unpickling does not check."""

    def change(proof: Any) -> Any:
        object.__setattr__(proof, "parameters", "text")
        return proof

    _after(lambda made: replace(made, proof=change(made.proof)))


def flips_a_bit() -> None:
    """Flip a bit in the payload of each proof that this process has verified."""

    def change(made: Any) -> Any:
        payload = made.proof.payload
        return replace(made, proof=replace(made.proof, payload=payload[:-1] + bytes([payload[-1] ^ 1])))

    _after(change)


def weak() -> None:
    """Let this process prove with one query, and without proof of work."""

    _before(lambda subject: _weak(subject.prepared("cpu") if isinstance(subject, Job) else subject))


def weak_shards() -> None:
    """Let this process make shards of statements with one query, and without proof of work."""
    _of_shards(lambda request: replace(request, subject=_weak(request.subject)))


def of_other_joint() -> None:
    """Let this process finish shards with challenges from other commitments of the other shards."""
    real = worker.finish_shard

    def finish_shard(
        request: ShardRequest, joint: Joint, nonce: int, held: CommittedShard | None, device: Device
    ) -> FinishedShard:
        digests = [digest if index == request.number.index else bytes(32) for index, digest in enumerate(joint.digests)]
        other = Joint(tuple(digests))
        return real(request, other, joint_nonce(CpuDevice(1), other, FEW), held, device)

    worker.finish_shard = finish_shard


def of_other_totals() -> None:
    """Let this process report wrong sums of its shards' terminals."""
    real = worker.finish_shard

    def finish_shard(*given: Any) -> FinishedShard:
        return replace(real(*given), total=(1, 2, 3))

    worker.finish_shard = finish_shard  # type: ignore[assignment]


def of_other_times() -> None:
    """Let this process report wrong times of the last accesses in its windows."""
    real = window_worker.record

    def record(request: ShardRequest, device: Device) -> window_worker.RecordedWindow:
        result = real(request, device)
        registers = np.where(result.accesses.registers > 4, result.accesses.registers - 4, result.accesses.registers)
        result.accesses = replace(result.accesses, registers=registers)
        return result

    window_worker.record = record


def swapped() -> None:
    """Let this process make the next shard instead of the requested one."""

    def change(request: ShardRequest) -> ShardRequest:
        number = request.number
        return replace(request, number=replace(number, index=(number.index + 1) % number.count))

    _of_shards(change)


def of_other_traces(flip: int) -> None:
    """Flip bits in the traces of all shards of this process."""

    def change(request: ShardRequest) -> ShardRequest:
        prepared: Prepared = request.subject
        traces = tuple(np.asarray(trace) ^ np.uint64(flip) for trace in prepared.traces)
        return replace(request, subject=replace(prepared, traces=traces))

    _of_shards(change)


def _of_shards(change: Callable[[ShardRequest], ShardRequest]) -> None:
    def changed(real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda request, *more: real(change(request), *more)

    worker.commit_shard, worker.finish_shard = changed(worker.commit_shard), changed(worker.finish_shard)


def _weak(prepared: Prepared) -> Prepared:
    parameters = replace(FEW, num_queries=1, query_pow_bits=0, lookup_pow_bits=0)
    layout = prepared.layout
    return replace(prepared, layout=make_layout(layout.tables, layout.log_heights, parameters, shard=layout.shard))


def proves(statement: Statement) -> None:
    """Let this process prove another statement."""
    _before(lambda subject: prepare(statement, parameters=FEW))


def on_input(data: bytes) -> None:
    """Let this process prove runs on another input."""

    def change(subject: Any) -> Any:
        if isinstance(subject, Job):
            return replace(subject, data=data)
        changed = {name: change(part) for name in ("job", "window", "own") if (part := getattr(subject, name, None))}
        return replace(subject, **changed)

    def of_request(request: ShardRequest) -> ShardRequest:
        return replace(request, subject=change(request.subject))

    _before(change)
    _of_shards(of_request)
    record = window_worker.record
    window_worker.record = lambda request, device: record(of_request(request), device)


def at_level(security: float) -> None:
    """Let this process prove at another security level, in bits."""

    def change(job: Job) -> Job:
        job.prover.level = replace(job.prover.level, security=security)
        return job

    _before(change)


def at_rate(rate: int) -> None:
    """Let this process prove at another rate."""

    def change(job: Job) -> Job:
        job.prover.level = replace(job.prover.level, rate=rate)
        return job

    _before(change)


def by_hash(name: str) -> None:
    """Let this process prove by another hash."""

    def change(job: Job) -> Job:
        job.prover.level = replace(job.prover.level, hash=name)
        return job

    _before(change)


def _before(change: Callable[[Any], Any]) -> None:
    real = metrics.made

    def made(subject: Any, *more: Any) -> Made:
        return real(change(subject), *more)

    metrics.made = made  # type: ignore[assignment]


def _after(change: Callable[[Made], Made]) -> None:
    real = metrics.made

    def made(*arguments: Any) -> Made:
        return change(real(*arguments))

    metrics.made = made  # type: ignore[assignment]
