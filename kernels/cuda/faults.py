"""Failures on demand: tests make the Nth allocation or launch of a process fail and look at what becomes of a proof."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Fault:
    """Counts the calls of `due` while a test waits for one of them."""

    def __init__(self) -> None:
        self._left = 0  # calls up to the one that fails; 0: none will
        self._lock = threading.Lock()

    @contextmanager
    def at(self, call: int) -> Iterator[None]:
        """Within it the ``call``-th call from now fails, and no other; the first is 1."""
        self._left = call
        try:
            yield
        finally:
            self._left = 0

    def due(self) -> bool:
        """Whether this call is to fail."""
        if not self._left:
            return False
        with self._lock:
            self._left -= 1
            return self._left == 0


allocation = Fault()  # of memory on a device: MemoryError
launch = Fault()  # of a kernel: a CUDA error after which the device is lost
