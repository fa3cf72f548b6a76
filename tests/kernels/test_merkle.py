"""Trees against hashes of single rows and pairs."""

import numpy as np
import pytest

from graphprover.device.threads import Threads
from graphprover.kernels.cpu import merkle
from tests import naive
from tests.kernels.test_hashes import digests, random_matrix


def leaves(matrix, hash):
    return [naive.leaf([row], hash) for row in matrix.T.tolist()]


@pytest.mark.parametrize("hash", naive.HASHES)
@pytest.mark.parametrize("cap_height", [0, 1, 3])
def test_matrices_of_several_heights(hash, cap_height):
    matrices = [random_matrix(*shape) for shape in ((3, 64), (20, 8), (130, 16))]
    layers = merkle.tree(Threads(1), matrices, cap_height, hash)
    oracle = naive.HASHES[hash]
    joining = {16: leaves(matrices[2], oracle), 8: leaves(matrices[1], oracle)}
    expected = [leaves(matrices[0], oracle)]
    while len(expected[-1]) > 1 << cap_height:
        expected.append(naive.hash_pairs(expected[-1], joining.get(len(expected[-1]) // 2), oracle))
    assert [digests(layer) for layer in layers] == expected


@pytest.mark.parametrize("hash", naive.HASHES)
def test_matrices_of_one_height_share_rows(hash):
    first, second = random_matrix(5, 32), random_matrix(9, 32)
    layers = merkle.tree(Threads(2), [first, second], 2, hash)
    assert digests(layers[0]) == leaves(np.concatenate([first, second]), naive.HASHES[hash])


@pytest.mark.parametrize("hash", naive.HASHES)
def test_a_tree_over_groups(hash):
    codeword, oracle = random_matrix(3, 64), naive.HASHES[hash]
    layers = merkle.fold_tree(Threads(1), codeword, 2, 1, hash)
    groups = [codeword[:, first : first + 4].T.tolist() for first in range(0, 64, 4)]
    expected = [[naive.leaf(group, oracle) for group in groups]]
    while len(expected[-1]) > 2:
        expected.append(naive.hash_pairs(expected[-1], None, oracle))
    assert [digests(layer) for layer in layers] == expected
