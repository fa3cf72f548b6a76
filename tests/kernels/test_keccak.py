"""Keccak-256 of rows against known answers and an independent implementation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.kernels.cpu import keccak
from tests import naive

# Known answers for the oracle, which checks other lengths; the kernel's messages are whole words.
KNOWN = {
    b"": "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
    b"abc": "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
}


def hash_rows(*matrices, first=0, last=None):
    rows = matrices[0].shape[1]
    digests = np.zeros((rows, 4), dtype=np.uint64)
    keccak.hash_rows(matrices, digests, first, rows if last is None else last)
    return [row.tobytes() for row in digests]


def random_matrix(columns, rows):
    return np.random.default_rng(columns * 1000 + rows).integers(0, 2**64, (columns, rows), dtype=np.uint64)


def test_known_answers():
    for message, digest in KNOWN.items():
        assert naive.keccak256(message).hex() == digest
    assert hash_rows(np.zeros((0, 3), dtype=np.uint64)) == [bytes.fromhex(KNOWN[b""])] * 3


@pytest.mark.parametrize("words", [1, 16, 17, 18, 33, 34, 35])
def test_block_boundaries(words):
    message = bytes(range(1, 8 * words + 1)) if words < 32 else bytes(8 * words)
    column = np.frombuffer(message, dtype=np.uint64).reshape(words, 1)
    assert hash_rows(column) == [naive.keccak256(message)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=3), st.integers(1, 20))
def test_rows_of_several_matrices(widths, rows):
    matrices = [random_matrix(width, rows) for width in widths]
    expected = [naive.leaf([matrix[:, i].tolist() for matrix in matrices]) for i in range(rows)]
    assert hash_rows(*matrices) == expected


@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 8), (3, 4), (3, 11), (3, 12), (9, 21), (20, 21)])
def test_only_the_asked_rows_are_written(first, last):
    matrix = random_matrix(5, 21)
    matrix.flags.writeable = False
    whole = hash_rows(matrix)
    part = hash_rows(matrix, first=first, last=last)
    assert part[first:last] == whole[first:last]
    assert set(part[:first] + part[last:]) <= {bytes(32)}


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 19])
def test_groups_of_extension_elements(size, rows):
    codeword = random_matrix(3, rows * size)
    digests = np.zeros((rows, 4), dtype=np.uint64)
    keccak.hash_groups(codeword, size, digests, 0, rows)
    for i in range(rows):
        elements = [codeword[:, k].tolist() for k in range(i * size, (i + 1) * size)]
        assert digests[i].tobytes() == naive.leaf(elements)


def test_other_arrays_are_refused():
    digests = np.zeros((8, 4), dtype=np.uint64)
    good = random_matrix(2, 8)
    for wrong in (good.astype(np.int64), random_matrix(2, 7), random_matrix(2, 16)[:, ::2], good[0]):
        with pytest.raises(ValueError):
            keccak.hash_rows([good, wrong], digests, 0, 8)
    for first, last in ((0, 9), (-1, 3), (5, 4)):
        with pytest.raises(ValueError):
            keccak.hash_rows([good], digests, first, last)
    with pytest.raises(ValueError):
        keccak.hash_rows([good], digests.astype(np.int64), 0, 8)
    with pytest.raises(ValueError):
        keccak.hash_groups(random_matrix(3, 24), 4, digests, 0, 8)
