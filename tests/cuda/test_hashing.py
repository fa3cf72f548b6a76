"""Hashes, trees and proof of work on the device against their twins on the CPU, and against other implementations."""

from types import ModuleType

import blake3
import numpy as np
import pytest
from Crypto.Hash import keccak

from tests.kernels.words import random_words

pytestmark = pytest.mark.gpu

HASHES = ("keccak", "blake3")
# Around the ends of blocks of both hashes, of one chunk of BLAKE3 and of trees of chunks.
WIDTHS = [*range(131), 135, 136, 137, 200, 255, 256, 257, 384, 385, 513, 640, 897, 1000, 1024, 1025, 2100]


def twin(hash: str) -> ModuleType:
    from graphprover.kernels.cpu.hashes import KERNELS

    return KERNELS[hash]


def digest(hash: str, words: np.ndarray) -> np.ndarray:
    """Return a digest, uint64 (4,), by another implementation than the prover's."""
    message = np.ascontiguousarray(words, dtype="<u8").tobytes()
    if hash == "blake3":
        return np.frombuffer(blake3.blake3(message).digest(), dtype=np.uint64)
    return np.frombuffer(keccak.new(digest_bits=256, data=message).digest(), dtype=np.uint64)


def hashed(hash: str, matrices: list[np.ndarray]) -> np.ndarray:
    """Return the digests of rows by the twin."""
    rows = matrices[0].shape[1]
    digests = np.empty((rows, 4), dtype=np.uint64)
    twin(hash).hash_rows(matrices, digests, 0, rows)
    return digests


def hashed_on_device(hash: str, matrices: list[np.ndarray]) -> np.ndarray:
    import cupy

    from graphprover.kernels.cuda.hashes import KERNELS

    target = cupy.full((matrices[0].shape[1], 4), 7, dtype=np.uint64)
    KERNELS[hash].hash_rows([cupy.asarray(matrix) for matrix in matrices], target)
    return target.get()


def layers_of(hash: str, leaves: np.ndarray, joining: dict[int, np.ndarray], cap: int) -> list[np.ndarray]:
    layers = [leaves]
    while len(layers[-1]) > cap:
        above = np.empty((len(layers[-1]) // 2, 4), dtype=np.uint64)
        twin(hash).hash_pairs(layers[-1], joining.get(len(above)), above, 0, len(above))
        layers.append(above)
    return layers


@pytest.mark.parametrize("hash", HASHES)
@pytest.mark.parametrize("rows", [1, 2, 3, 64, 1000, 1 << 10, 1 << 14])
@pytest.mark.parametrize(
    "widths", [[1], [3], [16], [17], [18], [33, 1], [34], [5, 0, 12], [17, 17, 9, 85], [17, 17, 9, 86], [100, 30, 200]]
)
def test_rows(hash: str, rows: int, widths: list[int]) -> None:
    matrices = [random_words(i, width, rows) for i, width in enumerate(widths)]
    np.testing.assert_array_equal(hashed_on_device(hash, matrices), hashed(hash, matrices))


@pytest.mark.parametrize("hash", HASHES)
def test_rows_of_any_width(hash: str) -> None:
    for width in WIDTHS:
        for rows in (1, 2, 3, 130):
            matrix = random_words(width, width, rows)
            expected = [digest(hash, row) for row in matrix.T]
            np.testing.assert_array_equal(hashed_on_device(hash, [matrix]), expected, f"{width} x {rows}")


@pytest.mark.parametrize("hash", HASHES)
@pytest.mark.parametrize("log_arity", [0, 1, 2, 3, 4, 6])
def test_groups(hash: str, log_arity: int) -> None:
    import cupy

    from graphprover.kernels.cuda.hashes import KERNELS

    codeword, size = random_words(log_arity, 3, 1 << 12), 1 << log_arity
    rows = codeword.shape[1] // size
    expected, result = np.empty((rows, 4), dtype=np.uint64), cupy.full((rows, 4), 7, dtype=np.uint64)
    twin(hash).hash_groups(codeword, size, expected, 0, rows)
    KERNELS[hash].hash_groups(cupy.asarray(codeword), size, result)
    np.testing.assert_array_equal(result.get(), expected)
    np.testing.assert_array_equal(expected[-1], digest(hash, codeword[:, -size:].T))


@pytest.mark.parametrize("hash", HASHES)
@pytest.mark.parametrize("log_leaves", [0, 1, 4, 7, 8, 9, 13, 14, 15, 18, 19])
@pytest.mark.parametrize("cap_height", [0, 3, 10])
@pytest.mark.parametrize("every", [1, 3, 30])
def test_trees(hash: str, log_leaves: int, cap_height: int, every: int) -> None:
    """With row digests that join at all layers, at some and at one, in all kinds of launches."""
    import cupy

    from graphprover.kernels.cuda import merkle

    leaves = random_words(1, 1 << log_leaves, 4)
    cap = min(1 << cap_height, len(leaves))
    joining = {1 << k: random_words(k, 1 << k, 4) for k in range(cap.bit_length() - 1, log_leaves, every)}
    expected = layers_of(hash, leaves, joining, cap)
    layers = merkle.allocate(len(leaves), cap_height)
    layers[0][...] = cupy.asarray(leaves)
    for layer in layers[1:]:
        layer.fill(7)
    merkle.build(layers, {size: cupy.asarray(digests) for size, digests in joining.items()}, hash)
    assert len(layers) == len(expected)
    for layer, digests in zip(layers, expected, strict=True):
        np.testing.assert_array_equal(layer.get(), digests)
    if len(expected) > 1 and len(expected[1]) not in joining:
        np.testing.assert_array_equal(expected[1][-1], digest(hash, expected[0][-2:]))


@pytest.mark.parametrize("hash", HASHES)
@pytest.mark.parametrize("bits", [1, 2, 7, 8, 9, 16, 17, 20])
def test_smallest_nonce(hash: str, bits: int) -> None:
    from graphprover.kernels.cuda import grind

    for attempt in range(4):
        seed = random_words(attempt, 4)
        assert grind.grind(seed.tobytes(), bits, hash) == twin(hash).smallest_nonce(seed, bits, 0, 1 << 27)


@pytest.mark.parametrize("hash", HASHES)
def test_no_bits_need_no_nonce(hash: str) -> None:
    from graphprover.kernels.cuda import grind

    assert grind.grind(bytes(32), 0, hash) == 0
