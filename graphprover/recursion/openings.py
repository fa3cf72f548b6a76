"""The openings of a proof: rows, caps and all nodes between them, at their places in the trees.

The numbers of trees, layers and indices, and why a join is a layer of its own: docs/recursion.md, section Openings.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.protocol.layout import Layout, Point
from graphprover.protocol.merkle import NODE, NodeDigests, Opening, TreeLayer, verify_openings, walk_of
from graphprover.protocol.parameters import BLAKE3
from graphprover.protocol.proof import BatchProof, Cap
from graphprover.protocol.verification import Challenges, batches_of, openings_of_queries
from graphprover.recursion.tables.nodes import JOINED

# Limits that make numbers of trees and indices unique (tables/nodes.py).
MOST_LAYERS = 48
MOST_TREES = 1 << 12
_MOST_LOG_ROWS = 31


@dataclass(frozen=True)
class TreePlaces:
    """The places in one tree; structure: the first number of a place, with the joins below and the tree's number."""

    cap: tuple[int, int]  # structure and layer of the digests of the cap, whose indices begin with 0
    # By log2 of a height: structure, layer, and index of row 0 of the rows' digests. Row i is at this index plus i.
    rows: Mapping[int, tuple[int, int, int]]
    nodes: Mapping[int, tuple[int, int]]  # by log2 of a layer's size: structure and layer of the nodes of two nodes
    joins: Mapping[int, tuple[int, int]]  # by log2 of a height: structure and layer of the nodes that a row joins


def places_of_tree(number: int, log_rows: int, joined: Collection[int], log_cap: int) -> TreePlaces:
    """Return the places in a tree.

    The number at the bottom of tree t is 2^12 + t, not t: all have one length in bits. With t itself, a place four
    layers below the cap of tree 2 and one of tree 1 would have the same numbers, and the cap of each would answer for
    both.

    Args:
        number: The number of the tree.
        log_rows: log2 of the number of its tallest rows.
        joined: log2 of the heights of all rows that join, from ``log_cap`` to ``log_rows - 1``.
        log_cap: log2 of the number of digests in its cap.

    Raises:
        ValueError: For 2^12 trees or more, more than 2^31 rows, or more than 48 layers.
    """
    layer = log_rows + len(joined)
    check_trees(number + 1)
    if log_rows > _MOST_LOG_ROWS or layer > MOST_LAYERS:
        raise ValueError(
            f"tree {number} has 2^{log_rows} rows in {layer} layers, of up to 2^{_MOST_LOG_ROWS} in {MOST_LAYERS}"
        )
    structure = MOST_TREES + number
    rows = {log_rows: (structure, layer, 0)}
    nodes, joins = dict[int, tuple[int, int]](), dict[int, tuple[int, int]]()
    for log in reversed(range(log_cap, log_rows)):
        structure, layer = 2 * structure, layer - 1
        nodes[log] = structure, layer
        if log in joined:
            rows[log] = structure, layer, JOINED
            structure, layer = 2 * structure + 1, layer - 1
            joins[log] = structure, layer
    return TreePlaces((structure, layer), rows, nodes, joins)


def check_trees(count: int) -> None:
    """Raise ValueError for more trees than places have numbers for."""
    if count > MOST_TREES:
        raise ValueError(f"the proofs of a layer have {count} trees, of up to {MOST_TREES}")


@dataclass(frozen=True, eq=False)
class OpenedRows:
    """The n different rows that are opened of one height of a tree."""

    tree: int  # first number of the rows' places, with the joins below
    layer: int  # of the rows' digests
    indices: np.ndarray  # of each row's digest in the layer, ascending, uint64 (n,)
    words: np.ndarray  # of all matrices of the height in the order of the commitment, contiguous, uint64 (n, words)
    # The power of the batching challenge of each word at each `Point`, the last one of shards alone; -1 if it is not
    # opened there: int64 (points, words). None for the groups of a fold.
    powers: np.ndarray | None
    split_from: int | None = None  # the first chunk of a row whose words are split, as all after it; None without any

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
    """All openings of a proof. `nodes_of` checks that the rows are under the caps."""

    caps: OpenedCaps
    rows: tuple[OpenedRows, ...]  # by tree, the tallest first
    commitments: tuple[Opening, ...]
    trees: tuple[TreePlaces, ...]  # of the commitments
    walk: Mapping[int, TreeLayer]  # as returned by `graphprover.protocol.merkle.walk_of`


