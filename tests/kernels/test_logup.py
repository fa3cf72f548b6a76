"""LogUp columns against one fraction at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.kernels.cpu import logup
from tests import naive
from tests.kernels.words import elements, planar, random_words


def split(denominators: np.ndarray) -> list[list[naive.Ext]]:
    return [elements(denominators[i : i + 3]) for i in range(0, len(denominators), 3)]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.integers(1, 40) | st.sampled_from([700, 2049]),
    st.integers(0, 2**32),
    st.data(),
)
def test_columns(groups, rows, seed, data):
    tuples = sum(groups)
    denominators, multiplicities = random_words(seed, 3 * tuples, rows), random_words(seed + 1, tuples, rows)
    denominators[::3][~denominators.reshape(tuples, 3, rows).any(axis=1)] = 1
    for _ in range(3):  # a zero denominator is harmless if the multiplicity is zero
        t, row = data.draw(st.integers(0, tuples - 1)), data.draw(st.integers(0, rows - 1))
        denominators[3 * t : 3 * t + 3, row] = multiplicities[t, row] = 0
    columns = np.empty((3 * (len(groups) + 1), rows), dtype=np.uint64)
    cut = data.draw(st.integers(0, rows))
    below = denominators[:, cut:].copy(), multiplicities[:, cut:].copy()
    logup.fractions(*below, groups, columns, cut, rows, offset=cut)
    logup.fractions(denominators, multiplicities, groups, columns, 0, cut)
    terminal = logup.accumulate(columns)
    expected, total = naive.lookup_columns(split(denominators), multiplicities.tolist(), groups)
    assert terminal == total
    assert (columns == np.concatenate([planar(column) for column in expected])).all()


@pytest.mark.parametrize(("tuple_", "row"), [(0, 0), (2, 5), (1, 70), (2, 2049)])
def test_a_zero_denominator_is_named(tuple_, row):
    denominators = np.ones((9, 2050), dtype=np.uint64)
    denominators[3 * tuple_ : 3 * tuple_ + 3, row] = 0
    columns = np.empty((9, 2050), dtype=np.uint64)
    with pytest.raises(ZeroDivisionError, match=f"tuple {tuple_} is zero in row {row}$"):
        logup.fractions(denominators, np.ones((3, 2050), dtype=np.uint64), [2, 1], columns, 0, 2050)


def test_refuses_shapes_that_do_not_agree():
    denominators, multiplicities = np.ones((6, 8), dtype=np.uint64), np.ones((2, 8), dtype=np.uint64)
    columns = np.empty((6, 8), dtype=np.uint64)
    for arguments in (
        (denominators[:3], multiplicities, [2], columns, 0, 8),
        (denominators, multiplicities[:1], [2], columns, 0, 8),
        (denominators, multiplicities, [1, 1], columns, 0, 8),
        (denominators, multiplicities, [2], columns, 0, 9),
        (denominators, multiplicities, [2], columns, 0, 8, 1),
        (denominators[:, :4].copy(), multiplicities[:, :4].copy(), [2], columns, 4, 8, 3),
    ):
        with pytest.raises(ValueError):
            logup.fractions(*arguments)
