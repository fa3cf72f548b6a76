"""Reads of queried rows on the device against the CPU, word by word."""

import numpy as np
import pytest

from graphprover.device import CpuDevice, Tree
from tests.kernels.words import random_words

pytestmark = pytest.mark.gpu

Block = list[tuple[np.ndarray, np.ndarray]]


def gathered(blocks: list[Block], trees: list[tuple[Tree, np.ndarray]]) -> list[np.ndarray]:
    """Return the arrays of the device after checking them against the CPU."""
    import cupy

    from graphprover.kernels.cuda import gather, merkle

    ours = []
    for tree, numbers in trees:
        layers = merkle.allocate(len(tree.layers[0]), len(tree.layers[-1]).bit_length() - 1)
        for layer, digests in zip(layers, tree.layers, strict=True):
            layer[...] = cupy.asarray(digests)
        ours.append((layers, numbers))
    rows, nodes = gather.gather([[(cupy.asarray(m), indices) for m, indices in block] for block in blocks], ours)
    for found, expected in zip((rows, nodes), CpuDevice(1).gather(blocks, trees), strict=True):
        for array, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(array, other)
    return rows + nodes


def tree(log_leaves: int, log_cap: int) -> Tree:
    return Tree(tuple(random_words(log, 1 << log, 4) for log in range(log_leaves, log_cap - 1, -1)))


@pytest.mark.parametrize("rows", [1, 2, 64, 1 << 14])
@pytest.mark.parametrize("columns", [1, 3, 100, 1000])
@pytest.mark.parametrize("count", [1, 5, 231, 3000])
def test_one_matrix(rows: int, columns: int, count: int) -> None:
    indices = np.random.default_rng(count).integers(0, rows, count)
    (result,) = gathered([[(random_words(1, columns, rows), indices)]], [])
    assert result.shape == (count, columns)


def test_matrices_side_by_side_and_one_after_the_other() -> None:
    random = np.random.default_rng(0)
    shared = {log: random.integers(0, 1 << log, 77) for log in (0, 4, 9)}
    heights, widths = [4, 9, 0, 4, 9, 9], [15, 1, 3, 64, 200, 7]
    wide = [(random_words(i, w, 1 << log), shared[log]) for i, (log, w) in enumerate(zip(heights, widths, strict=True))]
    first, second, *_ = gathered([wide, wide[:1], [(wide[1][0], np.array([511]))]], [(tree(6, 0), np.array([64, 1]))])
    assert first.shape == (77, 290)
    np.testing.assert_array_equal(first[:, :15], second)


@pytest.mark.parametrize("log_leaves, log_cap", [(0, 0), (1, 0), (1, 1), (5, 2), (13, 0), (16, 4)])
def test_nodes(log_leaves: int, log_cap: int) -> None:
    merkle_tree, every = tree(log_leaves, log_cap), np.arange(1 << log_cap, 2 << log_leaves)
    gathered(
        [],
        [
            (merkle_tree, every),
            (merkle_tree, every[::-1]),
            (merkle_tree, every[:1]),
            (merkle_tree, every[-1:]),
            (merkle_tree, every[:0]),
        ],
    )


def test_many_trees_and_nothing() -> None:
    trees = [tree(log, 0) for log in range(12)]
    gathered([], [(merkle_tree, np.arange(1, 2 * len(merkle_tree.layers[0]))[::3]) for merkle_tree in trees])
    gathered([], [])


def test_words_beyond_4_gib() -> None:
    import cupy

    from graphprover.kernels.cuda import gather

    matrix = cupy.zeros((3, 1 << 28), dtype=np.uint64)  # 6 GiB
    matrix[:, -2:] = cupy.arange(1, 7, dtype=np.uint64).reshape(3, 2)
    (rows,), _ = gather.gather([[(matrix, np.array([(1 << 28) - 1, 0, (1 << 28) - 2]))]], [])
    assert rows.tolist() == [[2, 4, 6], [0, 0, 0], [1, 3, 5]]


def test_what_is_not_there() -> None:
    import cupy

    from graphprover.kernels.cuda import gather, merkle

    matrix = cupy.zeros((2, 8), dtype=np.uint64)
    for index in (-1, 8):
        with pytest.raises(IndexError, match=r"are not in \[0, 8\)"):
            gather.gather([[(matrix, np.array([index]))]], [])
    indices = np.array([8])  # in range of the first matrix, not of the second
    with pytest.raises(IndexError, match=r"are not in \[0, 8\)"):
        gather.gather([[(cupy.zeros((1, 16), dtype=np.uint64), indices), (matrix, indices)]], [])
    layers = merkle.allocate(8, 1)
    for number in (0, 1, 16, 17):
        with pytest.raises(IndexError, match=rf"node {number} is not in \[2, 16\)"):
            gather.gather([], [(layers, np.array([number]))])
    with pytest.raises(ValueError, match="a block of"):
        gather.gather([[(matrix, np.array([1])), (matrix, np.array([1, 2]))]], [])
    with pytest.raises(ValueError, match="a block of"):
        gather.gather([[(cupy.zeros((8, 4), dtype=np.uint64).T, np.array([1]))]], [])
