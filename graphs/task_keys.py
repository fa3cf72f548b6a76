"""Keys and names of the tasks of a proof; needs no Dask."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

Key = tuple[str, ...]  # first word of the round, round, name, the shard if there are several, token


@dataclass(frozen=True)
class ShardNumber:
    """The number of a shard in a proof."""

    index: int  # from 0
    count: int  # number of shards

    def __str__(self) -> str:
        return f"shard {self.index} of {self.count}"


class Place(NamedTuple):
    """The place of a task in a proof."""

    round: str  # such as quotient or fri_fold
    name: str  # batch of tables, commitment, height or step

    def __str__(self) -> str:
        return f"{self.round} of {self.name}"


def key_of(round_: str, name: str, token: str, shard: ShardNumber | None = None) -> Key:
    """Return the key of a task, with its shard in a sharded proof.

    Dask groups tasks on its dashboard by the first part of their keys. That is the round up to its first ``_``, so a
    proof has at most a dozen groups. ``token`` distinguishes the tasks of different proofs.
    """
    return round_.partition("_")[0], round_, name, *([str(shard)] if shard else []), token


def place_of(key: Hashable) -> Place:
    """Return the place of a task from its key."""
    parts: Any = key
    return Place(parts[1], parts[2])


def words_of(key: Hashable) -> str:
    """Return the name of a task in errors, logs and progress bars: its place, after its shard in a sharded proof."""
    parts: Any = key
    return ": ".join([*parts[3:-1], str(place_of(key))])
