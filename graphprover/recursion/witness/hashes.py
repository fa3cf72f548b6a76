"""All hashes of a proof's openings: of the rows that are opened, and of the nodes over them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.protocol.blake3 import IV
from graphprover.recursion.kernels.compressions import Compressions
from graphprover.recursion.kernels.segments import Segments
from graphprover.recursion.openings import OpenedNodes
from graphprover.recursion.tables.compress import NODE_PARAMETERS, Use
from graphprover.recursion.traces.nodes import Nodes
from graphprover.recursion.witness.hashed_rows import Hashed, Rows, hashed
from graphprover.recursion.witness.lookups import asked_of, counts_of


@dataclass(frozen=True, eq=False)
class Hashes:
    """All hashes of a proof's openings: arrays of the host."""

    calls: Compressions  # of the segments' blocks, then of the nodes
    segments: Segments
    nodes: Nodes
    places: np.ndarray  # that nodes and rows look up, uint64 (lookups, 3)

    def lookups_of(self, places: np.ndarray) -> np.ndarray:
        """Return how often each place, uint64 (n, 3), is looked up: uint32 (n,)."""
        return counts_of(np.ascontiguousarray(places), self.places)


def hashes_of(opened: OpenedNodes, groups: Sequence[Rows]) -> Hashes:
    """Return the hashes of opened rows and of the nodes over them."""
    found = hashed(groups)
    of_rows = np.concatenate([group.opened.places for group in groups])
    nodes = Nodes(opened.places, opened.digests, opened.children, asked_of(opened.places, of_rows))
    return Hashes(_calls(found, nodes), found.segments, nodes, np.concatenate([opened.places, of_rows]))


def _calls(found: Hashed, nodes: Nodes) -> Compressions:
    """Return the calls that hash all blocks, and then the children of all nodes."""
    count = len(nodes.places)
    return Compressions(
        np.concatenate([found.values, np.tile(np.array(IV, dtype=np.uint32), (count, 1))]),
        np.concatenate([found.halves, nodes.children]),
        np.concatenate([found.parameters, np.tile(np.array(NODE_PARAMETERS, dtype=np.uint32), (count, 1))]),
        np.concatenate([found.uses, np.full(count, int(Use.NODE), dtype=np.uint32)]),
    )
