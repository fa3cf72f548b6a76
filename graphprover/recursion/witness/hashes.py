"""All that is hashed of a proof's openings: the rows that are opened, and the nodes over them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.recursion.kernels.segments import Segments
from graphprover.recursion.openings import OpenedNodes
from graphprover.recursion.traces.nodes import Nodes
from graphprover.recursion.witness.hashed_rows import Rows, segments_of_rows
from graphprover.recursion.witness.lookups import asked_of, counts_of


@dataclass(frozen=True, eq=False)
class Hashes:
    """All that is hashed of a proof's openings: arrays of the host."""

    segments: Segments  # without the words of parents
    nodes: Nodes
    places: np.ndarray  # that nodes and rows look up, uint64 (lookups, 3)

    def lookups_of(self, places: np.ndarray) -> np.ndarray:
        """Return how often each place, uint64 (n, 3), is looked up: uint32 (n,)."""
        return counts_of(np.ascontiguousarray(places), self.places)


def hashes_of(opened: OpenedNodes, groups: Sequence[Rows]) -> Hashes:
    """Return the segments of opened rows, and the nodes over them."""
    of_rows = np.concatenate([group.opened.places for group in groups])
    nodes = Nodes(opened.places, opened.digests, opened.children, asked_of(opened.places, of_rows))
    return Hashes(segments_of_rows(groups), nodes, np.concatenate([opened.places, of_rows]))
