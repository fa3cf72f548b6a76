"""Reduced openings on the device against the CPU's."""

import numpy as np
import pytest

from graphprover.kernels.cpu import deep as cpu
from graphprover.kernels.cpu import domain

cupy = pytest.importorskip("cupy")
from graphprover.kernels.cuda import deep as cuda  # noqa: E402
from graphprover.kernels.operands import Height  # noqa: E402
from tests.cuda.test_inverse import random_words  # noqa: E402

pytestmark = pytest.mark.gpu

POINT = (2**40 + 1, 2**63 + 5, 2**64 - 2**33)
GAMMA = (2**64 - 2**32, 5, 2**50)


@pytest.mark.parametrize("log_size", [0, 1, 5, 11, 14])
def test_inverse_denominators(log_size):
    expected = np.empty((3, 1 << log_size), dtype=np.uint64)
    cpu.invert_differences(domain.points(log_size), POINT, expected, 0, 1 << log_size)
    [inverses] = cuda.inverse_denominators([(log_size, POINT)])
    np.testing.assert_array_equal(inverses.get(), expected)


def test_denominators_of_many_domains():
    """There are more domains than one launch accepts."""
    domains = [(i % 14, (i, 2**63 + 5, 2**64 - 2**33)) for i in range(70)]
    for (log_size, point), inverses in zip(domains, cuda.inverse_denominators(domains), strict=True):
        expected = np.empty((3, 1 << log_size), dtype=np.uint64)
        cpu.invert_differences(domain.points(log_size), point, expected, 0, 1 << log_size)
        np.testing.assert_array_equal(inverses.get(), expected)


def test_no_denominators_for_a_point_of_the_domain():
    point = int(domain.points(13)[5000])
    with pytest.raises(ZeroDivisionError, match=f"{point} is one of"):
        cuda.inverse_denominators([(14, POINT), (13, (point, 0, 0))])


@pytest.mark.parametrize(
    "parts",  # width, points
    [[(1, 1)], [(1, 2)], [(3, 1), (6, 2)], [(5, 2), (3, 1), (4, 2), (9, 1)], [(70, 2), (12, 1), (2, 1), (130, 2)]],
)
@pytest.mark.parametrize("log_rows", [0, 1, 2, 5, 9, 12])
@pytest.mark.parametrize("log_blowup", [1, 2])
def test_reduced_openings_of_a_height(log_rows, log_blowup, parts):
    height, expected = height_of(log_rows, parts, log_blowup)
    [codeword] = cuda.reduced_openings([height], GAMMA)
    np.testing.assert_array_equal(codeword.get(), expected)


@pytest.mark.parametrize("count", [3, 70])
def test_reduced_openings_of_many_heights(count):
    """All heights at once, more than one launch accepts."""
    some = [height_of(i % 14, [(1 + i % 20, 1 + i % 2), (2, 1), (1 + i % 7, 2)][: 1 + i % 3]) for i in range(count)]
    codewords = cuda.reduced_openings([height for height, _ in some], GAMMA)
    for codeword, (_, expected) in zip(codewords, some, strict=True):
        np.testing.assert_array_equal(codeword.get(), expected)


def height_of(log_rows, parts, log_blowup=1):
    """Return random extensions of these widths and points on the device, and the CPU's quotient of their first rows."""
    rows = 1 << log_rows
    matrices = [random_words((width, rows << log_blowup), width) for width, _ in parts]
    values = [[random_words((width, 3), i + j) for j in range(points)] for i, (width, points) in enumerate(parts)]
    offsets = [7 + 1000 * i for i in range(len(parts))]
    inverses = [random_words((3, rows), j) for j in range(2)]
    expected = np.zeros((3, rows), dtype=np.uint64)
    for matrix, opened, offset in zip(matrices, values, offsets, strict=True):
        cpu.add_reduced_opening(matrix, opened, offset, GAMMA, inverses, expected, 0, rows)
    on_device = [cupy.asarray(matrix) for matrix in matrices]
    return Height(on_device, values, offsets, [cupy.asarray(inverse) for inverse in inverses]), expected


@pytest.mark.parametrize("count", [1, 2, 64, 65, 130])
@pytest.mark.parametrize("rows", [1, 100, 4096])
def test_sum_of_codewords(rows, count):
    vectors = [random_words((3, rows), i) for i in range(count)]
    total = cuda.sum_vectors([cupy.asarray(vector) for vector in vectors])
    np.testing.assert_array_equal(total.get(), cpu.sum_vectors(vectors))


def test_no_heights():
    assert cuda.reduced_openings([], GAMMA) == cuda.reduced_traces([], GAMMA) == cuda.inverse_denominators([]) == []


def test_shapes_must_agree():
    matrix, vector = cupy.asarray(random_words((2, 8), 0)), cupy.asarray(random_words((3, 8), 0))
    value = np.array([(1, 2, 3)] * 2, dtype=np.uint64)
    for matrices, values, inverses in (
        ([matrix], [[value[:1]]], [vector]),  # a value missing
        ([matrix], [[value, value]], [vector]),  # a point without inverses
        ([matrix[:, :4]], [[value]], [vector]),
        ([matrix], [[value] * 3], [vector] * 3),
    ):
        with pytest.raises(ValueError, match="do not fit"):
            cuda.reduced_openings([Height(matrices, values, [0], inverses)], GAMMA)
    with pytest.raises(ValueError, match="have no sum"):
        cuda.sum_vectors([vector, vector[:, :4]])
