"""The operations that all hashes have, against the packages that hash one message at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.kernels.cpu.hashes import KERNELS
from tests import naive
from tests.naive import HASHES

pytestmark = pytest.mark.parametrize("hash", HASHES)


def hash_rows(hash, *matrices, first=0, last=None):
    rows = matrices[0].shape[1]
    target = np.zeros((rows, 4), dtype=np.uint64)
    KERNELS[hash].hash_rows(matrices, target, first, rows if last is None else last)
    return digests(target)


def hash_pairs(hash, layer, joining=None):
    parents = np.zeros((len(layer) // 2, 4), dtype=np.uint64)
    KERNELS[hash].hash_pairs(layer, joining, parents, 0, len(parents))
    return digests(parents)


def digests(layer):
    return [node.tobytes() for node in layer]


def random_matrix(columns, rows):
    return np.random.default_rng(columns * 1000 + rows).integers(0, 2**64, (columns, rows), dtype=np.uint64)


def random_layer(nodes, seed=0):
    return np.random.default_rng(nodes + seed).integers(0, 2**64, (nodes, 4), dtype=np.uint64)


def seed_of(number):
    return random_layer(1, number)[0]


def test_every_hash_has_kernels(hash):
    assert set(KERNELS) == set(HASHES)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=3), st.integers(1, 40))
def test_rows_of_several_matrices(hash, widths, rows):
    matrices = [random_matrix(width, rows) for width in widths]
    expected = [naive.leaf([matrix[:, i].tolist() for matrix in matrices], HASHES[hash]) for i in range(rows)]
    assert hash_rows(hash, *matrices) == expected


RANGES = [(0, 0), (0, 8), (3, 4), (3, 11), (3, 12), (0, 16), (5, 21), (5, 37), (7, 40), (9, 21), (40, 41)]


@pytest.mark.parametrize(("first", "last"), RANGES)
def test_only_the_asked_rows_are_written(hash, first, last):
    matrix = random_matrix(21, 41)
    matrix.flags.writeable = False
    whole = hash_rows(hash, matrix)
    part = hash_rows(hash, matrix, first=first, last=last)
    assert part[first:last] == whole[first:last]
    assert set(part[:first] + part[last:]) <= {bytes(32)}


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 64])
@pytest.mark.parametrize("rows", [1, 2, 7, 8, 19, 33])
def test_groups_of_extension_elements(hash, size, rows):
    codeword = random_matrix(3, rows * size)
    target = np.zeros((rows, 4), dtype=np.uint64)
    KERNELS[hash].hash_groups(codeword, size, target, 0, rows)
    for i in range(rows):
        elements = [codeword[:, k].tolist() for k in range(i * size, (i + 1) * size)]
        assert target[i].tobytes() == naive.leaf(elements, HASHES[hash])


@pytest.mark.parametrize("shapes", [[], [(0, 3)], [(3, 0)], [(1, 8), (40, 20), (2, 300)], [(17, 9), (16, 16), (15, 1)]])
def test_messages_in_rows(hash, shapes):
    groups = [random_matrix(*shape) for shape in shapes]
    target = np.zeros((sum(count for count, _ in shapes), 4), dtype=np.uint64)
    KERNELS[hash].hash_messages(groups, target)
    assert digests(target) == [naive.leaf([row], HASHES[hash]) for group in groups for row in group.tolist()]


def test_other_arrays_are_refused(hash):
    kernels = KERNELS[hash]
    target = np.zeros((8, 4), dtype=np.uint64)
    good = random_matrix(2, 8)
    for wrong in (good.astype(np.int64), random_matrix(2, 7), random_matrix(2, 16)[:, ::2], good[0]):
        with pytest.raises(ValueError):
            kernels.hash_rows([good, wrong], target, 0, 8)
    for first, last in ((0, 9), (-1, 3), (5, 4)):
        with pytest.raises(ValueError):
            kernels.hash_rows([good], target, first, last)
    with pytest.raises(ValueError):
        kernels.hash_rows([good], target.astype(np.int64), 0, 8)
    with pytest.raises(ValueError):
        kernels.hash_groups(random_matrix(3, 24), 4, target, 0, 8)
    for wrong in (good[:, ::2], good.astype(np.int64), random_matrix(9, 1)):
        with pytest.raises(ValueError):
            kernels.hash_messages([wrong], target)


@pytest.mark.parametrize("nodes", [1, 2, 3, 7, 8, 9, 16, 17, 48, 61])
@pytest.mark.parametrize("joined", [False, True])
def test_pairs(hash, nodes, joined):
    layer = random_layer(2 * nodes)
    joining = random_layer(nodes, seed=1) if joined else None
    expected = naive.hash_pairs(digests(layer), digests(joining) if joined else None, HASHES[hash])
    assert hash_pairs(hash, layer, joining) == expected


@pytest.mark.parametrize(("first", "last"), RANGES)
def test_only_the_asked_nodes_are_written(hash, first, last):
    layer, joining = random_layer(82), random_layer(41)
    whole, part = np.zeros((2, 41, 4), dtype=np.uint64)
    KERNELS[hash].hash_pairs(layer, joining, whole, 0, 41)
    KERNELS[hash].hash_pairs(layer, joining, part, first, last)
    assert np.array_equal(part[first:last], whole[first:last])
    assert not part[:first].any() and not part[last:].any()


def test_other_layers_are_refused(hash):
    layer = random_layer(8)
    for parents in (random_layer(3), random_layer(8), np.zeros((4, 3), dtype=np.uint64), random_layer(8)[::2]):
        with pytest.raises(ValueError):
            KERNELS[hash].hash_pairs(layer, None, parents, 0, 1)
    for joining, last in ((None, 5), (random_layer(3), 4), (random_layer(8)[::2], 4)):
        with pytest.raises(ValueError):
            KERNELS[hash].hash_pairs(layer, joining, random_layer(4), 0, last)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 9), st.integers(0, 2**40), st.integers(0, 700))
def test_smallest_nonce(hash, number, bits, start, length):
    seed = seed_of(number)
    expected = naive.grind(seed.tobytes(), bits, start, start + length, HASHES[hash])
    assert KERNELS[hash].smallest_nonce(seed, bits, start, start + length) == expected


def test_no_nonce_beyond_the_end_or_before_the_start(hash):
    seed, smallest_nonce = seed_of(3), KERNELS[hash].smallest_nonce
    nonce = naive.grind(seed.tobytes(), 10, 0, 100_000, HASHES[hash])
    assert nonce >= 0
    assert smallest_nonce(seed, 10, 0, nonce) == -1
    assert smallest_nonce(seed, 10, 0, nonce + 1) == nonce
    assert smallest_nonce(seed, 10, nonce, 1 << 40) == nonce
    assert smallest_nonce(seed, 10, nonce + 1, 1 << 40) > nonce
    assert smallest_nonce(seed, 0, 17, 18) == 17
    assert smallest_nonce(seed, 0, 17, 17) == -1


def test_nonces_that_cannot_be_ground_are_refused(hash):
    seed = seed_of(0)
    for arguments in ((seed[:3], 1, 0, 8), (seed, 64, 0, 8), (seed, -1, 0, 8), (seed, 1, -1, 8), (seed, 1, 0, 1 << 63)):
        with pytest.raises(ValueError):
            KERNELS[hash].smallest_nonce(*arguments)


@pytest.mark.parametrize("columns", [1, 8, 17, 100, 128, 129, 256, 300, 513])
@pytest.mark.parametrize("grains", [1, 2, 5, 16])
@pytest.mark.parametrize("rows", [1, 16, 41, 200])
def test_columns_that_come_in_pieces(hash, columns, grains, rows):
    matrix, kernels = random_matrix(columns, rows), KERNELS[hash]
    target, states = np.zeros((rows, 4), dtype=np.uint64), kernels.row_states(rows, columns)
    states[:] = 123
    size = grains * kernels.GRAIN
    for begin in range(0, columns, size):
        piece = matrix[begin : begin + size]
        halves = np.array_split(piece, 2)
        for first in range(0, rows, 48):
            kernels.absorb_rows(halves, states, begin, columns, target, first, min(first + 48, rows))
    assert digests(target) == hash_rows(hash, matrix)


def test_what_is_no_piece_is_refused(hash):
    matrix, kernels = random_matrix(40, 32), KERNELS[hash]
    target, states = np.zeros((32, 4), dtype=np.uint64), kernels.row_states(32, 40)
    for some, begin, first in ((5, 0, 0), (kernels.GRAIN, 1, 0), (40, kernels.GRAIN, 0), (40, 0, 8)):
        with pytest.raises(ValueError, match=r"no piece of a message|begin at a multiple of 16"):
            kernels.absorb_rows([matrix[:some]], states, begin, 40, target, first, 32)
