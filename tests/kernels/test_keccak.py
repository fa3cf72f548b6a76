"""Keccak-256 of rows against known answers and at the ends of blocks; test_hashes.py tests what all hashes have."""

import numpy as np
import pytest

from tests import naive
from tests.kernels.test_hashes import hash_rows

# Known answers for the oracle, which checks other lengths; the kernel's messages are whole words.
KNOWN = {
    b"": "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
    b"abc": "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
}


def test_known_answers():
    for message, digest in KNOWN.items():
        assert naive.keccak256(message).hex() == digest
    assert hash_rows("keccak", np.zeros((0, 3), dtype=np.uint64)) == [bytes.fromhex(KNOWN[b""])] * 3


@pytest.mark.parametrize("words", [1, 16, 17, 18, 33, 34, 35])
def test_block_boundaries(words):
    message = bytes(range(1, 8 * words + 1)) if words < 32 else bytes(8 * words)
    column = np.frombuffer(message, dtype=np.uint64).reshape(words, 1)
    assert hash_rows("keccak", column) == [naive.keccak256(message)]
