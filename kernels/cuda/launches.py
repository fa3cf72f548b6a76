"""Launches of an operation, recorded so that they can be enqueued again with other words.

The words of a proof's challenges are NumPy arrays. A recording finds them among the arguments of launches by their
identity, so a kernel's function passes the arrays that it was given, and no copies or views of them.

No CPU twin: a CPU has no launches.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from graphprover.kernels.cuda import enqueue

POINTER, SIZE, END = 1, 2, 0  # CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END
_WORD = 8


class Recorded(NamedTuple):
    """One launch."""

    kernel: int  # the driver's function
    grid: tuple[int, int, int]
    threads: int  # of a block
    shared: int  # bytes of dynamic shared memory of a block
    parameters: np.ndarray  # words
    places: tuple[tuple[int, int, int], ...]  # of words that change: first, end, number of their array


class Launches:
    """Launches with all their parameters in one buffer."""

    def __init__(
        self, recorded: Sequence[Recorded], uploads: Sequence[tuple[int, int]] = (), kept: Sequence[object] = ()
    ) -> None:
        """Create the launches.

        Args:
            recorded: The launches in order.
            uploads: Address and number of the arrays of words that are copied to the device before all launches.
            kept: Arrays on the device that the launches read.
        """
        self.recorded, self.uploads, self.kept = recorded, uploads, kept
        self._last: Sequence[np.ndarray] = ()
        starts = [0, *accumulate(len(one.parameters) for one in recorded)]
        self.parameters = np.empty(starts[-1], dtype=np.uint64)
        self.patches: list[tuple[int, int, int]] = []
        for one, start in zip(recorded, starts, strict=False):
            self.parameters[start : start + len(one.parameters)] = one.parameters
            self.patches += [(start + first, start + end, number) for first, end, number in one.places]
        # The driver reads sizes and parameters by their addresses, so these arrays live as long as the rows.
        self._sizes = np.array([_WORD * len(one.parameters) for one in recorded], dtype=np.uint64)
        parameters, sizes = self.parameters.ctypes.data, self._sizes.ctypes.data
        self._extra = np.array(
            [[POINTER, parameters + _WORD * starts[i], SIZE, sizes + _WORD * i, END] for i in range(len(recorded))],
            dtype=np.uint64,
        ).reshape(-1, 5)
        extra, step = self._extra.ctypes.data, self._extra.strides[0]
        self.rows = np.array(
            [[one.kernel, *one.grid, one.threads, one.shared, extra + step * i] for i, one in enumerate(recorded)],
            dtype=np.uint64,
        ).reshape(-1, enqueue.WORDS)

    def __len__(self) -> int:
        """Return the number of launches."""
        return len(self.rows)

    def put(self, words: Sequence[np.ndarray]) -> None:
        """Replace the words that change."""
        # A driver that reads the host's memory by itself may still read uploaded words when their copy is enqueued.
        self._last = words
        parameters = self.parameters
        for first, end, number in self.patches:
            parameters[first:end] = words[number]


def joined(parts: Sequence[Launches]) -> Launches:
    """Return launches without words one after another."""
    assert not any(part.patches or part.uploads for part in parts)
    return Launches(
        [one for part in parts for one in part.recorded], (), [array for part in parts for array in part.kept]
    )


class Recording:
    """The launches of an operation while it runs."""

    def __init__(self, words: Sequence[np.ndarray], lasting: Callable[[int], Any]) -> None:
        """Create an empty recording; ``lasting`` allocates memory that nothing else uses while the recording exists.

        Raises:
            ValueError: for words that are not vectors of uint64.
        """
        if any(array.dtype != np.uint64 or array.ndim != 1 or not array.flags.c_contiguous for array in words):
            raise ValueError("words are contiguous vectors of uint64")
        self.lasting = lasting
        self._words = words  # whose identities stay theirs
        self._numbers = {id(array): number for number, array in enumerate(words)}
        self._used: set[int] = set()
        self._recorded: list[Recorded] = []
        self._uploads: list[tuple[int, int]] = []
        self._kept: list[object] = []

    def note(
        self,
        kernel: int,
        grid: tuple[int, int, int],
        threads: int,
        shared: int,
        parameters: np.ndarray,
        arguments: Sequence[object],
    ) -> None:
        """Add a launch with its parameters as the driver takes them, made of these arguments."""
        places, at = list[tuple[int, int, int]](), 0
        for value in arguments:
            size = value.size if isinstance(value, np.ndarray) else 1
            if id(value) in self._numbers:
                places.append((at, at + size, self._numbers[id(value)]))
            at += size
        self._used.update(number for *_, number in places)
        self._recorded.append(Recorded(kernel, grid, threads, shared, parameters.copy(), tuple(places)))

    def upload(self, array: np.ndarray, address: int) -> None:
        """Add the copy of a vector to the device; it is repeated if the vector is one of words."""
        number = self._numbers.get(id(array))
        if number is not None:
            self._used.add(number)
            self._uploads.append((address, number))

    def keep(self, *arrays: object) -> None:
        """Keep arrays on the device that launches read."""
        self._kept += arrays

    @property
    def has_all(self) -> bool:
        """Return whether all words were found, so that none would keep its old value in a repetition."""
        return self._used == set(self._numbers.values())

    def launches(self) -> Launches:
        """Return all launches."""
        return Launches(self._recorded, self._uploads, self._kept)
