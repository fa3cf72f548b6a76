"""A budget of threads for tasks and for parallel loops within tasks.

A device never runs more than its number of threads, however a graph is scheduled: a task holds one thread, and a
parallel loop also uses idle ones.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field


class Threads:
    """A pool of ``count`` threads for tasks and parallel loops."""

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"a device needs at least one thread, not {count}")
        self.count = count
        self._free = threading.Semaphore(count)
        self._inside = threading.local()
        self._pool = ThreadPoolExecutor(count - 1, "graphprover") if count > 1 else None

    @contextmanager
    def task(self) -> Iterator[None]:
        """Hold one thread of the budget; a nested task uses the thread of the outer one."""
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
        """Call ``function(first, last)`` over [0, total) in ranges, on this and idle threads; re-raise the first error.

        Every range but the last has ``piece`` items. Calls must write to disjoint places.
        """
        split = _Split(function, deque((first, min(first + piece, total)) for first in range(0, total, piece)))
        try:
            with self.task():
                self._work(split)
        finally:
            for helper in split.helpers:  # grows while a helper asks for help
                helper.result()

    def _work(self, split: "_Split") -> None:
        """Take ranges until none are left; ask for help before each, because another task may end at any time."""
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
    """One call of `Threads.split`, without reference cycles: the contents of ``function`` are freed at its end."""

    function: Callable[[int, int], object]
    pieces: deque[tuple[int, int]]  # not taken yet
    helpers: list[Future[None]] = field(default_factory=list)
