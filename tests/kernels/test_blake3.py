"""BLAKE3 of rows at the ends of blocks and chunks; test_hashes.py tests what all hashes have."""

import numpy as np
import pytest

from tests import naive
from tests.kernels.test_hashes import hash_rows, random_matrix

# BLAKE3's official test vectors: byte i of an input is i mod 251.
KNOWN = {
    0: "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
    1024: "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
}
# One to nine chunks, of which subtrees of 1, 2, 4 and 8 are complete.
WORDS = [
    1,
    7,
    8,
    9,
    16,
    17,
    127,
    128,
    129,
    135,
    136,
    137,
    256,
    257,
    384,
    385,
    511,
    512,
    513,
    640,
    896,
    1023,
    1024,
    1025,
]


@pytest.mark.parametrize("length", KNOWN)
def test_known_answers(length):
    message = bytes(i % 251 for i in range(length))
    column = np.repeat(np.frombuffer(message, dtype="<u8").astype(np.uint64)[:, None], 3, axis=1)
    assert naive.blake3_digest(message).hex() == KNOWN[length]
    assert hash_rows("blake3", np.ascontiguousarray(column)) == [bytes.fromhex(KNOWN[length])] * 3


@pytest.mark.parametrize("words", WORDS)
def test_ends_of_blocks_and_chunks(words):
    matrix = random_matrix(words, 18)
    expected = [naive.leaf([matrix[:, i].tolist()], naive.blake3_digest) for i in range(18)]
    assert hash_rows("blake3", matrix) == expected


def test_a_long_row():
    matrix = random_matrix(10_001, 2)
    assert hash_rows("blake3", matrix) == [naive.leaf([row], naive.blake3_digest) for row in matrix.T.tolist()]
