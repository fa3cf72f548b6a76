"""Transforms on the device against their twins on the CPU, word by word."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from graphprover import field
from graphprover.kernels.cpu import ntt as cpu
from tests.kernels.words import random_words

pytestmark = pytest.mark.gpu


def extended(source: np.ndarray, log_blowup: int) -> np.ndarray:
    target = np.empty((source.shape[0], source.shape[1] << log_blowup), dtype=np.uint64)
    cpu.coset_lde(source, target, log_blowup, 1, 7, False, 0, len(source))
    return target


def coset_lde(source: Any, log_chunks: int, log_blowup: int, shift: int, bit_reversed_source: bool) -> Any:
    """Return the extension of one matrix."""
    from graphprover.kernels.cuda import ntt

    [target] = ntt.coset_ldes([source], [log_chunks], log_blowup, shift, bit_reversed_source)
    return target


@pytest.mark.parametrize("log_size", range(21))
def test_extension(log_size: int) -> None:
    import cupy

    for log_blowup, columns in ((0, 1), (1, 3), (2, 2), (3, 1), (4, 2), (5, 1), (6, 1), (7, 2), (8, 1)):
        source = random_words(log_size, columns, 1 << log_size)
        result = coset_lde(cupy.asarray(source), 0, log_blowup, 7, bit_reversed_source=False)
        np.testing.assert_array_equal(result.get(), extended(source, log_blowup))


@pytest.mark.parametrize("log_size", range(13, 21))
def test_forward(log_size: int) -> None:
    import cupy

    from graphprover.kernels.cuda import ntt

    source = random_words(log_size, 3, 1 << log_size)
    expected, result = np.empty_like(source), cupy.asarray(source)
    cpu.ntt(source, expected, 0, 3)
    ntt.ntt(result)
    np.testing.assert_array_equal(result.get(), expected)


@pytest.mark.parametrize("log_size", range(20))
@pytest.mark.parametrize("log_chunks", range(4))
def test_chunks(log_size: int, log_chunks: int) -> None:
    import cupy

    size, log_blowup = 1 << log_size, max(1, log_chunks)
    source = random_words(log_size, 3, size << log_chunks)
    result = coset_lde(cupy.asarray(source), log_chunks, log_blowup, 1, bit_reversed_source=True)
    generator = field.root_of_unity(log_size + log_chunks)
    for run in range(1 << log_chunks):
        chunk = field.reverse_bits(run, log_chunks)
        expected = np.empty((3, size << log_blowup), dtype=np.uint64)
        values = source[:, run * size : (run + 1) * size].copy()
        shift = 7 * pow(generator, chunk, field.P) % field.P
        cpu.coset_lde(values, expected, log_blowup, shift, 7, True, 0, 3)
        np.testing.assert_array_equal(result[3 * chunk : 3 * chunk + 3].get(), expected)


@pytest.mark.parametrize("log_size", [21, 22, 24, 25, 26])
def test_large(log_size: int) -> None:
    """One column, which is longer than the table of any pass."""
    import cupy

    source = random_words(log_size, 1, 1 << log_size)
    result = coset_lde(cupy.asarray(source), 0, 0, 7, bit_reversed_source=False)
    np.testing.assert_array_equal(result.get(), extended(source, 0))


def test_many_matrices() -> None:
    """All at once: short ones, which share launches, more than one launch accepts; and long ones."""
    import cupy

    from graphprover.kernels.cuda import launch, ntt

    sources = [random_words(i, 1 + i % 5, 1 << i % 15) for i in range(160)]
    before = launch.launches["whole_columns"]
    results = ntt.coset_ldes([cupy.asarray(source) for source in sources], [0] * 160, 1, 7, bit_reversed_source=False)
    assert launch.launches["whole_columns"] - before == 3, "99 of up to 2^8 rows in two, 41 longer in one"
    for source, result in zip(sources, results, strict=True):
        np.testing.assert_array_equal(result.get(), extended(source, 1))


def test_many_matrices_in_chunks() -> None:
    """Long matrices of equal length share the data that does not depend on their chunks."""
    import cupy

    from graphprover.kernels.cuda import launch, ntt

    log_chunks = [1, 0, 2, 0, 1]
    sources = [cupy.asarray(random_words(i, 3, 1 << 13 + log)) for i, log in enumerate(log_chunks)]
    before = Counter(launch.launches)
    results = ntt.coset_ldes(sources, log_chunks, 2, 1, bit_reversed_source=True)
    assert Counter(launch.launches) - before == {"up_bottom_9": 5, "turn_4": 4, "down_bottom_9": 1}
    for source, log, result in zip(sources, log_chunks, results, strict=True):
        np.testing.assert_array_equal(result.get(), coset_lde(source, log, 2, 1, bit_reversed_source=True).get())


def test_many_columns_take_no_more_launches() -> None:
    import cupy

    from graphprover.kernels.cuda import launch

    source = random_words(1, 37, 1 << 13)
    before = Counter(launch.launches)
    result = coset_lde(cupy.asarray(source), 0, 1, 7, bit_reversed_source=False)
    assert Counter(launch.launches) - before == {"up_natural_5": 1, "up_4": 1, "turn_4": 1, "down_bottom_9": 1}
    np.testing.assert_array_equal(result.get(), extended(source, 1))


def test_a_view_of_longer_rows() -> None:
    import cupy

    source = random_words(1, 3, 1 << 14)
    result = coset_lde(cupy.asarray(source)[:, : 1 << 13], 0, 1, 1, bit_reversed_source=True)
    expected = np.empty((3, 1 << 14), dtype=np.uint64)
    cpu.coset_lde(source[:, : 1 << 13].copy(), expected, 1, 7, 7, True, 0, 3)
    np.testing.assert_array_equal(result.get(), expected)


def test_wrong_shapes() -> None:
    import cupy

    for shape, log_chunks, log_blowup, bit_reversed in (
        ((1, 3), 0, 1, False),
        ((1, 8), 1, 1, False),
        ((1, 2), 2, 1, True),
        ((1, 8), 0, 9, False),
    ):
        with pytest.raises(ValueError, match=r"no (transform|extension)"):
            coset_lde(cupy.zeros(shape, dtype=np.uint64), log_chunks, log_blowup, 7, bit_reversed)
