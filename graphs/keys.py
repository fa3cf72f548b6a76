"""What the tasks of a proof are called; without Dask, for those who only read keys."""

from collections.abc import Hashable
from typing import Any, NamedTuple

Key = tuple[str, str, str, str]  # the first word of the round, the round, the name, the proof's token


class Place(NamedTuple):
    """Where in a proof a task stands."""

    round: str  # such as quotient or fri_fold
    name: str  # batch of tables, commitment, height or step

    def __str__(self) -> str:
        return f"{self.round} of {self.name}"


def key_of(round_: str, name: str, token: str) -> Key:
    """The key of a task.

    Dask groups tasks on its dashboard by the first part of their keys: that is the round up to its first ``_``, so that
    a proof has a dozen groups at most. ``token`` tells the tasks from those of other proofs.
    """
    return round_.partition("_")[0], round_, name, token


def place_of(key: Hashable) -> Place:
    """What `key_of` was given, of a task of a proof."""
    parts: Any = key
    return Place(*parts[1:3])
