"""A budget of threads that tasks and the pieces of large tasks share.

However a graph is scheduled, a device never runs more than its number of threads: a task takes one for as long as it
runs, and a kernel that splits itself is helped only by threads that nobody uses.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field


class Threads:
    """``count`` threads for tasks and for pieces of tasks."""

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"a device needs at least one thread, not {count}")
        self.count = count
        self._free = threading.Semaphore(count)
        self._inside = threading.local()
        self._pool = ThreadPoolExecutor(count - 1, "graphprover") if count > 1 else None

    @contextmanager
    def task(self) -> Iterator[None]:
        """Hold a thread of the budget; a task inside a task holds the one it has."""
        if getattr(self._inside, "task", False):
            yield
            return
        with self._free:
            self._inside.task = True
            try:
                yield
            finally:
                self._inside.task = False

    def split(self, function: Callable[[int, int], object], total: int, piece: int) -> None:
        """Call ``function(first, last)`` over [0, total) in pieces, here and on free threads; re-raise the first error.

        Every piece but the last has ``piece`` items. Pieces must write to disjoint places.
        """
        split = _Split(function, deque((first, min(first + piece, total)) for first in range(0, total, piece)))
        try:
            with self.task():
                self._work(split)
        finally:
            for helper in split.helpers:  # which grows while a helper asks for help
                helper.result()

    def _work(self, split: "_Split") -> None:
        """Take pieces until there are none; before each, since a small task beside this one may end at any time, ask
        for help."""
        while split.pieces:
            if self._pool is not None and len(split.pieces) > 1 and self._free.acquire(blocking=False):
                split.helpers.append(self._pool.submit(self._help, split))
            try:
                first, last = split.pieces.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                split.function(first, last)
            except BaseException:
                split.pieces.clear()
                raise

    def _help(self, split: "_Split") -> None:
        try:
            self._work(split)
        finally:
            self._free.release()


@dataclass(frozen=True)
class _Split:
    """One call of `Threads.split`. Nothing here refers to itself: what ``function`` holds goes when the call ends."""

    function: Callable[[int, int], object]
    pieces: deque[tuple[int, int]]  # that nobody has taken yet
    helpers: list[Future[None]] = field(default_factory=list)
