"""The end of a command by SIGINT or SIGTERM: its message, and calls before it. The message of a delayed exit."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

COMPILER = "compiler"  # prefix of the names of threads that delay exit

T = TypeVar("T")

_words: list[Callable[[], str]] = []
_calls: list[Callable[[], None]] = []


def status_on_signal(words: Callable[[], str]) -> AbstractContextManager[None]:
    """Add ``words()`` to the message printed on a signal, during the block."""
    return _registered(_words, words)


def called_on_signal(call: Callable[[], None]) -> AbstractContextManager[None]:
    """Call ``call()`` before a signal ends the command, during the block.

    The command then exits without an exception, so no other code of the block runs. The call is made by the main
    thread, which may hold locks.
    """
    return _registered(_calls, call)


@contextmanager
def _registered(functions: list[T], function: T) -> Iterator[None]:
    functions.append(function)
    try:
        yield
    finally:
        functions.remove(function)


def make_calls() -> None:
    """Make the calls of `called_on_signal`."""
    for call in _calls:
        call()


def signal_message(ending: str) -> str:
    """Return the message for a process that ends like this."""
    return ": ".join([ending, *(words() for words in _words)])


def pending_compilations() -> str:
    """Return a message about the compilations that delay exit; empty without any."""
    kernels = sum(thread.name.startswith(COMPILER) for thread in threading.enumerate())
    if not kernels:
        return ""
    return f"{kernels} kernel{'s' * (kernels > 1)} begun meanwhile: compiling to the end, for later (Ctrl-C: not)"
