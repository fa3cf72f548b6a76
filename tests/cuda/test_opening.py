"""Interpolation weights and values of columns on the device against the CPU's."""

import numpy as np
import pytest

from graphprover.kernels.cpu import domain
from graphprover.kernels.cpu import opening as cpu

cupy = pytest.importorskip("cupy")
from graphprover.kernels.cuda import opening as cuda  # noqa: E402
from tests.cuda.test_inverse import random_words  # noqa: E402

pytestmark = pytest.mark.gpu

POINT = (2**40 + 1, 2**63 + 5, 2**64 - 2**33)


@pytest.mark.parametrize("log_rows", [0, 1, 5, 11, 13])
def test_weights(log_rows):
    [weights], [expected] = (on.interpolation_weights([(log_rows, POINT)]) for on in (cuda, cpu))
    np.testing.assert_array_equal(weights.get(), expected)


def test_weights_of_many_domains():
    domains = [(i % 14, (i, 2**63 + 5, 2**64 - 2**33)) for i in range(70)]
    all_weights, expected = (on.interpolation_weights(domains) for on in (cuda, cpu))
    for weights, other in zip(all_weights, expected, strict=True):
        np.testing.assert_array_equal(weights.get(), other)


def test_no_weights_for_a_point_of_the_domain():
    point = int(domain.points(4)[9])
    with pytest.raises(ZeroDivisionError, match=f"{point} is one of"):
        cuda.interpolation_weights([(4, (point, 0, 0))])
    cuda.interpolation_weights([(3, (point, 0, 0))])


@pytest.mark.parametrize("points", [1, 2, 3])
@pytest.mark.parametrize("width", [1, 2, 15, 16, 17, 33, 70])
@pytest.mark.parametrize(("log_rows", "log_blowup"), [(0, 1), (1, 0), (3, 2), (6, 1), (11, 1), (12, 1)])
def test_evaluate(log_rows, log_blowup, width, points):
    rows = 1 << log_rows
    matrix = random_words((width, rows << log_blowup), width)
    weights = [random_words((3, rows), i) for i in range(points)]
    expected = np.empty((points, 3, width), dtype=np.uint64)
    cpu.evaluate_columns(matrix, weights, expected, 0, width)
    [values] = cuda.evaluate([cupy.asarray(matrix)], [[cupy.asarray(vector) for vector in weights]])
    np.testing.assert_array_equal(np.stack(values), expected.transpose(0, 2, 1))


@pytest.mark.parametrize("count", [2, 63, 64, 65, 130])
def test_evaluate_many(count):
    """More matrices than one launch accepts, of many shapes."""
    shapes = [(1 + i % 37, 1 << i % 13, 1 + i % 3) for i in range(count)]
    matrices = [random_words((width, 2 * rows), i) for i, (width, rows, _) in enumerate(shapes)]
    weights = [[random_words((3, rows), i + j) for j in range(points)] for i, (_, rows, points) in enumerate(shapes)]
    values = cuda.evaluate(
        [cupy.asarray(array) for array in matrices], [[cupy.asarray(array) for array in some] for some in weights]
    )
    for matrix, some, ours in zip(matrices, weights, values, strict=True):
        expected = np.empty((len(some), 3, len(matrix)), dtype=np.uint64)
        cpu.evaluate_columns(matrix, some, expected, 0, len(matrix))
        np.testing.assert_array_equal(np.stack(ours), expected.transpose(0, 2, 1))


def test_shapes_must_agree():
    matrix = cupy.asarray(random_words((2, 8), 0))
    with pytest.raises(ValueError, match="do not fit"):
        cuda.evaluate([matrix], [[cupy.asarray(random_words((3, 16), 0))]])
    with pytest.raises(ValueError, match="do not fit"):
        cuda.evaluate([matrix], [[cupy.asarray(random_words((3, size), 0)) for size in (4, 8)]])
