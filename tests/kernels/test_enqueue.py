"""Recorded launches reach a function like the driver's cuLaunchKernel with their grids, parameters and new words."""

import ctypes
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from graphprover.kernels.cuda.enqueue import enqueue
from graphprover.kernels.cuda.launches import Launches, Recording, joined

STREAM = 0x7F0000001000
_UNSIGNED = ctypes.c_uint
_SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[_UNSIGNED] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)


class Call(NamedTuple):
    """A call of the driver's function."""

    kernel: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    stream: int
    parameters: list[int]  # words


class Driver:
    """The driver's function; the call of number ``fails`` returns the error ``code``."""

    def __init__(self, fails: int = -1, code: int = 0) -> None:
        self.calls: list[Call] = []
        self._fails, self._code = fails, code
        self._function = _SIGNATURE(self._launch)
        address = ctypes.cast(self._function, ctypes.c_void_p).value
        assert address
        self.address = address

    def _launch(self, kernel: Any, x: int, y: int, z: int, a: int, b: int, c: int, shared: int, *rest: Any) -> int:
        stream, parameters, extra = rest
        assert parameters is None
        pointer, buffer, size, bytes_at, end = (ctypes.c_uint64 * 5).from_address(extra)
        assert (pointer, size, end) == (1, 2, 0)
        words = ctypes.c_uint64.from_address(bytes_at).value // 8
        read = list((ctypes.c_uint64 * words).from_address(buffer))
        self.calls.append(Call(kernel, (x, y, z), (a, b, c), shared, stream, read))
        return self._code if len(self.calls) - 1 == self._fails else 0


def words_of(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


def no_memory(size: int) -> None:
    raise AssertionError("nothing is copied")


def noted(recording: Recording, kernel: int, *arguments: Any, shared: int = 0) -> None:
    """Note a launch as `launch.launch` does: arrays are passed word by word."""
    parts = [value if isinstance(value, np.ndarray) else words_of(value) for value in arguments]
    recording.note(kernel, (kernel % 7 + 1, 2, 3), 128, shared, np.concatenate([words_of(), *parts]), arguments)


@pytest.fixture
def recording() -> Iterator[tuple[Recording, list[np.ndarray]]]:
    words = [words_of(1, 2, 3), words_of(4)]
    made = Recording(words, no_memory)
    noted(made, 0x7000_0000_1000, 11, words[0], 12)
    noted(made, 0x1000_0000_0008, shared=4096)
    noted(made, 9, words[1], words_of(1, 2, 3), words[0], 2**64 - 1)
    yield made, words


def test_launches_are_the_recorded_ones(recording: tuple[Recording, list[np.ndarray]]) -> None:
    made, _ = recording
    assert made.has_all
    driver, launches = Driver(), made.launches()
    assert len(launches) == 3
    assert enqueue(driver.address, STREAM, launches.rows) == 0
    assert [call.kernel for call in driver.calls] == [0x7000_0000_1000, 0x1000_0000_0008, 9]
    assert [call.grid for call in driver.calls] == [(call.kernel % 7 + 1, 2, 3) for call in driver.calls]
    assert [call.shared for call in driver.calls] == [0, 4096, 0]
    assert {call.block for call in driver.calls} == {(128, 1, 1)} and {call.stream for call in driver.calls} == {STREAM}
    assert [call.parameters for call in driver.calls] == [
        [11, 1, 2, 3, 12],
        [],
        [4, 1, 2, 3, 1, 2, 3, 2**64 - 1],
    ]


def test_other_words_are_put_where_the_arrays_were(recording: tuple[Recording, list[np.ndarray]]) -> None:
    made, _ = recording
    driver, launches = Driver(), made.launches()
    launches.put([words_of(7, 8, 2**63), words_of(9)])
    assert enqueue(driver.address, STREAM, launches.rows) == 0
    first, _, last = (call.parameters for call in driver.calls)
    assert first == [11, 7, 8, 2**63, 12]
    assert last == [9, 1, 2, 3, 7, 8, 2**63, 2**64 - 1], "an equal array that is not one of words keeps its values"


@pytest.mark.parametrize("fails", range(3))
def test_the_first_error_ends_the_loop(fails: int, recording: tuple[Recording, list[np.ndarray]]) -> None:
    driver = Driver(fails, 719)
    assert enqueue(driver.address, STREAM, recording[0].launches().rows) == 719
    assert len(driver.calls) == fails + 1


def test_words_that_are_not_found_are_noticed() -> None:
    words = [words_of(1, 2), words_of(3)]
    made = Recording(words, no_memory)
    noted(made, 1, words[0], words[1].copy())
    assert not made.has_all
    noted(made, 1, words[1])
    assert made.has_all


def test_uploads_are_repeated_for_words_only() -> None:
    words = [words_of(1, 2)]
    made = Recording(words, no_memory)
    made.upload(words_of(5), 0x100)
    made.upload(words[0], 0x200)
    assert made.has_all and made.launches().uploads == [(0x200, 0)]


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 2), np.uint64), np.zeros(8, np.uint64)[::2]])
def test_words_are_vectors(array: np.ndarray) -> None:
    with pytest.raises(ValueError, match="vectors of uint64"):
        Recording([array], no_memory)


def test_launches_without_words_are_joined() -> None:
    parts, kept = list[Launches](), [object(), object()]
    for number in range(2):
        made = Recording([], no_memory)
        made.keep(kept[number])
        for kernel in range(number + 1):
            noted(made, kernel, 10 * number + kernel)
        parts.append(made.launches())
    driver, launches = Driver(), joined(parts)
    assert enqueue(driver.address, STREAM, launches.rows) == 0 and len(launches) == 3
    assert [call.parameters for call in driver.calls] == [[0], [10], [11]] and list(launches.kept) == kept
    assert len(joined([])) == 0 and enqueue(driver.address, STREAM, joined([]).rows) == 0
