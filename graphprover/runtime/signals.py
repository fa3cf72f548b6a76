"""Messages printed on SIGINT and SIGTERM, and while background compilation delays exit."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

COMPILER = "compiler"  # prefix of the names of threads that delay exit

_words: list[Callable[[], str]] = []


@contextmanager
def status_on_signal(words: Callable[[], str]) -> Iterator[None]:
    """Add ``words()`` to the message printed on a signal, during the block."""
    _words.append(words)
    try:
        yield
    finally:
        _words.remove(words)


def signal_message(ending: str) -> str:
    """Return the message for a process that ends like this."""
    return ": ".join([ending, *(words() for words in _words)])


def pending_compilations() -> str:
    """Return a message about the compilations that delay exit; empty without any."""
    kernels = sum(thread.name.startswith(COMPILER) for thread in threading.enumerate())
    if not kernels:
        return ""
    return f"{kernels} kernel{'s' * (kernels > 1)} begun meanwhile: compiling to the end, for later (Ctrl-C: not)"
