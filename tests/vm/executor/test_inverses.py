"""Inverses against Python's integers."""

import math
import random

import numpy as np
import pytest

from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.integers.arithmetic import load, store, words_of
from graphprover.vm.accelerators.integers.inverses import invert
from graphprover.vm.accelerators.integers.point import ALL_CURVES, Curve

CASES = 33_334  # of each prime


@njit(nogil=True)
def _invert_all(numbers, p, found):
    for i in range(len(numbers)):
        store(invert(load(numbers[i], 0), load(p, 0)), found[i], 0)


def inverses(numbers: list[int], p: int) -> list[int]:
    """Return the inverses of numbers mod p."""
    words = np.array([words_of(x) for x in numbers], dtype=np.uint64)
    found = np.empty_like(words)
    _invert_all(words, np.array(words_of(p)), found)
    data = found.astype("<u8").tobytes()
    return [int.from_bytes(data[i : i + 32], "little") for i in range(0, len(data), 32)]


@pytest.mark.parametrize("curve", ALL_CURVES, ids=[curve.name for curve in ALL_CURVES])
def test_inverses_mod_the_primes(curve: Curve) -> None:
    rng, p = random.Random(curve.name), curve.p
    numbers = [x for k in range(256) for x in (1 << k, (1 << k) - 1, p - (1 << k), p - (1 << k) - 1) if 0 < x < p]
    numbers += [(p + 1) // 2, (p - 1) // 2, (p + 1) // 4, *(pow(x, -1, p) for x in range(2, 100))]
    numbers += [1 + rng.getrandbits(rng.randrange(1, 257)) % (p - 1) for _ in range(CASES // 4)]
    numbers += [rng.randrange(1, p) for _ in range(CASES - len(numbers))]
    assert inverses(numbers, p) == [pow(x, -1, p) for x in numbers]


def test_inverses_mod_odd_numbers() -> None:
    """Invert numbers mod odd numbers of every size."""
    rng = random.Random(1)
    odd = [3, 5, 7, 9, (1 << 256) - 1, (1 << 255) + 1, *(rng.getrandbits(2 + i % 255) | 3 for i in range(500))]
    for p in odd:
        numbers = [x for x in (1, 2, p - 1, p - 2, *(rng.randrange(1, p) for _ in range(4))) if math.gcd(x, p) == 1]
        assert inverses(numbers, p) == [pow(x, -1, p) for x in numbers]
