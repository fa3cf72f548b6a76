"""Mixed-height Merkle trees: the digests in a pruned multiproof, and the verification of several multiproofs together.

The tree is Plonky3's ``MerkleTreeMmcs`` with the proof's hash H and arity 2. A leaf hashes one row of every tallest
matrix; a matrix of 2^k rows joins at the layer of 2^k nodes, as node = H(H(left ‖ right) ‖ H(row)). The commitment is
the cap: the layer of 2^c digests. Specification: docs/protocol.md, section 5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.hashing import hash_groups, hash_rows


@dataclass(frozen=True, eq=False)
class TreeLayer:
    """The n nodes of one layer that are on the path of at least one query, and their m parents."""

    nodes: np.ndarray  # index of each node in the layer, ascending, int64 (n,)
    query: np.ndarray  # for each node, one query with the node on its path, int64 (n,)
    place: np.ndarray  # for each query, position in `nodes` of the node on its path, int64 (queries,)
    first: np.ndarray  # whether each node is the first child of its parent in `nodes`, bool (n,)
    sent: np.ndarray  # whether a multiproof contains each node's sibling, bool (n,): not if the sibling is on a path
    parent: np.ndarray  # for each node, position of its parent in the layer above, int64 (n,)

    @cached_property
    def siblings(self) -> int:
        """Number of siblings in a multiproof, 2 m - n."""
        return 2 * int(self.parent[-1] + 1) - len(self.nodes)

    @cached_property
    def children(self) -> np.ndarray:
        """For each of the 2 m children, its position in the n nodes, followed by the siblings sent, int64 (2 m,)."""
        own = 2 * self.parent + (self.nodes & 1)
        children = np.empty(len(own) + self.siblings, dtype=np.int64)
        children[own] = np.arange(len(own))
        children[own[self.sent] ^ 1] = np.arange(len(own), len(children))
        return children

    @cached_property
    def again(self) -> tuple[np.ndarray, np.ndarray]:
        """Queries that share a node with the node's `query`, and that query, int64 (repeated queries,) each."""
        query = self.query[self.place]
        again = np.flatnonzero(query != np.arange(len(query)))
        return again, query[again]

    def above(self) -> "TreeLayer":
        """Return the layer of the parents."""
        return _layer(self.nodes[self.first] >> 1, self.query[self.first], self.parent[self.place])


def _layer(nodes: np.ndarray, query: np.ndarray, place: np.ndarray) -> TreeLayer:
    """Return the layer of these nodes."""
    first, sent = siblings_of(nodes)
    return TreeLayer(nodes, query, place, first, sent, np.cumsum(first) - 1)


