"""Batch inversion against single inversions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.field import ext_inv, inv
from graphprover.kernels.cpu.inverse import BLOCK, ext_inverse, inverse
from tests.kernels.words import elements, random_words

sizes = st.integers(1, 100) | st.sampled_from([BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 33])


@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 2**32), st.booleans(), st.data())
def test_inverse(size, seed, in_place, data):
    source = random_words(seed, size)
    source[source == 0] = 1
    first = data.draw(st.integers(0, size))
    last = data.draw(st.integers(first, size))
    expected = source.tolist() if in_place else [7] * size
    expected[first:last] = [inv(x) for x in source[first:last].tolist()]
    target = source if in_place else np.full(size, 7, dtype=np.uint64)
    inverse(source, target, first, last)
    assert target.tolist() == expected


@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 2**32), st.booleans(), st.data())
def test_ext_inverse(size, seed, in_place, data):
    source = random_words(seed, 3, size)
    source[0, ~source.any(axis=0)] = 1
    first = data.draw(st.integers(0, size))
    last = data.draw(st.integers(first, size))
    expected = elements(source) if in_place else [(7, 7, 7)] * size
    expected[first:last] = [ext_inv(x) for x in elements(source)[first:last]]
    target = source if in_place else np.full((3, size), 7, dtype=np.uint64)
    ext_inverse(source, target, first, last)
    assert elements(target) == expected


@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 2**32), st.data())
def test_the_first_zero_is_named(size, seed, data):
    source = random_words(seed, 3, size)
    source[source == 0] = 1
    zeros = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=3))
    source[:, zeros] = 0
    for function, array in ((inverse, source[0].copy()), (ext_inverse, source)):
        with pytest.raises(ZeroDivisionError, match=f"element {min(zeros)} "):
            function(array, np.empty_like(array), 0, size)
        if min(zeros):
            function(array, np.empty_like(array), 0, min(zeros))
