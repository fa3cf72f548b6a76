"""Injected failures for tests: the Nth allocation or launch of a process fails."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Fault:
    """A counter of the calls of `due`."""

    def __init__(self) -> None:
        self._left = 0  # calls up to the failing one; 0: none fails
        self._lock = threading.Lock()

    @contextmanager
    def at(self, call: int) -> Iterator[None]:
        """Make the ``call``-th call in the block fail, and no other; the first is 1."""
        self._left = call
        try:
            yield
        finally:
            self._left = 0

    @property
    def armed(self) -> bool:
        """Return whether a later call may fail."""
        return self._left > 0

    def due(self) -> bool:
        """Return whether this call fails."""
        if not self._left:
            return False
        with self._lock:
            self._left -= 1
            return self._left == 0


allocation = Fault()  # of memory on a device: MemoryError
launch = Fault()  # of a kernel: a CUDA error after which the device is lost
