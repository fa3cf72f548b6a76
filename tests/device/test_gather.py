"""A device's reads at the end of a proof against plain indexing."""

import numpy as np
import pytest

from graphprover.device import CpuDevice, Tree
from tests.kernels.words import random_words
from tests.naive_device import NaiveDevice


def tree(log_leaves: int, log_cap: int) -> Tree:
    return Tree(tuple(random_words(log, 1 << log, 4) for log in range(log_leaves, log_cap - 1, -1)))


@pytest.mark.parametrize("log_leaves, log_cap", [(0, 0), (1, 0), (1, 1), (7, 0), (7, 3)])
def test_nodes(log_leaves: int, log_cap: int) -> None:
    merkle_tree = tree(log_leaves, log_cap)
    heap = np.concatenate([np.zeros((1 << log_cap, 4), dtype=np.uint64), *reversed(merkle_tree.layers)])
    every = np.arange(1 << log_cap, 2 << log_leaves)
    for numbers in (every, every[::-1], every[:1], every[-1:], every[:0]):
        rows, (nodes,) = CpuDevice(1).gather([], [(merkle_tree, numbers)])
        assert rows == []
        np.testing.assert_array_equal(nodes, heap[numbers])


def test_rows_side_by_side() -> None:
    wide, tall = random_words(1, 19, 1 << 4), random_words(2, 1, 1 << 8)
    low, high = np.array([0, 15, 7, 7]), np.array([255, 0, 3, 200])
    blocks = [[(wide, low), (tall, high)], [(tall, high[:1])]]
    (first, second), nodes = CpuDevice(1).gather(blocks, [])
    assert nodes == []
    np.testing.assert_array_equal(first, np.hstack([wide[:, low].T, tall[:, high].T]))
    np.testing.assert_array_equal(second, tall[:, high[:1]].T)
    for ours, theirs in zip((first, second), NaiveDevice().gather(blocks, [])[0], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_what_is_not_there() -> None:
    with pytest.raises(IndexError):
        CpuDevice(1).gather([[(random_words(1, 2, 8), np.array([8]))]], [])
    for number in (0, 1, 16, 17):
        with pytest.raises(IndexError, match="a node outside a tree of 8 leaves"):
            CpuDevice(1).gather([], [(tree(3, 1), np.array([number]))])
