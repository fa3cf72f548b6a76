"""Folds against interpolation of each group; the final polynomial against its own values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.field import ext_pow, ext_scale, ext_sum
from graphprover.kernels.cpu import domain, fri
from tests import naive
from tests.air.strategies import extensions
from tests.kernels.words import elements, planar, random_words


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 3), st.integers(0, 6), st.integers(0, 2), extensions, st.booleans(), st.integers(0, 2**32), st.data()
)
def test_fold(log_arity, log_size, log_spare, beta, joins, seed, data):
    size = 1 << log_size
    codeword = random_words(seed, 3, size << log_arity)
    joining = random_words(seed + 1, 3, size) if joins else None
    factors = domain.fold_factors(log_size + log_arity + log_spare)
    target = np.zeros((3, size), dtype=np.uint64)
    cut = data.draw(st.integers(0, size))
    fri.fold_groups(codeword, log_arity, beta, factors, joining, target, 0, cut)
    fri.fold_groups(codeword, log_arity, beta, factors, joining, target, cut, size)
    expected = naive.fold(elements(codeword), log_arity, beta)
    if joining is not None:
        power = ext_pow(beta, 1 << log_arity)
        expected = [naive.ext_add(x, naive.ext_mul(power, y)) for x, y in zip(expected, elements(joining), strict=True)]
    assert elements(target) == expected


def test_long_fold():
    codeword = random_words(5, 3, 1 << 13)
    target = np.zeros((3, 1 << 11), dtype=np.uint64)
    fri.fold_groups(codeword, 2, (3, 1, 4), domain.fold_factors(13), None, target, 0, 1 << 11)
    assert elements(target) == naive.fold(elements(codeword), 2, (3, 1, 4))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 4), st.integers(0, 2), st.integers(0, 2**32))
def test_final_polynomial_has_the_codeword_s_values(log_length, log_blowup, seed):
    coefficients = elements(random_words(seed, 3, 1 << log_length))
    log_size = log_length + log_blowup
    root = naive.root_of_unity(log_size)
    xs = [pow(root, naive.reverse_bits(i, log_size), naive.P) for i in range(1 << log_size)]
    codeword = planar([ext_sum(ext_scale(c, pow(x, k, naive.P)) for k, c in enumerate(coefficients)) for x in xs])
    assert list(fri.final_polynomial(codeword, log_length)) == coefficients


def test_refuses_shapes_that_do_not_agree():
    codeword, target = np.ones((3, 16), dtype=np.uint64), np.zeros((3, 8), dtype=np.uint64)
    factors, beta = domain.fold_factors(4), (1, 2, 3)
    for arguments in (
        (codeword, 2, beta, factors, None, target, 0, 8),
        (codeword, 1, beta, factors[:4], None, target, 0, 8),
        (codeword, 1, beta, factors, target[:, :4], target, 0, 8),
        (codeword, 1, beta, factors, None, target, 0, 9),
    ):
        with pytest.raises(ValueError):
            fri.fold_groups(*arguments)
    with pytest.raises(ValueError):
        fri.final_polynomial(codeword, 5)
