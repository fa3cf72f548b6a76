"""Products and divisions of 256 bits against Python's integers, with words that make digits of a quotient hard."""

import random

import numpy as np

from graphprover.runtime.numba_cache import njit
from graphprover.vm.executor.integers import difference, load, modular, store, subtract, words_of

CASES = 60_000
HARD = [0, 1, 2, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2**32, 2**64 - 2, 2**64 - 1]


def number(rng: random.Random) -> int:
    """Return a number of up to four words, hard, random, or few different ones."""
    words = rng.choice([[rng.choice(HARD) for _ in range(4)], [rng.getrandbits(64) for _ in range(4)]])
    words = [rng.choice([word, words[0], rng.choice(HARD)]) for word in words]
    return sum(word << 64 * i for i, word in enumerate(words[: rng.randrange(5)])) >> rng.choice([0, 0, 1, 33])


def near_multiple(rng: random.Random, m: int) -> tuple[int, int, int]:
    """Return a, b, c with a b + c next to a multiple of m, by a divisor of it."""
    a = m >> rng.choice([0, 0, 1, 7])
    return a, number(rng), rng.choice([0, 1, m - 1 if m else 0, m, 2**256 - 1, number(rng)])


@njit(nogil=True)
def _all(numbers, fits, found):
    for i in range(len(numbers)):
        a, b, c, m = numbers[i]
        fits[i], q, r = modular(load(a, 0), load(b, 0), load(c, 0), load(m, 0))
        store(q, found[i, 0], 0)
        store(r, found[i, 1], 0)
        less, borrow = subtract(load(a, 0), load(b, 0))
        store(less, found[i, 2], 0)
        found[i, 3, 0] = borrow
        store(difference(load(a, 0), load(b, 0), load(m, 0)), found[i, 4], 0)


def test_against_python() -> None:
    rng = random.Random(1)
    cases = []
    for _ in range(CASES // 2):
        cases.append(tuple(number(rng) for _ in range(4)))
        m = number(rng)
        cases.append((*near_multiple(rng, m), m))
    numbers = np.array([[words_of(x) for x in case] for case in cases], dtype=np.uint64)
    fits, found = np.empty(len(cases), dtype=bool), np.zeros((len(cases), 5, 4), dtype=np.uint64)
    _all(numbers, fits, found)
    words = [[sum(word << 64 * i for i, word in enumerate(x)) for x in case] for case in found.tolist()]
    for (a, b, c, m), fit, (q, r, apart, borrow, apart_mod) in zip(cases, fits, words, strict=True):
        quotient, remainder = divmod(a * b + c, m or 2**256)
        assert fit == (quotient < 2**256)
        assert r == remainder
        assert not fit or q == quotient
        assert (apart, borrow) == ((a - b) % 2**256, (2**64 - 1) * (a < b))
        if a < m and b < m:
            assert apart_mod == (a - b) % m
    assert 0.01 < np.mean(fits) < 0.99
