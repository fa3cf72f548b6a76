"""Merkle layers against hashes of single pairs."""

import numpy as np
import pytest

from graphprover.kernels.cpu import merkle
from tests import naive


def random_layer(nodes, seed=0):
    return np.random.default_rng(nodes + seed).integers(0, 2**64, (nodes, 4), dtype=np.uint64)


def digests(layer):
    return [node.tobytes() for node in layer]


@pytest.mark.parametrize("nodes", [1, 2, 3, 7, 8, 9, 32])
def test_compress(nodes):
    layer = random_layer(2 * nodes)
    parents = np.zeros((nodes, 4), dtype=np.uint64)
    merkle.compress(layer, parents, 0, nodes)
    assert digests(parents) == naive.compress(digests(layer))


@pytest.mark.parametrize("nodes", [1, 2, 5, 8, 17])
def test_inject(nodes):
    layer, rows = random_layer(2 * nodes), random_layer(nodes, seed=1)
    parents = np.zeros((nodes, 4), dtype=np.uint64)
    merkle.inject(layer, rows, parents, 0, nodes)
    joined = zip(naive.compress(digests(layer)), digests(rows), strict=True)
    assert digests(parents) == [naive.keccak256(pair + row) for pair, row in joined]


def test_only_the_asked_nodes_are_written():
    layer = random_layer(40)
    whole, part = np.zeros((2, 20, 4), dtype=np.uint64)
    merkle.compress(layer, whole, 0, 20)
    merkle.compress(layer, part, 3, 14)
    assert np.array_equal(part[3:14], whole[3:14])
    assert not part[:3].any() and not part[14:].any()


def test_other_shapes_are_refused():
    layer = random_layer(8)
    for parents in (random_layer(3), random_layer(8), np.zeros((4, 3), dtype=np.uint64), random_layer(8)[::2]):
        with pytest.raises(ValueError):
            merkle.compress(layer, parents, 0, 1)
    with pytest.raises(ValueError):
        merkle.compress(layer, random_layer(4), 0, 5)
    with pytest.raises(ValueError):
        merkle.inject(layer, random_layer(3), random_layer(4), 0, 4)
