"""The tree of a compressed proof: the given proofs and shards, and the layers about them, with their times."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TreePart:
    """A part of the tree of a compressed proof: a given proof or shard, or a layer."""

    name: str  # for people, such as "shard 0 to shard 3: layer 1"
    start: float  # of its first stage, in seconds since 1970 by its process's clock
    end: float  # of its last one
    parts: tuple[int, ...] = ()  # numbers in the tree of the parts that a layer is about
    worker: str = ""  # address of the cluster worker that proved it; empty for this process

    @property
    def seconds(self) -> float:
        return self.end - self.start


def critical_path(tree: Sequence[TreePart]) -> list[int]:
    """Return the numbers of the parts that determine the end of a tree, from a given proof to the last layer.

    The predecessor of a layer is the part that ended last, of the ones that the layer is about.
    """
    path = [len(tree) - 1]
    while parts := tree[path[-1]].parts:
        path.append(max(parts, key=lambda number: tree[number].end))
    return path[::-1]
