"""Compares the commitments of workers to shards, to find workers at fault.

All honest workers make the same shard, and the shard's messages on the buses follow from its commitment and the
challenges. So if each shard verifies but the shards do not fit together, a worker at fault has committed, unless the
statement is false. If two workers commit differently to one shard, one of them is at fault.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from graphprover.cluster.results import ShardCommitment
from graphprover.cluster.tasks import TaskResult
from graphprover.telemetry.merge import TaskReply


@dataclass(frozen=True, eq=False)
class Version:
    """One worker's commitment to a shard."""

    commitment: ShardCommitment
    worker: str  # its address
    token: str  # names the arrays that the worker retains of the shard
    result: TaskResult
    asked: TaskReply | None  # observation of the task, if requested


def differing(first: Sequence[Version], second: Mapping[int, Version]) -> list[int]:
    """Return the indices of shards whose two versions differ; ``second``: by index, of some shards."""
    return [index for index, version in second.items() if version.commitment != first[index].commitment]


def suspects(first: Sequence[Version], second: Mapping[int, Version]) -> list[str]:
    """Return the workers whose commitments differ from another worker's, by the number of such shards, descending.

    A worker at fault differs from all others. Of two workers that differ, either may be at fault.
    """
    involved = Counter(
        worker
        for index in differing(first, second)
        for worker in dict.fromkeys((first[index].worker, second[index].worker))
    )
    return [worker for worker, _ in involved.most_common()]


def without(first: Sequence[Version], second: Mapping[int, Version], workers: Set[str]) -> list[Version]:
    """Return the version of each shard to use if these workers are at fault."""
    return [second.get(index, own) if own.worker in workers else own for index, own in enumerate(first)]


def by_workers(makers: Mapping[int, str]) -> str:
    """Return the workers with their shards as text; ``makers``: a worker's address by index of the shard."""
    shards: dict[str, list[str]] = {}
    for index, worker in sorted(makers.items()):
        shards.setdefault(worker, []).append(str(index))
    return ", ".join(f"{worker} (shard{'s' * (len(own) > 1)} {', '.join(own)})" for worker, own in shards.items())
