"""Hashes, trees and proof of work on the device against their twins on the CPU, word by word."""

import numpy as np
import pytest

from graphprover.kernels.cpu import grind as cpu_grind
from graphprover.kernels.cpu import keccak as cpu_keccak
from graphprover.kernels.cpu import merkle as cpu_merkle
from tests.kernels.words import random_words

pytestmark = pytest.mark.gpu


def hashed(matrices: list[np.ndarray]) -> np.ndarray:
    rows = matrices[0].shape[1]
    digests = np.empty((rows, 4), dtype=np.uint64)
    cpu_keccak.hash_rows(matrices, digests, 0, rows)
    return digests


def layers_of(leaves: np.ndarray, joining: dict[int, np.ndarray], cap: int) -> list[np.ndarray]:
    layers = [leaves]
    while len(layers[-1]) > cap:
        above = np.empty((len(layers[-1]) // 2, 4), dtype=np.uint64)
        if len(above) in joining:
            cpu_merkle.inject(layers[-1], joining[len(above)], above, 0, len(above))
        else:
            cpu_merkle.compress(layers[-1], above, 0, len(above))
        layers.append(above)
    return layers


@pytest.mark.parametrize("rows", [1, 2, 64, 1 << 10, 1 << 14])
@pytest.mark.parametrize(
    "widths", [[1], [3], [16], [17], [18], [33, 1], [34], [5, 0, 12], [17, 17, 9, 85], [17, 17, 9, 86]]
)
def test_rows(rows: int, widths: list[int]) -> None:
    import cupy

    from graphprover.kernels.cuda import keccak

    matrices = [random_words(i, width, rows) for i, width in enumerate(widths)]
    target = cupy.empty((rows, 4), dtype=np.uint64)
    keccak.hash_rows([cupy.asarray(matrix) for matrix in matrices], target)
    np.testing.assert_array_equal(target.get(), hashed(matrices))


@pytest.mark.parametrize("log_arity", [0, 1, 2, 3, 4])
def test_groups(log_arity: int) -> None:
    import cupy

    from graphprover.kernels.cuda import keccak

    codeword, size = random_words(log_arity, 3, 1 << 12), 1 << log_arity
    rows = codeword.shape[1] // size
    expected, result = np.empty((rows, 4), dtype=np.uint64), cupy.empty((rows, 4), dtype=np.uint64)
    cpu_keccak.hash_groups(codeword, size, expected, 0, rows)
    keccak.hash_groups(cupy.asarray(codeword), size, result)
    np.testing.assert_array_equal(result.get(), expected)


@pytest.mark.parametrize("log_leaves", [0, 1, 4, 7, 8, 9, 13, 14, 15, 17])
@pytest.mark.parametrize("cap_height", [0, 3])
def test_trees(log_leaves: int, cap_height: int) -> None:
    """With row digests that join at some layers, above and below the layers of a single launch."""
    import cupy

    from graphprover.kernels.cuda import merkle

    leaves = random_words(1, 1 << log_leaves, 4)
    cap = min(1 << cap_height, len(leaves))
    joining = {1 << k: random_words(k, 1 << k, 4) for k in range(cap.bit_length() - 1, log_leaves, 3)}
    expected = layers_of(leaves, joining, cap)
    layers = merkle.allocate(len(leaves), cap_height)
    layers[0][...] = cupy.asarray(leaves)
    merkle.build(layers, {size: cupy.asarray(digests) for size, digests in joining.items()})
    assert len(layers) == len(expected)
    for layer, digests in zip(layers, expected, strict=True):
        np.testing.assert_array_equal(layer.get(), digests)


@pytest.mark.parametrize("bits", [1, 2, 7, 8, 9, 16, 17])
def test_smallest_nonce(bits: int) -> None:
    from graphprover.kernels.cuda import grind

    for attempt in range(4):
        seed = random_words(attempt, 4)
        assert grind.grind(seed.tobytes(), bits) == cpu_grind.smallest_nonce(seed, bits, 0, 1 << 24)
