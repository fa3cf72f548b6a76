"""The nodes of `machine` prove that digests are in Merkle trees, at their places."""

import random
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphprover.air.debugger import FailingConstraint
from graphprover.field import P
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import HASH_NAMES
from graphprover.proving.prove import prove
from graphprover.recursion.tables.columns import WIDTH
from graphprover.recursion.tables.machine import ADDRESS
from graphprover.recursion.tables.nodes import NodeRow, node_of
from graphprover.recursion.traces.nodes import Nodes, fill_nodes
from graphprover.recursion.witness.lookups import asked_of
from graphprover.statement.check import check
from graphprover.statement.statement import Statement
from graphprover.verifier import verify
from tests.interop import plonky3
from tests.interop.tables import PLAIN
from tests.recursion.falsified import accepted
from tests.recursion.machines import TABLE, main_of, with_main
from tests.recursion.trees import (
    FIRST,
    RIGHT,
    Opened,
    Place,
    Tree,
    nodes_of,
    paths,
    place_in,
    statement,
    tree_of,
)
from tests.slow import slow_after
from tests.strict_device import StrictDevice, unwrapped

# Numbers of trees, layers and indices.
QUERIES = ((0, 5, 3), (0, 5, 3), (0, 5, 2), (0, 5, 30), (0, 2, 1), (1, 3, 0), (1, 3, 5), (2, 0, 0))
QUERIES += ((3, 5, 6), (3, 4, RIGHT), (3, 4, RIGHT + 3), (3, 1, RIGHT))
NODES = (9, 3 + 2, 0, 7)  # of the paths in each tree


@cache
def trees() -> tuple[Tree, ...]:
    """Return trees of 32, 8 and 1 leaves, and one of 8 leaves with rows that join at 4 nodes and at the root."""
    rng = random.Random(1)

    def some(size: int) -> list[bytes]:
        return [rng.randbytes(32) for _ in range(size)]

    return *(tree_of(some(size)) for size in (32, 8, 1)), tree_of(some(8), [some(4), some(1)])


def at(number: int, layer: int, index: int) -> Place:
    """Return a place in one of the trees."""
    return place_in(number, trees()[number], layer, index)


def opened(*, cap_height: int = 0) -> Opened:
    """Return true claims, one of them twice, one about an inner node, one about a cap."""
    caps = {at(number, 0, 0): layers[0][0] for number, layers in enumerate(trees())}
    if cap_height:
        del caps[at(0, 0, 0)]
        caps |= {at(0, cap_height, i): digest for i, digest in trees()[0][cap_height].items()}
    return Opened(caps, [(at(*query), trees()[query[0]][query[1]][query[2]]) for query in QUERIES])


def honest(claims: Opened) -> tuple[Nodes, Statement]:
    nodes = nodes_of(paths(trees(), claims), claims)
    return nodes, statement(claims, nodes)


@pytest.mark.parametrize("cap_height", [0, 1, 2])
def test_paths_are_proved(cap_height: int) -> None:
    claims = opened(cap_height=cap_height)
    nodes, made = honest(claims)
    assert check(made) == []
    # Paths that meet share nodes: three of five layers, and two of three.
    below = {0: 5 + 4 + 1 - 1, 1: 4 + 4, 2: 3 + 3}[cap_height]
    assert len(nodes.places) == below + sum(NODES[1:])


@pytest.mark.parametrize("hash", HASH_NAMES)
def test_both_verifiers_accept(hash: str, tmp_path: Path) -> None:
    claims = opened()
    nodes, made = honest(claims)
    proof = accepted(made, hash, tmp_path)
    other = statement(replace(claims, leaves=[(at(0, 5, 4), claims.leaves[0][1]), *claims.leaves[1:]]), nodes)
    assert check(other)
    with pytest.raises(VerificationError):
        verify(proof, other)
    payload = prove(other, parameters=PLAIN, device="cpu").payload
    plonky3.write_statement(tmp_path / "other.json", PLAIN, other.tables)
    (verdict,) = plonky3.verify_payloads(tmp_path, tmp_path / "other.json", [payload])
    assert verdict is not None


def forged(claims: Opened) -> list[Any]:
    """Return the findings for claims about the trees, of which the nodes on the paths are right."""
    nodes = nodes_of(paths(trees(), claims), claims)
    return check(statement(claims, nodes))


