"""Grinding finds the smallest nonce for all ends of the interval relative to the eight lanes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.kernels.cpu.grind import smallest_nonce
from tests import naive


def seed_of(number):
    return np.frombuffer(naive.keccak256(number.to_bytes(8, "little")), dtype=np.uint64)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 9), st.integers(0, 2**40), st.integers(0, 700))
def test_smallest_nonce(number, bits, start, length):
    seed = seed_of(number)
    expected = naive.grind(seed.tobytes(), bits, start, start + length)
    assert smallest_nonce(seed, bits, start, start + length) == expected


def test_nothing_beyond_the_end_and_nothing_before_the_start():
    seed = seed_of(3)
    nonce = naive.grind(seed.tobytes(), 10, 0, 100_000)
    assert nonce >= 0
    assert smallest_nonce(seed, 10, 0, nonce) == -1
    assert smallest_nonce(seed, 10, 0, nonce + 1) == nonce
    assert smallest_nonce(seed, 10, nonce, 1 << 40) == nonce
    assert smallest_nonce(seed, 10, nonce + 1, 1 << 40) > nonce
    assert smallest_nonce(seed, 0, 17, 18) == 17
    assert smallest_nonce(seed, 0, 17, 17) == -1


def test_what_cannot_be_ground_is_refused():
    seed = seed_of(0)
    for arguments in ((seed[:3], 1, 0, 8), (seed, 64, 0, 8), (seed, -1, 0, 8), (seed, 1, -1, 8), (seed, 1, 0, 1 << 63)):
        with pytest.raises(ValueError):
            smallest_nonce(*arguments)
