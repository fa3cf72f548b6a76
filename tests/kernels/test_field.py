"""The scalar field inside Numba against Python integers."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.kernels.cpu import field
from tests import naive
from tests.naive import EDGES, P

words = st.sampled_from(EDGES) | st.integers(0, P - 1)
elements = st.tuples(words, words, words)
many = settings(max_examples=100, deadline=None)


def word(x):
    return np.uint64(x)


def element(x):
    return tuple(map(np.uint64, x))


@pytest.mark.parametrize(
    ("operation", "meaning"),
    [
        (field.add, lambda x, y: (x + y) % P),
        (field.sub, lambda x, y: (x - y) % P),
        (field.mul, lambda x, y: x * y % P),
        (field.power, lambda x, y: pow(x, y, P)),
    ],
)
def test_binary(operation, meaning):
    for x, y in itertools.product(EDGES, repeat=2):
        assert operation(word(x), word(y)) == meaning(x, y)

    @many
    @given(words, words)
    def check(x, y):
        assert operation(word(x), word(y)) == meaning(x, y)

    check()


def test_inverses():
    assert field.inverse(word(0)) == 0
    for x in EDGES:
        if x:
            assert int(field.inverse(word(x))) * x % P == 1


@many
@given(elements, elements, words)
def test_extension(x, y, s):
    assert field.ext_add(element(x), element(y)) == naive.ext_add(x, y)
    assert field.ext_sub(element(x), element(y)) == naive.ext_sub(x, y)
    assert field.ext_mul(element(x), element(y)) == naive.ext_mul(x, y)
    assert field.ext_scale(element(x), word(s)) == naive.ext_mul(x, (s, 0, 0))


def test_extension_power():
    x, product = (3, 5, P - 7), (1, 0, 0)
    for exponent in range(12):
        assert field.ext_power(element(x), word(exponent)) == product
        product = naive.ext_mul(product, x)
    # Raising to the p-th power permutes the three conjugates.
    conjugate = element(x)
    for _ in range(3):
        conjugate = element(field.ext_power(conjugate, word(P)))
    assert conjugate == x


def test_bits():
    for bits in (0, 1, 5, 20, 63):
        for index in {0, 1, (1 << bits) - 1, (1 << bits) // 3}:
            if index < 1 << bits:
                assert field.reverse_bits(index, bits) == naive.reverse_bits(index, bits)
