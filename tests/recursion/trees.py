"""Merkle trees by the package blake3, their nodes on the paths of queries, and statements about leaves of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import blake3
import numpy as np

from graphprover.recursion.traces.machine import TraceInputs
from graphprover.recursion.traces.nodes import Nodes
from graphprover.recursion.witness.lookups import asked_of
from graphprover.statement.statement import Statement
from tests.recursion import machines
from tests.recursion.machines import halting, no_segments, place
from tests.recursion.naive import compressions, node_call, words_of

Place = tuple[int, int, int]  # structure of the tree below, layer, index
Tree = Sequence[Mapping[int, bytes]]  # layers from the root on: digests by their indices
RIGHT = 2**33  # the index of the first row that joins
FIRST = 2**12  # the number at the bottom of tree 0


def tree_of(leaves: Sequence[bytes], joined: Sequence[Sequence[bytes]] = ()) -> Tree:
    """Return the layers of a tree, in which digests of rows join at the nodes that are as many."""
    layers, rows = [dict(enumerate(leaves))], {len(digests): digests for digests in joined}
    size = len(leaves)
    while size > 1:
        size //= 2
        below = layers[0]
        layers.insert(0, {i: blake3.blake3(below[2 * i] + below[2 * i + 1]).digest() for i in range(size)})
        if size in rows:
            below = layers[0]
            below.update({RIGHT + i: digest for i, digest in enumerate(rows[size])})
            layers.insert(0, {i: blake3.blake3(below[i] + below[RIGHT + i]).digest() for i in range(size)})
    return layers


def joins_at(tree: Tree, layer: int) -> bool:
    """Return whether rows join the nodes of a layer."""
    return layer + 1 < len(tree) and RIGHT in tree[layer + 1]


def place_in(number: int, tree: Tree, layer: int, index: int) -> Place:
    """Return the place of an index of a layer in the tree of some number."""
    structure = FIRST + number
    for above in reversed(range(layer, len(tree) - 1)):
        structure = 2 * structure + joins_at(tree, above)
    return structure, layer, index


def children_of(tree: Tree, layer: int, index: int) -> tuple[int, int]:
    """Return the indices of the children of a node."""
    return (index, RIGHT + index) if joins_at(tree, layer) else (2 * index, 2 * index + 1)


@dataclass(frozen=True)
class Opened:
    """Digests that a statement says are in trees with these caps."""

    caps: Mapping[Place, bytes]
    leaves: Sequence[tuple[Place, bytes]]  # some of them twice, or inner nodes


def paths(trees: Sequence[Tree], opened: Opened) -> dict[Place, tuple[bytes, bytes, bytes]]:
    """Return the digests of all nodes over the leaves, up to the caps, and of their children."""
    found = {}
    for (structure, layer, index), _ in opened.leaves:
        for number, tree in enumerate(trees):
            if layer < len(tree) and place_in(number, tree, layer, index) == (structure, layer, index):
                break
        while place_in(number, tree, layer, index) not in opened.caps:
            layer -= 1
            index = index % RIGHT if joins_at(tree, layer) else index // 2
            left, right = (tree[layer + 1][child] for child in children_of(tree, layer, index))
            found[place_in(number, tree, layer, index)] = tree[layer][index], left, right
    return found


def nodes_of(found: Mapping[Place, tuple[bytes, bytes, bytes]], opened: Opened) -> Nodes:
    """Return the nodes as their trace takes them."""
    places = np.array(list(found), dtype=np.uint64).reshape(-1, 3)
    others = np.array([place for place, _ in opened.leaves], dtype=np.uint64).reshape(-1, 3)
    digests = [words_of(digest) for digest, _, _ in found.values()]
    children = [words_of(left + right) for _, left, right in found.values()]
    return Nodes(
        places,
        np.array(digests, dtype=np.uint32).reshape(-1, 8),
        np.array(children, dtype=np.uint32).reshape(-1, 16),
        asked_of(places, others),
    )


def statement(opened: Opened, nodes: Nodes, *, children: Iterable[bytes] = (), caps: Sequence[int] = ()) -> Statement:
    """Return the statement that the leaves are in the trees, with the traces for these nodes.

    ``children`` are the blocks that `blake3` hashes, by default of the nodes; ``caps`` how often each is asked for.
    """
    calls = [node_call(block) for block in (children or map(np.ndarray.tobytes, nodes.children))]
    places = [*map(tuple, nodes.places.tolist()), *(where for where, _ in opened.leaves)]
    counts = caps or [places.count(where) for where in opened.caps]
    facts = [
        (-count, place(cap, words_of(digest))) for count, (cap, digest) in zip(counts, opened.caps.items(), strict=True)
    ]
    facts += [(1, place(leaf, words_of(digest))) for leaf, digest in opened.leaves]
    return machines.statement(TraceInputs(no_segments(), nodes, halting()), facts, calls=compressions(calls))
