"""Barycentric evaluation against Lagrange's formula."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.field import GENERATOR, ext, ext_mul, ext_pow, ext_scale, ext_sum
from graphprover.kernels.cpu import opening
from tests import naive
from tests.air.strategies import extensions
from tests.kernels.words import elements, random_words


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 4),
    st.integers(1, 5),
    st.integers(0, 2),
    st.lists(extensions.filter(any), min_size=1, max_size=3),
    st.integers(0, 2**32),
    st.data(),
)
def test_values_are_lagrange_s(log_rows, columns, log_blowup, points, seed, data):
    rows = 1 << log_rows
    points = [(z[0], z[1], z[2] | 1) for z in points]  # outside of the base field, hence of the domain
    matrix = random_words(seed, columns, rows << log_blowup)
    weights = opening.interpolation_weights([(log_rows, z) for z in points])
    target = np.zeros((len(points), 3, columns), dtype=np.uint64)
    cut = data.draw(st.integers(0, columns))
    opening.evaluate_columns(matrix, weights, target, 0, cut)
    opening.evaluate_columns(matrix, weights, target, cut, columns)
    for z, values in zip(points, target, strict=True):
        assert elements(values) == [naive.value_at(column[:rows], log_rows, z) for column in matrix.tolist()]


@pytest.mark.parametrize("points", [1, 2])
@pytest.mark.parametrize("log_rows", [7, 9])
def test_long_columns(log_rows, points):
    rows = 1 << log_rows
    matrix = random_words(log_rows, 3, rows)
    matrix[1] = naive.P - 1
    weights = [random_words(seed, 3, rows) for seed in range(points)]
    weights[-1][:] = naive.P - 1
    target = np.zeros((points, 3, 3), dtype=np.uint64)
    opening.evaluate_columns(matrix, weights, target, 0, 3)
    for vector, values in zip(weights, target, strict=True):
        expected = [
            ext_sum(ext_scale(w, p) for w, p in zip(elements(vector), column, strict=True))
            for column in matrix.tolist()
        ]
        assert elements(values) == expected


def test_weights_of_a_long_column_open_a_power():
    log_rows, z, exponent = 10, (3, 1, 4), 1000
    xs = [naive.domain_point(i, log_rows) for i in range(1 << log_rows)]
    matrix = np.array([[pow(x, exponent, naive.P) for x in xs], [1] * len(xs)], dtype=np.uint64)
    target = np.zeros((1, 3, 2), dtype=np.uint64)
    opening.evaluate_columns(matrix, opening.interpolation_weights([(log_rows, z)]), target, 0, 2)
    assert elements(target[0]) == [ext_pow(z, exponent), ext(1)]


def test_a_point_of_the_domain_has_no_weights():
    with pytest.raises(ZeroDivisionError):
        opening.interpolation_weights([(3, ext_mul(ext(GENERATOR), ext(1)))])


def test_refuses_shapes_that_do_not_agree():
    matrix, weights = np.ones((2, 8), dtype=np.uint64), np.ones((3, 8), dtype=np.uint64)
    target = np.zeros((1, 3, 2), dtype=np.uint64)
    for arguments in (
        (matrix, [weights, weights], target, 0, 2),
        (matrix, [weights], target, 0, 3),
        (matrix[:, :4], [weights], target, 0, 2),
        (matrix, [weights, weights[:, :4]], np.zeros((2, 3, 2), dtype=np.uint64), 0, 2),
    ):
        with pytest.raises(ValueError):
            opening.evaluate_columns(*arguments)
