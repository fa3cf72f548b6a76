"""What a process still says when a signal ends it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_words: list[Callable[[], str]] = []


@contextmanager
def last_words(words: Callable[[], str]) -> Iterator[None]:
    """Add ``words()`` to the line that tells of a signal."""
    _words.append(words)
    try:
        yield
    finally:
        _words.remove(words)


def said(ending: str) -> str:
    """The line, of a process that ends so."""
    return ": ".join([ending, *(words() for words in _words)])