def siblings_of(nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for rising nodes of a layer whether each is the first child of its parent, and has no sibling there."""
    parents = nodes >> 1
    bounds = np.ones(len(nodes) + 1, dtype=bool)  # between children of different parents
    np.not_equal(parents[1:], parents[:-1], out=bounds[1:-1])
    first = bounds[:-1]
    return first, first & bounds[1:]


def layers(indices: np.ndarray, count: int) -> list[TreeLayer]:
    """Return the layer of the leaves at ``indices``, int64 (queries,), and the ``count`` layers above it."""
    found = [_layer(*np.unique(indices, return_index=True, return_inverse=True))]
    while len(found) <= count:
        found.append(found[-1].above())
    return found


@dataclass(frozen=True)
class Opening:
    """The rows of all matrices under one commitment at the queries, and their multiproof."""

    what: str  # name of the commitment in messages
    cap: Sequence[bytes]
    rows: Mapping[int, np.ndarray]  # by log2 of a height: words of all matrices of the height, uint64 (queries, words)
    path: bytes  # digests of the siblings that are `TreeLayer.sent`, from the leaves up

    @property
    def log_rows(self) -> int:
        """log2 of the number of leaves of its tree."""
        return max(self.rows)

    @property
    def log_cap(self) -> int:
        """log2 of the number of digests in its cap."""
        return len(self.cap).bit_length() - 1


NODE, JOIN = "node", "join"  # under a digest: two children; a node and the row that joins it


@dataclass(frozen=True, eq=False)
class NodeDigests:
    """The digests of n nodes of one layer in some trees."""

    kind: str  # NODE or JOIN
    trees: Sequence[int]  # their openings
    log: int  # log2 of the layer's size
    nodes: np.ndarray  # index of each node in the layer, ascending, int64 (n,)
    hashed: np.ndarray  # both children, or the node of two children and the row's digest, uint64 (trees, n, 8)
    digests: np.ndarray  # uint64 (trees, n, 4)


def walk_of(indices: np.ndarray, log_rows: int, openings: Sequence[Opening]) -> dict[int, TreeLayer]:
    """Return the layers from the leaves of the tallest tree to the lowest cap, by log2 of a layer's size.

    All trees are opened at the same queries and share the layers. Arguments are as for `verify_openings`.
    """
    lowest = min(opening.log_cap for opening in openings)
    return {log_rows - i: layer for i, layer in enumerate(layers(indices, log_rows - lowest))}


def verify_openings(
    hash: str,
    indices: np.ndarray,
    log_rows: int,
    openings: Sequence[Opening],
    steps: list[NodeDigests] | None = None,
    walk: Mapping[int, TreeLayer] | None = None,
) -> None:
    """Check that all rows are under their commitments.

    A lower tree or a shorter matrix is read at the indices shifted right. The caller has checked the widths of rows,
    and that no matrix is shorter than its cap.

    Args:
        hash: hash of all trees (`Parameters.hash`).
        indices: queried leaves of the tallest tree, int64 (queries,).
        log_rows: log2 of the number of leaves of the tallest tree.
        openings: rows and multiproof of each commitment.
        steps: if given, all nodes are appended, from the leaves up. A verification keeps nothing, because it is faster
            in memory that is used again.
        walk: as returned by `walk_of`, if the caller has it.

    Raises:
        VerificationError: an opening is wrong. The message names the first one, because rows of later openings may
            depend on it.
    """
    if walk is None:
        walk = walk_of(indices, log_rows, openings)
    tops = _climb(hash, walk, openings, steps)
    for i, opening in enumerate(openings):
        if differing := _disagreement(opening, indices >> (log_rows - opening.log_rows), walk):
            raise VerificationError("merkle.rows", f"{opening.what}: {differing}")
        cap = np.frombuffer(b"".join(opening.cap), dtype="<u8").reshape(-1, DIGEST_WORDS)
        if (cap[walk[opening.log_cap].nodes] != tops[i]).any():
            raise VerificationError("merkle.cap", f"{opening.what}: a Merkle path does not end in the cap")


def _climb(
    hash: str, walk: Mapping[int, TreeLayer], openings: Sequence[Opening], steps: list[NodeDigests] | None
) -> dict[int, np.ndarray]:
    """Hash rows and nodes up to the caps, each from one of its queries.

    Args:
        hash: hash of all trees.
        walk: as returned by `walk_of`.
        openings: rows and multiproof of each commitment.
        steps: as in `verify_openings`.

    Returns:
        For each opening, the digests of the n nodes at the layer of its cap, uint64 (n, 4).

    Raises:
        VerificationError: a multiproof has another length.
    """
    ends = np.cumsum([0, *(layer.siblings for layer in walk.values())]).tolist()
    sent = {log: slice(*pair) for log, pair in zip(walk, pairwise(ends), strict=True)}  # siblings of a layer, of all
    paths = _paths(openings, sent)

    def hash_pairs(kind: str, trees: list[int], log: int, pairs: np.ndarray) -> np.ndarray:
        digests = hash_rows(hash, pairs.reshape(-1, 2 * DIGEST_WORDS)).reshape(len(trees), -1, DIGEST_WORDS)
        if steps is not None:
            steps.append(NodeDigests(kind, trees, log, walk[log].nodes, pairs, digests))
        return digests

    places = [(i, log) for i, opening in enumerate(openings) for log in opening.rows]
    rows = [openings[i].rows[log][walk[log].query] for i, log in places]
    row_digests = dict(zip(places, hash_groups(hash, rows), strict=True))
    tops: dict[int, np.ndarray] = {}
    trees: list[int] = []  # openings whose trees have the layer
    digests = np.empty((0, 0, DIGEST_WORDS), dtype=np.uint64)  # of the layer's n nodes in each, (trees, n, 4)
    for log in walk:
        if trees:
            below = np.concatenate([digests, paths[trees, sent[log + 1]]], axis=1)
            children = below.take(walk[log + 1].children, axis=1)  # (trees, 2 n, 4)
            digests = hash_pairs(NODE, trees, log, children.reshape(len(trees), -1, 2 * DIGEST_WORDS))
        if joined := [place for place, i in enumerate(trees) if (i, log) in row_digests]:
            own = [trees[place] for place in joined]
            pairs = np.concatenate([digests[joined], np.stack([row_digests[i, log] for i in own])], axis=2)
            digests = digests.copy()  # the nodes of two children may be kept
            digests[joined] = hash_pairs(JOIN, own, log, pairs)
        if begun := [i for i, opening in enumerate(openings) if opening.log_rows == log]:
            leaves = np.stack([row_digests[i, log] for i in begun])
            digests = np.concatenate([digests, leaves]) if trees else leaves
            trees = trees + begun
        if capped := [place for place, i in enumerate(trees) if openings[i].log_cap == log]:
            tops |= {trees[place]: digests[place] for place in capped}
            digests = np.delete(digests, capped, axis=0)
            trees = [i for i in trees if openings[i].log_cap != log]
    return tops


def _disagreement(opening: Opening, indices: np.ndarray, walk: Mapping[int, TreeLayer]) -> str:
    """Return an error message if two queries of one row have different words, else "".

    ``indices``: leaf of each query in the opening's tree.
    """

    def differing(log: int, words: np.ndarray) -> np.ndarray:
        again, before = walk[log].again
        return again[(words[again] != words[before]).any(axis=1)] if len(again) else again

    if len(walk[opening.log_rows].again[0]):
        for words in opening.rows.values():
            for query in differing(opening.log_rows, words)[:1]:
                return f"two openings of row {indices[query]} differ"
    for log, words in opening.rows.items():
        if len(differing(log, words)):
            return "two openings of one row differ"
    return ""


def _paths(openings: Sequence[Opening], sent: Mapping[int, slice]) -> np.ndarray:
    """Return the digests of all multiproofs, uint64 (openings, siblings, 4).

    ``sent``: by log2 of a layer's size, its siblings in a multiproof of all layers.
    """
    paths = np.zeros((len(openings), max(of.stop for of in sent.values()), DIGEST_WORDS), dtype=np.uint64)
    for path, opening in zip(paths, openings, strict=True):
        own = path[sent[opening.log_rows].start : sent[opening.log_cap].start]
        if len(opening.path) != own.nbytes:
            problem = "short" if len(opening.path) < own.nbytes else "long"
            raise VerificationError("merkle.length", f"{opening.what}: the Merkle proof is too {problem}")
        own[:] = np.frombuffer(opening.path, dtype="<u8").reshape(own.shape)
    return paths
