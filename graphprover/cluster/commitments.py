"""What workers have committed to, and whose version of each shard counts if workers differ.

An honest shard is the same whoever makes it, and what it adds to the buses follows from its commitment and the
challenges. So shards that hold by themselves, but not together, were committed to by a worker at fault, unless the
statement is false. Of two workers that commit to different things for one shard, one is at fault.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from graphprover.cluster.results import Commitment
from graphprover.cluster.tasks import Outcome
from graphprover.telemetry.merge import TaskReply


@dataclass(frozen=True, eq=False)
class Version:
    """What one worker has committed to for a shard."""

    commitment: Commitment
    worker: str  # its address
    token: str  # under which the worker keeps arrays of the shard
    outcome: Outcome  # of the task
    asked: TaskReply | None  # what was seen of the task, if that was asked for


def differing(first: Sequence[Version], second: Mapping[int, Version]) -> list[int]:
    """Return the shards whose second version is another than the first; ``second``: by index, not of all shards."""
    return [index for index, version in second.items() if version.commitment != first[index].commitment]


def suspects(first: Sequence[Version], second: Mapping[int, Version]) -> list[str]:
    """Return the workers that have committed to something else than another worker, those with most such shards first.

    A worker at fault differs from all others. If there are two workers, nothing says which of them is at fault.
    """
    involved = Counter(
        worker
        for index in differing(first, second)
        for worker in dict.fromkeys((first[index].worker, second[index].worker))
    )
    return [worker for worker, _ in involved.most_common()]


def without(first: Sequence[Version], second: Mapping[int, Version], workers: Set[str]) -> list[Version]:
    """Return the version of each shard that counts if these workers are at fault."""
    return [second.get(index, own) if own.worker in workers else own for index, own in enumerate(first)]


def by_workers(makers: Mapping[int, str]) -> str:
    """Return the workers by whom shards are, for people; ``makers``: the address for each shard's index."""
    shards: dict[str, list[str]] = {}
    for index, worker in sorted(makers.items()):
        shards.setdefault(worker, []).append(str(index))
    return ", ".join(f"{worker} (shard{'s' * (len(own) > 1)} {', '.join(own)})" for worker, own in shards.items())