@pytest.mark.parametrize("number", slow_after(4, [2, 4, 7, 9, 0, 1, 3, 5, 6, 8, 10, 11]))
def test_other_leaves_are_found(number: int) -> None:
    """At another index, layer or tree, with other joins, or another digest at the place."""
    claims = opened()
    (structure, layer, index), digest = claims.leaves[number]
    others = [((structure, layer, index), bytes([digest[0] ^ 1]) + digest[1:])]
    others += [((structure, layer, i), digest) for i in (index ^ 1, index + 2, index + 2**layer, index ^ RIGHT)]
    others += [((structure, layer + 1, index), digest), ((structure, abs(layer - 1), index), digest)]
    others += [((other, layer, index), digest) for other in (structure ^ 1, 2 * structure, structure // 2)]
    for other, tree in enumerate(trees()):
        if other != QUERIES[number][0]:
            others += [(place_in(other, tree, layer, index), digest)]
        elif layer:
            others += [(place_in(other, tree, layer - 1, index), digest)]
    real = {at(other, layer, i) for other, tree in enumerate(trees()) for layer, of in enumerate(tree) for i in of}
    nodes, _ = honest(claims)
    for place, found in others:
        leaves = [*claims.leaves[:number], (place, found), *claims.leaves[number + 1 :]]
        if place in real:
            assert forged(replace(claims, leaves=leaves)), place
        assert check(statement(replace(claims, leaves=leaves), nodes)), place


def test_other_caps_are_found() -> None:
    claims = opened()
    for place, cap in claims.caps.items():
        caps = dict(claims.caps) | {place: cap[:-1] + bytes([cap[-1] ^ 128])}
        assert forged(replace(claims, caps=caps))
    nodes, _ = honest(claims)
    for counts in ([4, 1, 1, 1], [1, 1, 1, 1], [1, 2, 1, 1], [1, 1, 1, 2]):
        assert bool(check(statement(claims, nodes, caps=counts))) == (counts != [1, 1, 1, 1])


def test_forged_nodes_are_found() -> None:
    def swapped(t: NodeRow) -> None:
        for left, right in zip(t.left, t.right, strict=True):
            left[2], right[2] = right[2].copy(), left[2].copy()
        t.asked[:, 2] = t.asked[::-1, 2].copy()

    def half(t: NodeRow) -> None:
        t.on[0] = (P + 1) // 2

    def one_layer_up(t: NodeRow) -> None:
        t.place[1] = [(int(layer) - 1) % P if on else layer for on, layer in zip(t.on, t.place[1], strict=True)]

    def elsewhere(t: NodeRow) -> None:
        t.place[0][t.on == 1] += np.uint64(2)

    def no_join(t: NodeRow) -> None:
        row = np.flatnonzero(t.join)[0]
        t.join[row], t.left_index[row] = 0, 2 * t.place[2][row]

    def all_join(t: NodeRow) -> None:
        t.join[t.on == 1], t.left_index[:] = 1, t.place[2]

    _, made = honest(opened())
    for edit in (swapped, half, one_layer_up, elsewhere, no_join, all_join):
        main = main_of(made)
        edit(node_of(TABLE.view(main[:, 1:])))  # without the row of the step
        assert check(with_main(made, main)), edit.__name__


def test_joins_are_the_ones_of_the_caps_number() -> None:
    """A prover takes a node's right child for a row that joins: no cap but one with this number answers."""
    tree, index = trees()[1], 2
    leaf = (FIRST + 1, 3, RIGHT + index), tree[3][2 * index + 1]
    cap = 2 * 2 * (2 * leaf[0][0] + 1)
    places = np.array([(cap // 4, 2, index), (cap // 2, 1, index // 2), (cap, 0, 0)], dtype=np.uint64)
    found = paths([tree], Opened({place_in(0, tree, 0, 0): b""}, [(place_in(0, tree, 3, 2 * index + 1), leaf[1])]))
    for number in (cap, *range(cap - 8, cap), *range(cap + 1, cap + 8)):
        claims = Opened({(number, 0, 0): tree[0][0]}, [leaf])
        for root in (cap, number):
            places[-1, 0] = root
            nodes = nodes_of(dict(zip(map(tuple, places.tolist()), found.values(), strict=True)), claims)
            assert bool(check(statement(claims, nodes))) == (number != cap)


def test_a_row_that_joins_is_no_other_node() -> None:
    """The pair of a join and its row have different indices, and children have the join's number below."""
    claims = opened()
    for layer, index in ((4, 3), (1, 0)):
        pair, row = (trees()[3][layer][i] for i in (index, RIGHT + index))
        for place, digest in ((at(3, layer, index), row), (at(3, layer, RIGHT + index), pair)):
            assert forged(replace(claims, leaves=[(place, digest)]))


def test_a_row_that_is_off_provides_nothing() -> None:
    """Without the constraint an idle row would provide any leaf: no message is missing."""
    claims = replace(opened(), leaves=[(at(0, 5, 3), bytes(32))])
    empty = nodes_of({}, claims)
    made = statement(claims, empty, caps=[0, 0, 0, 0])
    main = main_of(made)
    t = node_of(TABLE.view(main))
    t.place[:, -1], t.left_index[-1], t.asked[1, -1] = at(0, 4, 1), 2, 1
    (finding,) = check(with_main(made, main))
    assert isinstance(finding, FailingConstraint) and finding.label == "a message that can be looked up"


def test_a_tree_of_another_cap_is_found() -> None:
    """All nodes are right, but end at a root that is not the cap; also if the leaves' layer is deeper than said."""
    rng = random.Random(2)
    other = tree_of([rng.randbytes(32) for _ in range(32)])
    claims = opened()
    leaves = [(at(0, 5, 3), other[5][3])]
    found = paths([other], Opened({at(0, 0, 0): b""}, leaves))
    alone = replace(claims, leaves=leaves)
    assert check(statement(alone, nodes_of(found, alone)))
    right = Opened({at(0, 0, 0): other[0][0]}, leaves)
    assert check(statement(right, nodes_of(found, right))) == []
    cap = at(0, 0, 0)[0], 1, 1  # a root as the cap one layer lower
    inner = Opened({cap: other[0][0]}, [((FIRST, 6, 2**5 + 3), other[5][3])])
    shifted = {(number, layer + 1, index + 2**layer): node for (number, layer, index), node in found.items()}
    assert check(statement(inner, nodes_of(shifted, inner))) == []  # true of this cap
    assert check(statement(right, nodes_of(shifted, right)))


def test_children_that_compress_has_not_hashed_are_found() -> None:
    claims = opened()
    nodes, _ = honest(claims)
    blocks = [block.tobytes() for block in nodes.children]
    assert check(statement(claims, nodes, children=blocks)) == []
    assert check(statement(claims, nodes, children=[blocks[1], *blocks[1:]]))
    assert check(statement(claims, nodes, children=[blocks[0][32:] + blocks[0][:32], *blocks[1:]]))
    assert check(statement(claims, nodes, children=blocks[1:]))
    assert check(statement(claims, nodes, children=[*blocks, blocks[0]]))


def test_counts_of_children() -> None:
    nodes = np.array([[4, 0, 0], [2, 1, 1], [7, 0, 0]], dtype=np.uint64)
    looked_up = [[1, 2, 3], [1, 2, 3], [2, 1, 0], [3, 1, RIGHT], [3, 1, 1], [7, 1, 1], [7, 0, 0], [8, 3, 3]]
    others = np.array(looked_up, dtype=np.uint64)
    assert asked_of(nodes, others).tolist() == [[1, 1], [0, 2], [0, 1]]
    assert asked_of(nodes[:0], others).shape == (0, 2)
    assert asked_of(nodes, others[:0]).tolist() == [[0, 1], [0, 0], [0, 0]]
    with pytest.raises(ValueError, match="twice"):
        asked_of(nodes[[0, 1, 0]], others)


def test_counts_of_children_as_by_a_dictionary() -> None:
    """Of dense and of large places, of which some differ in one number alone."""
    rng = random.Random(3)
    for most in (2, 5, 2**62):
        drawn = [(rng.randrange(2**60), rng.randrange(4), rng.randrange(most)) for _ in range(60)]
        drawn += [children(place)[rng.randrange(2)] for place in drawn]
        drawn += [(number, layer, index ^ rng.choice([1, 2, RIGHT])) for number, layer, index in drawn]
        others, rows, of_child = drawn[1::2] + drawn[::3], dict[Place, list[int]](), dict[Place, tuple[Place, int]]()
        for place in drawn[::2]:
            if not of_child.keys() & set(children(place)):
                rows[place] = [0, 0]
                of_child |= {child: (place, side) for side, child in enumerate(children(place))}
        nodes = list(rows)
        for lookup in nodes + others:
            if lookup in of_child:
                place, side = of_child[lookup]
                rows[place][side] += 1
        found = asked_of(np.array(nodes, dtype=np.uint64), np.array(others, dtype=np.uint64))
        assert found.tolist() == list(rows.values()) and found.dtype == np.uint32 and found.any()


def children(place: Place) -> tuple[Place, Place]:
    number, layer, index = place
    left, right = (index, index + RIGHT) if number % 2 else (2 * index, 2 * index + 1)
    return (number // 2, layer + 1, left), (number // 2, layer + 1, right)


def test_the_trace_of_other_devices() -> None:
    """It asks nothing of a device that CuPy could not do without waiting."""
    nodes, made = honest(opened())
    device, wanted = StrictDevice(), main_of(made)
    there = Nodes(**{name: device.load(array) for name, array in vars(nodes).items()})
    main = device.arrays.zeros(wanted.shape, dtype=np.uint64)
    fill_nodes(main, there, 1)  # type: ignore[arg-type]
    np.testing.assert_array_equal(unwrapped(main)[:ADDRESS, 1:], wanted[:ADDRESS, 1:])


def test_what_does_not_fit_is_refused() -> None:
    nodes, _ = honest(opened())
    count = len(nodes.places)
    main = np.zeros((WIDTH, count + 1), dtype=np.uint64)
    fill_nodes(main, nodes, 1)
    with pytest.raises(ValueError, match=f"{count} nodes after 2 rows do not fit {count + 1} rows"):
        fill_nodes(main, nodes, 2)
    for name, array in vars(nodes).items():
        for wrong in (array[:, 1:], array.astype(np.int64), array[1:]):
            with pytest.raises(ValueError, match="nodes are"):
                fill_nodes(main, replace(nodes, **{name: wrong}), 0)
