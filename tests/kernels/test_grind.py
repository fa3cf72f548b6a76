"""Grinding in pieces finds the smallest nonce of all."""

import pytest

from graphprover.device.threads import Threads
from graphprover.kernels.cpu.grind import grind
from tests import naive
from tests.kernels.test_hashes import seed_of


@pytest.mark.parametrize("hash", naive.HASHES)
@pytest.mark.parametrize(("bits", "threads"), [(0, 1), (1, 1), (12, 2), (17, 2)])
def test_the_smallest_nonce_of_all_pieces(hash, bits, threads):
    for number in range(3):
        seed = seed_of(number).tobytes()
        expected = naive.grind(seed, bits, 0, 1 << 22, naive.HASHES[hash])
        assert grind(Threads(threads), seed, bits, hash) == expected
