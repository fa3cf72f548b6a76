"""Transforms against evaluation and interpolation by definition, and (large ones) against algebraic identities."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.field import array_add, array_mul
from graphprover.kernels.cpu import ntt
from tests import naive
from tests.naive import EDGES, GENERATOR, P

LARGEST = 9  # log2 of the rows of the largest transform compared with its definition


def random_matrix(columns, rows, seed=0):
    rng = np.random.default_rng(seed + 31 * rows + columns)
    matrix = rng.integers(0, P, (columns, rows), dtype=np.uint64)
    flat = matrix.reshape(-1)
    flat[: len(EDGES)] = np.array(EDGES, dtype=np.uint64)[: flat.size]
    return matrix


def bit_reversed(matrix):
    log_rows = matrix.shape[1].bit_length() - 1
    return np.ascontiguousarray(matrix[:, [naive.reverse_bits(i, log_rows) for i in range(matrix.shape[1])]])


@pytest.mark.parametrize("log_rows", range(LARGEST + 1))
def test_ntt_evaluates_on_the_subgroup(log_rows):
    coefficients = random_matrix(2, 1 << log_rows)
    points = naive.coset(log_rows, 1)
    values = np.zeros_like(coefficients)
    ntt.ntt(coefficients, values, 0, 2)
    for column, result in zip(coefficients.tolist(), values.tolist(), strict=True):
        assert result == [naive.evaluate(column, x) for x in points]


@pytest.mark.parametrize("log_rows", range(6))
def test_inverse_ntt_interpolates_on_a_coset(log_rows):
    values = random_matrix(3, 1 << log_rows)
    coefficients = np.zeros_like(values)
    ntt.inverse_ntt(values, coefficients, 0, 3, GENERATOR)
    for column, result in zip(values.tolist(), coefficients.tolist(), strict=True):
        assert result == naive.interpolate(naive.coset(log_rows, GENERATOR), column)


@pytest.mark.parametrize("log_rows", range(15))
def test_inverse_undoes_forward_in_place(log_rows):
    coefficients = random_matrix(2, 1 << log_rows)
    values = coefficients.copy()
    ntt.ntt(values, values, 0, 2)
    ntt.inverse_ntt(values, values, 0, 2)
    assert np.array_equal(values, coefficients)


@pytest.mark.parametrize("bit_reversed_source", [False, True])
@pytest.mark.parametrize("log_blowup", range(4))
@pytest.mark.parametrize("log_rows", [0, 1, 3, 5, 6, 7, 8])
def test_lde_is_evaluation_on_the_larger_coset(log_rows, log_blowup, bit_reversed_source):
    source_shift, target_shift = 3, GENERATOR
    coefficients = random_matrix(1, 1 << log_rows).tolist()[0]
    domain = naive.coset(log_rows, source_shift)
    source = np.array([[naive.evaluate(coefficients, x) for x in domain]], dtype=np.uint64)
    if not bit_reversed_source:
        source = bit_reversed(source)
    target = np.zeros((1, 1 << log_rows + log_blowup), dtype=np.uint64)
    ntt.coset_lde(source, target, log_blowup, source_shift, target_shift, bit_reversed_source, 0, 1)
    larger = naive.coset(log_rows + log_blowup, target_shift)
    if log_rows + log_blowup > LARGEST:
        larger = larger[:64] + larger[-64:]
        target = np.concatenate([target[:, :64], target[:, -64:]], axis=1)
    assert target.tolist() == [[naive.evaluate(coefficients, x) for x in larger]]


@pytest.mark.parametrize("log_rows", [4, 9, 10, 11, 12, 13, 16])
def test_orders_of_the_source_agree(log_rows):
    source = random_matrix(3, 1 << log_rows)
    reversed_source = bit_reversed(source)
    natural, from_reversed = np.zeros((2, 3, 4 << log_rows), dtype=np.uint64)
    ntt.coset_lde(source, natural, 2, 1, GENERATOR, False, 0, 3)
    ntt.coset_lde(reversed_source, from_reversed, 2, 1, GENERATOR, True, 0, 3)
    assert np.array_equal(natural, from_reversed)
    # The first quarter is the coset 7 H, so its values are the source.
    back = np.zeros_like(source)
    ntt.coset_lde(np.ascontiguousarray(natural[:, : 1 << log_rows]), back, 0, GENERATOR, 1, True, 0, 3)
    assert np.array_equal(back, reversed_source)
    last = np.ascontiguousarray(natural[:, -(1 << log_rows) :])
    shift = naive.coset(log_rows + 2, GENERATOR)[3 << log_rows]
    ntt.coset_lde(last, last, 0, shift, 1, True, 0, 3)
    assert np.array_equal(last, reversed_source)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 12), st.integers(0, P - 1), st.integers(0, 2**32))
def test_lde_is_linear(log_rows, scale, seed):
    pair = random_matrix(2, 1 << log_rows, seed)
    combined = array_add(array_mul(pair[:1], np.full_like(pair[:1], scale)), pair[1:])
    source = np.concatenate([pair, combined])
    target = np.zeros((3, 2 << log_rows), dtype=np.uint64)
    ntt.coset_lde(source, target, 1, 1, GENERATOR, False, 0, 3)
    expected = array_add(array_mul(target[:1], np.full_like(target[:1], scale)), target[1:2])
    assert np.array_equal(target[2:], expected)
    assert int(target.max()) < P


@pytest.mark.parametrize("rows", [16, 256])
def test_only_the_asked_columns_are_written(rows):
    source = random_matrix(5, rows)
    source.flags.writeable = False
    whole, part = np.zeros((2, 5, 2 * rows), dtype=np.uint64)
    ntt.coset_lde(source, whole, 1, 1, GENERATOR, False, 0, 5)
    ntt.coset_lde(source, part, 1, 1, GENERATOR, False, 1, 3)
    assert np.array_equal(part[1:3], whole[1:3])
    assert not part[[0, 3, 4]].any()
    ntt.coset_lde(source, part, 1, 1, GENERATOR, False, 2, 2)


def test_other_arrays_are_refused():
    good = np.zeros((2, 8), dtype=np.uint64)
    for wrong in (good.astype(np.int64), good[:, ::2], np.zeros((2, 6), dtype=np.uint64), good[0], good[:, :0]):
        with pytest.raises(ValueError):
            ntt.ntt(wrong, wrong, 0, 1)
    with pytest.raises(ValueError):
        ntt.ntt(good, np.zeros((2, 16), dtype=np.uint64), 0, 1)
    with pytest.raises(ValueError):
        ntt.ntt(good, good, 0, 3)
    constant = good.copy()
    constant.flags.writeable = False
    with pytest.raises(ValueError):
        ntt.ntt(good, constant, 0, 1)


def test_threads_that_make_one_table_together_do_not_free_it_under_each_other():
    """The cache stores one of two tables that threads compute at once; the other must live until its last use."""
    values = random_matrix(1, 1 << 10)
    expected = np.empty((1, 1 << 11), dtype=np.uint64)
    ntt.coset_lde(values, expected, 1, 1, GENERATOR, False, 0, 1)
    results = np.zeros((4, 1, 1 << 11), dtype=np.uint64)
    together = threading.Barrier(4)

    def extend(number):
        together.wait()
        ntt.coset_lde(values, results[number], 1, 1, GENERATOR, False, 0, 1)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            for _ in range(100):
                ntt._table.cache_clear()
                list(pool.map(extend, range(4)))
                assert all(np.array_equal(result, expected) for result in results)
    finally:
        sys.setswitchinterval(interval)
