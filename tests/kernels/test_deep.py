"""Reduced openings against their definition, term by term."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.field import GENERATOR, ext, ext_inv, ext_sub
from graphprover.kernels.cpu import deep, domain, sums
from tests import naive
from tests.air.strategies import extensions
from tests.kernels.words import elements, planar, random_words

points = extensions.map(lambda z: (z[0], z[1] | 1, z[2]))  # outside of the base field, hence of the domain


def inverses(z: naive.Ext, log_rows: int) -> np.ndarray:
    target = np.empty((3, 1 << log_rows), dtype=np.uint64)
    deep.invert_differences(domain.points(log_rows), z, target, 0, 1 << log_rows)
    return target


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 7), points, st.data())
def test_inverse_denominators(log_rows, z, data):
    rows = 1 << log_rows
    target = np.zeros((3, rows), dtype=np.uint64)
    cut = data.draw(st.integers(0, rows))
    xs = domain.points(log_rows)
    deep.invert_differences(xs, z, target, 0, cut)
    deep.invert_differences(xs, z, target, cut, rows)
    assert elements(target) == [ext_inv(ext_sub(z, ext(x))) for x in xs.tolist()]


def test_a_point_of_the_domain_is_named():
    xs = domain.points(3)
    with pytest.raises(ZeroDivisionError, match="element 5 "):
        deep.invert_differences(xs, ext(int(xs[5])), np.empty((3, 8), dtype=np.uint64), 0, 8)
    assert int(xs[0]) == GENERATOR


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 5),
    st.integers(1, 6),
    st.lists(points, min_size=1, max_size=3),
    extensions,
    st.integers(0, 9),
    st.integers(0, 2**32),
    st.data(),
)
def test_reduced_opening(log_rows, columns, zs, gamma, offset, seed, data):
    rows = 1 << log_rows
    longer = data.draw(st.integers(0, 1))  # only the first rows of an extension are read
    matrix, before = random_words(seed, columns, rows << longer), random_words(seed + 1, 3, rows)
    opened = [elements(random_words(seed + 2 + j, 3, columns)) for j in range(len(zs))]
    longer = data.draw(st.integers(0, 1))  # inverses may belong to a larger domain
    over = [inverses(z, log_rows + longer) for z in zs]
    target = before.copy()
    cut = data.draw(st.integers(0, rows))
    deep.add_reduced_opening(matrix, opened, offset, gamma, over, target, 0, cut)
    deep.add_reduced_opening(matrix, opened, offset, gamma, over, target, cut, rows)
    expected = naive.reduced_opening(matrix[:, :rows].tolist(), zs, opened, offset, gamma)
    assert (target == deep.sum_vectors([before, planar(expected)])).all()


def test_more_columns_than_are_summed_without_reduction():
    columns = 2 * sums.TERMS + 3
    matrix = np.full((columns, 16), naive.P - 1, dtype=np.uint64)
    opened = [[(naive.P - 1, naive.P - 1, 1)] * columns]
    gamma, z = (naive.P - 1, naive.P - 1, naive.P - 1), (1, 2, 3)
    target = np.zeros((3, 16), dtype=np.uint64)
    deep.add_reduced_opening(matrix, opened, 1, gamma, [inverses(z, 4)], target, 0, 16)
    assert elements(target) == naive.reduced_opening(matrix.tolist(), [z], opened, 1, gamma)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**32))
def test_sum_of_codewords(size, seed):
    vectors = [random_words(seed + i, 3, size) for i in range(3)]
    x, y, z = map(elements, vectors)
    for count, expected in ((1, x), (2, list(map(naive.ext_add, x, y)))):
        assert elements(deep.sum_vectors(vectors[:count])) == expected
    assert elements(deep.sum_vectors(vectors)) == list(map(naive.ext_add, map(naive.ext_add, x, y), z))
    assert [elements(vector) for vector in vectors] == [x, y, z]


def test_refuses_shapes_that_do_not_agree():
    matrix, target, over = np.ones((1, 8), dtype=np.uint64), np.zeros((3, 8), dtype=np.uint64), inverses((1, 1, 1), 3)
    opened = [[(1, 0, 0)]]
    for arguments in (
        (matrix, opened * 2, 0, (1, 1, 1), [over], target, 0, 8),
        (matrix, opened, 0, (1, 1, 1), [over[:, :4]], target, 0, 8),
        (matrix[:, :4], opened, 0, (1, 1, 1), [over], target, 0, 4),
        (matrix, opened, 0, (1, 1, 1), [over], target, 0, 9),
    ):
        with pytest.raises(ValueError):
            deep.add_reduced_opening(*arguments)
    with pytest.raises(ValueError):
        deep.sum_vectors([target, target[:, :4]])
