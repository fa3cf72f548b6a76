"""Batch inversion on the device against the CPU's."""

import numpy as np
import pytest

from graphprover.field import P
from graphprover.kernels.cpu import inverse as cpu

cupy = pytest.importorskip("cupy")
from graphprover.kernels.cuda import inverse as cuda  # noqa: E402

pytestmark = pytest.mark.gpu

SIZES = (1, 2, 31, 32, 33, 255, 257, 2047, 2048, 2049, 4096, 5000, 70_001)


def random_words(shape, seed):
    """Return canonical nonzero words, including extreme ones."""
    rng = np.random.default_rng(seed)
    words = rng.integers(1, P, shape, dtype=np.uint64)
    extreme = np.array([1, 2, 2**32 - 1, 2**32, 2**63, P - 2**32, P - 2, P - 1], dtype=np.uint64)
    return np.where(rng.random(shape) < 0.2, rng.choice(extreme, shape), words)


@pytest.mark.parametrize("size", SIZES)
def test_inverse(size):
    words = random_words(size, size)
    expected = np.empty_like(words)
    cpu.inverse(words, expected, 0, size)
    source = cupy.asarray(words)
    target = cupy.empty(size, dtype=cupy.uint64)
    cuda.inverse(source, target)
    np.testing.assert_array_equal(target.get(), expected)
    cuda.inverse(source, source)
    np.testing.assert_array_equal(source.get(), expected)


@pytest.mark.parametrize("zeros", [(0,), (4095,), (4096, 9_999), (123, 124, 7000)])
def test_the_first_zero_is_named(zeros):
    words = random_words(10_000, 1)
    words[list(zeros)] = 0
    source = cupy.asarray(words)
    with pytest.raises(ZeroDivisionError, match=f"element {zeros[0]} is zero"):
        cuda.inverse(source, source)


def test_shapes_must_agree():
    word, vector = cupy.empty(4, dtype=cupy.uint64), cupy.empty((3, 4), dtype=cupy.uint64)
    for source, target in ((word, vector), (word, word[:2]), (vector, vector)):
        with pytest.raises(ValueError, match="shapes"):
            cuda.inverse(source, target)
