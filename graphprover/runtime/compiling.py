"""The time in which this process waited for kernels to be compiled, of which its rates are without."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_spans: list[tuple[float, float]] = []  # of time.perf_counter, rising and disjoint
_lock = Lock()


def compile_seconds() -> float:
    """Return the seconds so far; those in which several threads waited count once."""
    with _lock:
        return sum(end - start for start, end in _spans)


def add_wait(start: float, end: float) -> None:
    """Add a wait between two values of time.perf_counter, once it has ended."""
    with _lock:
        while _spans and _spans[-1][1] > start:
            earlier, later = _spans.pop()
            start, end = min(earlier, start), max(later, end)
        _spans.append((start, end))


@contextmanager
def waiting() -> Iterator[None]:
    """Add the time of the block."""
    start = time.perf_counter()
    try:
        yield
    finally:
        add_wait(start, time.perf_counter())
