"""The openings of a proof: rows, caps and all nodes between them, at their places in the trees.

The numbers of trees, layers and indices, and why a join is a layer of its own: docs/recursion.md, section Openings.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.protocol.layout import Layout
from graphprover.protocol.merkle import JOIN, ROW, Opening, Step, verify_openings
from graphprover.protocol.parameters import BLAKE3
from graphprover.protocol.proof import BatchProof, Cap
from graphprover.protocol.verification import Challenges, batches_of, openings_of_queries


@dataclass(frozen=True, eq=False)
class OpenedRows:
    """The n different rows that are opened of one height of a tree."""

    tree: int
    layer: int  # of the rows' digests
    indices: np.ndarray  # of each row's digest in the layer, ascending, uint64 (n,)
    words: np.ndarray  # of all matrices of the height in the order of the commitment, contiguous, uint64 (n, words)
    # The power of the batching challenge of each word, at zeta and at the next row's point; -1 if it is not opened
    # there: int64 (2, words). None for the groups of a fold.
    powers: np.ndarray | None

    @property
    def places(self) -> np.ndarray:
        """Tree, layer and index of each row's digest, uint64 (n, 3)."""
        return _places(self.tree, self.layer, self.indices)


@dataclass(frozen=True, eq=False)
class OpenedCaps:
    """All n digests of all caps."""

    places: np.ndarray  # tree, layer, index: uint64 (n, 3)
    digests: np.ndarray  # uint32 (n, 8)


@dataclass(frozen=True, eq=False)
class OpenedNodes:
    """The n nodes on the paths of all rows, up to the caps and with them; each once."""

    places: np.ndarray  # tree, layer, index: uint64 (n, 3)
    digests: np.ndarray  # uint32 (n, 8)
    children: np.ndarray  # digests of the left and the right child, uint32 (n, 16)


@dataclass(frozen=True, eq=False)
class Openings:
    """All openings of a proof."""

    caps: OpenedCaps
    rows: tuple[OpenedRows, ...]  # by tree, the tallest first
    nodes: OpenedNodes


def openings_of(layout: Layout, proof: BatchProof, challenges: Challenges, preprocessed: Cap | None) -> Openings:
    """Return the openings of a proof, after the check that they are under its caps.

    Args:
        layout: Shape of the proof.
        proof: The proof.
        challenges: The challenges of its transcript (`graphprover.protocol.verification.replay`).
        preprocessed: Commitment to the preprocessed columns, or None without any.

    Returns:
        The openings. Trees are numbered in the order of the rounds and then of the folds.

    Raises:
        ValueError: The proof uses another hash than the tables.
        VerificationError: An opening is wrong, as in a verification.
    """
    if layout.parameters.hash != BLAKE3:
        raise ValueError(f"the tables for recursion hash by {BLAKE3}, the proof by {layout.parameters.hash}")
    openings, _ = openings_of_queries(layout, proof, preprocessed, challenges)
    steps: list[Step] = []
    verify_openings(BLAKE3, challenges.queries, layout.log_max_rows, openings, steps)
    rows = tuple(_rows(layout, openings, step) for step in steps if step.kind == ROW)
    return Openings(_caps(openings), rows, _nodes(openings, [step for step in steps if step.kind != ROW]))


def _rows(layout: Layout, openings: Sequence[Opening], step: Step) -> OpenedRows:
    (tree,) = step.trees
    powers = None
    if tree < len(layout.rounds):
        batch = batches_of(layout).heights[step.log]
        own = batch.powers[:, batch.rounds[layout.rounds[tree].name]]
        powers = np.full((2, own.shape[1]), -1, dtype=np.int64)
        powers[: len(own)] = own
    layer, indices = _below_joins(openings[tree], step)
    return OpenedRows(tree, layer, indices, step.hashed[0], powers)


def _caps(openings: Sequence[Opening]) -> OpenedCaps:
    places = [
        _places(tree, opening.log_cap, np.arange(len(opening.cap), dtype=np.uint64))
        for tree, opening in enumerate(openings)
    ]
    digests = b"".join(digest for opening in openings for digest in opening.cap)
    return OpenedCaps(np.concatenate(places), np.frombuffer(digests, dtype="<u4").reshape(-1, 8))


def _nodes(openings: Sequence[Opening], steps: Sequence[Step]) -> OpenedNodes:
    empty = np.empty(0, dtype=np.uint64)  # of proofs without nodes, if all rows are under a digest of a cap
    places = [_places(tree, *_below_joins(openings[tree], step)) for step in steps for tree in step.trees]
    digests = np.concatenate([empty, *(step.digests.ravel() for step in steps)])
    children = np.concatenate([empty, *(step.hashed.ravel() for step in steps)])
    return OpenedNodes(
        np.concatenate([empty.reshape(0, 3), *places]),
        digests.view(np.uint32).reshape(-1, 8),
        children.view(np.uint32).reshape(-1, 16),
    )


def _places(tree: int, layer: int, indices: np.ndarray) -> np.ndarray:
    """Return places, uint64 (n, 3), of indices uint64 (n,) in one layer."""
    places = np.empty((len(indices), 3), dtype=np.uint64)
    places[:, 0], places[:, 1], places[:, 2] = tree, layer, indices
    return places


def _below_joins(opening: Opening, step: Step) -> tuple[int, np.ndarray]:
    """Return the layer and the indices, uint64 (n,), of the digests of a step in one of its trees.

    Each join above is one more layer, in which the way to a lower node goes to the left: another bit of its index, 0.
    Heights are from 2^1 to 2^32, so a layer is at most 32 + 31: an index has at most 63 bits.
    """
    joined = sorted(log for log in opening.rows if log < opening.log_rows)
    layer, indices = step.log, step.nodes.astype(np.uint64)
    for log in reversed(joined):
        if log < step.log:
            low = np.uint64(layer - log)  # bits of the index that come from layers below the join
            indices = indices >> low << low + np.uint64(1) | indices & (np.uint64(1) << low) - np.uint64(1)
            layer += 1
    if step.log in joined and step.kind != JOIN:  # one of both that are joined
        return layer + 1, indices << np.uint64(1) | np.uint64(step.kind == ROW)
    return layer, indices
