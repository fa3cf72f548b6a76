"""Data that stays on a GPU: a read from any thread gives the final contents."""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from graphprover.device.resident import resident
from tests.kernels.words import random_words

pytestmark = pytest.mark.gpu

SPIN = """
extern "C" __global__ void spin(long long cycles) {
    for (long long start = clock64(); clock64() - start < cycles;) {}
}
"""


@pytest.fixture
def device() -> Any:
    from graphprover.device import cuda

    return cuda.device(0)


@pytest.fixture
def spin() -> Callable[[], None]:
    """Keep the current stream busy for about 0.5 s."""
    import cupy

    kernel = cupy.RawKernel(SPIN, "spin")
    kernel((1,), (1,), (1,))
    return lambda: kernel((1,), (1,), (np.int64(1 << 30),))


def elsewhere(function: Callable[[], Any]) -> Any:
    """Run in a thread that has not used the device."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def test_it_is_read_when_it_is_computed_and_not_later(device: Any, spin: Callable[[], None]) -> None:
    import cupy

    words = random_words(1, 3, 1 << 16)
    pickle.dumps(resident(device, [device.load(words)]))  # creates everything that is created once
    with device.task():
        late = cupy.zeros(words.shape, dtype=words.dtype)
        source = device.load(words)
        spin()
        late[...] = source
        kept = resident(device, [late])
        spin()
        after = device.mark()
    text = elsewhere(lambda: pickle.dumps(kept, protocol=5))
    assert not after.done, "what is enqueued later is not waited for"
    again = elsewhere(lambda: pickle.loads(text))
    assert again.device is device and again.nbytes == words.nbytes
    with device.task():
        np.testing.assert_array_equal(again.arrays[0].get(), words)


def test_the_default_stream_is_not_used(device: Any, spin: Callable[[], None]) -> None:
    import cupy

    words = random_words(2, 3, 1 << 16)
    kept = resident(device, [device.load(words)])
    pickle.loads(pickle.dumps(kept))
    spin()
    busy = cupy.cuda.Event(disable_timing=True)
    busy.record(cupy.cuda.Stream.null)
    again = elsewhere(lambda: pickle.loads(pickle.dumps(kept)))
    again.mark.synchronize()
    assert not busy.done
    with device.task():
        np.testing.assert_array_equal(again.arrays[0].get(), words)


def test_many_are_moved_and_dropped_by_threads_while_the_device_works(device: Any) -> None:
    def move(seed: int) -> bool:
        words = random_words(seed, 2, 1 << (8 + seed % 9))
        kept = resident(device, device.extend([device.load(words)], 1))
        again = pickle.loads(pickle.dumps(kept))
        del kept
        with device.task():
            return bool(np.array_equal(again.arrays[0].get(), device.extend([device.load(words)], 1)[0].get()))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(move, range(200)))
