"""Arrays in memory that is used again."""

import gc
import sys

import numpy as np
import pytest

from graphprover.device import recycled

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot resize mapped memory")


@pytest.fixture(autouse=True)
def none_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recycled, "_free", [])


def test_freed_memory_is_used_again_by_larger_and_smaller_arrays() -> None:
    for size in (1000, 5000, 10, 100_000):
        array = recycled.empty(size, np.uint64)
        assert array.shape == (size,) and array.flags.writeable
        array[:] = size
        del array
        gc.collect()
        assert len(recycled._free) == 1


def test_arrays_in_use_are_apart() -> None:
    """A view keeps the memory of its array from being used again."""
    views = [recycled.empty((300, 4), np.uint32)[10:20, 1] for _ in range(20)]
    gc.collect()
    for i, view in enumerate(views):
        view[:] = i
    others = [recycled.empty(1200, np.uint32) for _ in range(5)]
    for other in others:
        other[:] = 99
    assert [set(view.tolist()) for view in views] == [{i} for i in range(20)]
    assert recycled._free == []


def test_kept_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recycled, "host_memory", lambda: recycled.SHARE * 8192)
    arrays = [recycled.empty(1 << 16, np.uint64) for _ in range(2 * recycled.MOST)]
    del arrays
    gc.collect()
    assert [len(region) for region in recycled._free] == [8192] * recycled.MOST


def test_zeros_are_cleared_and_writable() -> None:
    for _ in range(3):  # also after an array of this size was freed
        found = recycled.zeros(1 << 18, np.uint32)
        assert found.dtype == np.uint32 and found.shape == (1 << 18,) and not found.any()
        found[:] = 7
    assert recycled.zeros(0, np.int64).shape == (0,)
