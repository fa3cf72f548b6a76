"""What a process still says when a signal ends it, and when it does not end yet."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

COMPILER = "compiler"  # begins the names of threads that a process waits for at its end

_words: list[Callable[[], str]] = []


@contextmanager
def status_on_signal(words: Callable[[], str]) -> Iterator[None]:
    """Add ``words()`` to the line that tells of a signal."""
    _words.append(words)
    try:
        yield
    finally:
        _words.remove(words)


def signal_message(ending: str) -> str:
    """The line, of a process that ends so."""
    return ": ".join([ending, *(words() for words in _words)])


def pending_compilations() -> str:
    """What a process with nothing else to do waits for; empty if for nothing."""
    kernels = sum(thread.name.startswith(COMPILER) for thread in threading.enumerate())
    if not kernels:
        return ""
    return f"{kernels} kernel{'s' * (kernels > 1)} begun meanwhile: compiling to the end, for later (Ctrl-C: not)"
