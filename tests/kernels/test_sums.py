"""Late-reduced sums at the bound of their accumulators."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from graphprover.kernels.cpu import simd, sums
from tests import naive
from tests.kernels.words import random_words


@njit(nogil=True)
def _weighted(words, weights, target):
    """Return target[0] from the base sum and target[1:] from the extension sum with equal first weights."""
    base, ext = sums.zero(), sums.ext_zero()
    for t in range(len(words)):
        x = simd.load(words, simd.WIDTH * t)
        base = sums.accumulate(base, x, sums.broadcast(weights, 18 * t, 6))
        ext = sums.ext_accumulate(ext, x, sums.broadcast(weights, 18 * t, 18))
    simd.store(target, 0, simd.canonical(sums.total(base)))
    simd.store_rows(target, simd.WIDTH, simd.WIDTH, simd.ext_canonical(sums.ext_total(ext)))


def check(words: np.ndarray, weights: np.ndarray) -> None:
    halves = np.empty((weights.size, sums.LIMBS), dtype=np.uint64)
    sums.limbs(weights.reshape(-1), halves)
    target = np.empty((4, simd.WIDTH), dtype=np.uint64)
    _weighted(words, halves, target)
    for row, coordinate in enumerate([0, 0, 1, 2]):
        pairs = [list(zip(words[:, i].tolist(), weights[:, coordinate].tolist(), strict=True)) for i in range(8)]
        assert target[row].tolist() == [sum(x * w for x, w in lane) % naive.P for lane in pairs]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, sums.TERMS), st.integers(0, 2**32))
def test_weighted_sums(terms, seed):
    check(random_words(seed, terms, simd.WIDTH), random_words(seed + 1, terms, 3))


def test_the_largest_words_and_weights_do_not_overflow():
    words = np.full((sums.TERMS, simd.WIDTH), 2**64 - 1, dtype=np.uint64)
    for weight in naive.EDGES:
        check(words, np.full((sums.TERMS, 3), weight, dtype=np.uint64))
