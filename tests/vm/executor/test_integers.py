"""Products and divisions against Python's integers, with words that make digits of a quotient hard."""

import random

import numpy as np
import pytest

from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.integers.arithmetic import (
    ZERO,
    ZERO_WIDE,
    difference,
    load_as,
    modular,
    store,
    subtract,
    words_of,
)

CASES = 30_000
HARD = [0, 1, 2, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2**32, 2**64 - 2, 2**64 - 1]


def number(rng: random.Random, count: int) -> int:
    """Return a number of up to ``count`` words, hard, random, or few different ones."""
    words = rng.choice([[rng.choice(HARD) for _ in range(count)], [rng.getrandbits(64) for _ in range(count)]])
    words = [rng.choice([word, words[0], rng.choice(HARD)]) for word in words]
    return sum(word << 64 * i for i, word in enumerate(words[: rng.randrange(count + 1)])) >> rng.choice([0, 0, 1, 33])


def near_multiple(rng: random.Random, m: int, count: int) -> tuple[int, int, int]:
    """Return a, b, c with a b + c next to a multiple of m, by a divisor of it."""
    a = m >> rng.choice([0, 0, 1, 7])
    return a, number(rng, count), rng.choice([0, 1, m - 1 if m else 0, m, (1 << 64 * count) - 1, number(rng, count)])


@njit(nogil=True)
def _all(zero, numbers, fits, found):
    for i in range(len(numbers)):
        words = numbers[i]
        a, b = load_as(zero, words[0], 0), load_as(zero, words[1], 0)
        c, m = load_as(zero, words[2], 0), load_as(zero, words[3], 0)
        fits[i], q, r = modular(a, b, c, m)
        store(q, found[i, 0], 0)
        store(r, found[i, 1], 0)
        less, borrow = subtract(a, b)
        store(less, found[i, 2], 0)
        found[i, 3, 0] = borrow
        store(difference(a, b, m), found[i, 4], 0)


@pytest.mark.parametrize("zero", [ZERO, ZERO_WIDE], ids=["256 bits", "384 bits"])
def test_against_python(zero: tuple[np.uint64, ...]) -> None:
    rng, count = random.Random(1), len(zero)
    cases, bound = [], 1 << 64 * count
    for _ in range(CASES // 2):
        cases.append(tuple(number(rng, count) for _ in range(4)))
        m = number(rng, count)
        cases.append((*near_multiple(rng, m, count), m))
    numbers = np.array([[words_of(x, count) for x in case] for case in cases], dtype=np.uint64)
    fits, found = np.empty(len(cases), dtype=bool), np.zeros((len(cases), 5, count), dtype=np.uint64)
    _all(zero, numbers, fits, found)
    words = [[sum(word << 64 * i for i, word in enumerate(x)) for x in case] for case in found.tolist()]
    for (a, b, c, m), fit, (q, r, apart, borrow, apart_mod) in zip(cases, fits, words, strict=True):
        quotient, remainder = divmod(a * b + c, m or bound)
        assert fit == (quotient < bound)
        assert r == remainder
        assert not fit or q == quotient
        assert (apart, borrow) == ((a - b) % bound, (2**64 - 1) * (a < b))
        if a < m and b < m:
            assert apart_mod == (a - b) % m
    assert 0.01 < np.mean(fits) < 0.99