def openings_of(
    layout: Layout, proof: BatchProof, challenges: Challenges, preprocessed: Cap | None, first_tree: int = 0
) -> Openings:
    """Return the openings of a proof, of which nothing is checked yet.

    Args:
        layout: Shape of the proof.
        proof: The proof.
        challenges: The challenges of its transcript (`graphprover.protocol.verification.replay`).
        preprocessed: Commitment to the preprocessed columns, or None without any.
        first_tree: The number of the first tree.

    Returns:
        The openings. Trees are numbered in the order of the rounds and then of the folds (`places_of_tree`).

    Raises:
        ValueError: The proof uses another hash than the tables, or has trees that are too large (`places_of_tree`).
        VerificationError: No codeword follows from the rows.
    """
    if layout.parameters.hash != BLAKE3:
        raise ValueError(f"the tables for recursion hash by {BLAKE3}, the proof by {layout.parameters.hash}")
    found, _ = openings_of_queries(layout, proof, preprocessed, challenges)
    trees = [_places_in(tree, opening) for tree, opening in enumerate(found, first_tree)]
    walk = walk_of(challenges.queries, layout.log_max_rows, found)
    rows = [
        _rows(layout, trees, tree, log, walk[log].nodes, words[walk[log].query])
        for tree, opening in enumerate(found)
        for log, words in opening.rows.items()
    ]
    return Openings(_caps(found, trees), tuple(rows), tuple(found), tuple(trees), walk)


def nodes_of(layout: Layout, challenges: Challenges, openings: Openings) -> OpenedNodes:
    """Return the nodes on the paths of all opened rows, after the check that the rows are under the caps.

    Args:
        layout: Shape of the proof.
        challenges: The challenges of its transcript.
        openings: Its openings.

    Raises:
        VerificationError: An opening is wrong, as in a verification.
    """
    steps: list[NodeDigests] = []
    verify_openings(BLAKE3, challenges.queries, layout.log_max_rows, openings.commitments, steps, openings.walk)
    return _nodes(openings.trees, steps)


def joined_nodes(nodes: Sequence[OpenedNodes]) -> OpenedNodes:
    """Return the nodes of several proofs."""
    return OpenedNodes(*(np.concatenate(own) for own in zip(*(vars(of).values() for of in nodes), strict=True)))


def _places_in(number: int, opening: Opening) -> TreePlaces:
    joined = [log for log in opening.rows if log < opening.log_rows]
    return places_of_tree(number, opening.log_rows, joined, opening.log_cap)


def _rows(
    layout: Layout, trees: Sequence[TreePlaces], tree: int, log: int, indices: np.ndarray, words: np.ndarray
) -> OpenedRows:
    powers = None
    if tree < len(layout.rounds):
        batch = batches_of(layout).heights[log]
        own = batch.powers[:, batch.rounds[layout.rounds[tree].name]]
        powers = np.full((len(Point) if layout.shard else 2, own.shape[1]), -1, dtype=np.int64)
        powers[list(batch.points)] = own
    structure, layer, first = trees[tree].rows[log]
    return OpenedRows(structure, layer, indices.astype(np.uint64) + np.uint64(first), words, powers)


def _caps(openings: Sequence[Opening], trees: Sequence[TreePlaces]) -> OpenedCaps:
    places = [
        _places(*tree.cap, np.arange(len(opening.cap), dtype=np.uint64))
        for tree, opening in zip(trees, openings, strict=True)
    ]
    digests = b"".join(digest for opening in openings for digest in opening.cap)
    return OpenedCaps(np.concatenate(places), np.frombuffer(digests, dtype="<u4").reshape(-1, 8))


def _nodes(trees: Sequence[TreePlaces], steps: Sequence[NodeDigests]) -> OpenedNodes:
    empty = np.empty(0, dtype=np.uint64)  # of proofs without nodes, if all rows are under a digest of a cap
    places = []
    for step in steps:
        own = np.empty((len(step.trees), len(step.nodes), 3), dtype=np.uint64)
        of_trees = [(trees[tree].nodes if step.kind == NODE else trees[tree].joins)[step.log] for tree in step.trees]
        own[:, :, :2] = np.array(of_trees, dtype=np.uint64)[:, None]
        own[:, :, 2] = step.nodes
        places.append(own.reshape(-1, 3))
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
