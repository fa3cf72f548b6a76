"""Copies of constant arrays: one for each array, as long as it exists and memory suffices; without a GPU."""

import gc
from typing import Any

import numpy as np
import pytest

from tests import fake_cupy


@pytest.fixture
def device(tmp_path: Any) -> Any:
    with fake_cupy.new_device(str(tmp_path)) as made:
        yield made


def test_an_array_is_copied_once(device: Any) -> None:
    array, equal = np.arange(64, dtype=np.uint64), np.arange(64, dtype=np.uint64)
    assert device.constant(array) is device.constant(array)
    assert device.constant(equal) is not device.constant(array)
    assert device.usage["load_all"].calls == 2


def test_only_missing_copies_are_made(device: Any) -> None:
    """Large arrays are copied one by one, small ones together."""
    arrays = [np.arange(n, dtype=np.uint64) for n in (64, 1 << 18, 3)]
    first = device.constant(arrays[0])
    found = device.constant_all(arrays)
    assert found[0] is first and [array.shape for array in found] == [array.shape for array in arrays]
    again = device.constant_all(arrays)
    assert all(x is y for x, y in zip(again, found, strict=True))


def test_a_copy_ends_with_its_array(device: Any) -> None:
    array = np.arange(64, dtype=np.uint64)
    assert device.constant(array).nbytes == device.constants.held() == array.nbytes
    del array
    gc.collect()
    assert device.constants.held() == 0


def test_memory_that_others_need(device: Any) -> None:
    array = np.arange(64, dtype=np.uint64)
    before = device.constant(array)
    assert device.constants.drop() and not device.constants.drop()
    assert device.constant(array) is not before


def test_a_large_array_is_not_cached(device: Any) -> None:
    array = np.arange(64, dtype=np.uint64)
    device.memory.limit = array.nbytes
    assert device.constant(array) is not device.constant(array)
    assert device.constants.held() == 0
