"""What the tasks of a proof are called; without Dask, for those who only read keys."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

Key = tuple[str, ...]  # the first word of the round, the round, the name, the shard if there are several, the token


@dataclass(frozen=True)
class ShardNumber:
    """Which shard of a proof."""

    index: int  # from 0
    count: int  # of all shards

    def __str__(self) -> str:
        return f"shard {self.index} of {self.count}"


class Place(NamedTuple):
    """Where in a proof a task stands."""

    round: str  # such as quotient or fri_fold
    name: str  # batch of tables, commitment, height or step

    def __str__(self) -> str:
        return f"{self.round} of {self.name}"


def key_of(round_: str, name: str, token: str, shard: ShardNumber | None = None) -> Key:
    """The key of a task, in a proof that has shards also by its shard.

    Dask groups tasks on its dashboard by the first part of their keys: that is the round up to its first ``_``, so that
    a proof has a dozen groups at most. ``token`` tells the tasks from those of other proofs.
    """
    return round_.partition("_")[0], round_, name, *([str(shard)] if shard else []), token


def place_of(key: Hashable) -> Place:
    """What `key_of` was given, of a task of a proof."""
    parts: Any = key
    return Place(parts[1], parts[2])


def words_of(key: Hashable) -> str:
    """A task of a proof as errors, logs and bars call it: its place, after its shard if the proof has several."""
    parts: Any = key
    return ": ".join([*parts[3:-1], str(place_of(key))])
