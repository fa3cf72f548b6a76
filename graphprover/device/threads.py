"""A budget of threads for tasks and for parallel loops within tasks.

A device never runs more than its number of threads, however a graph is scheduled: a task holds one thread, and a
parallel loop also uses idle ones if the rest of the loop takes longer than their start.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from math import inf
from weakref import WeakSet

# Seconds that each thread of a loop still has to work if one more is to help: its start and end cost as much as they
# save in shorter loops.
WORTH_HELP = 1e-3

_NESTED = nullcontext()
_all: "WeakSet[Threads]" = WeakSet()


class Threads:
    """A pool of ``count`` threads for tasks and parallel loops."""

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"a device needs at least one thread, not {count}")
        self.count = count
        self._rates: dict[object, float] = {}  # seconds of an item, when a loop's code last ran
        self._start()
        _all.add(self)

    def _start(self) -> None:
        """Create the pool, or replace it in a forked process, which lacks its parent's threads."""
        self._free = threading.Semaphore(self.count)
        self._inside = threading.local()
        self._pool = ThreadPoolExecutor(self.count - 1, "graphprover") if self.count > 1 else None

    def task(self) -> AbstractContextManager[None]:
        """Hold one thread of the budget; a nested task uses the thread of the outer one."""
        return _NESTED if getattr(self._inside, "task", False) else self._task()

    @contextmanager
    def _task(self) -> Iterator[None]:
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
        if total <= piece:
            with self.task():
                if total:
                    function(0, total)
            return
        split = _Split(function, deque((first, min(first + piece, total)) for first in range(0, total, piece)))
        try:
            with self.task():
                self._work(split)
        finally:
            for helper in split.helpers:  # grows while a helper asks for help
                helper.result()

    def _work(self, split: "_Split") -> None:
        """Take ranges until none are left; consider help before each, because another task may end at any time."""
        pieces, code = split.pieces, _code_of(split.function)
        while pieces:
            if self._pool is not None and self._is_worth_help(split, code) and self._free.acquire(blocking=False):
                split.helpers.append(self._pool.submit(self._help, split))
            try:
                first, last = pieces.popleft()
            except IndexError:  # another thread took the last one
                return
            started = time.perf_counter()
            try:
                split.function(first, last)
            except BaseException:
                pieces.clear()
                raise
            self._rates[code] = (time.perf_counter() - started) / (last - first)

    def _is_worth_help(self, split: "_Split", code: object) -> bool:
        """Return whether the pieces are several and take long, shared by the threads that work on them.

        Their items are expected to take as long as the last one. Items of a function that has not run are expected to
        take very long.
        """
        pieces = split.pieces
        try:
            rest = pieces[-1][1] - pieces[0][0]
        except IndexError:  # other threads took them
            return False
        working = 1 + len(split.helpers)
        return len(pieces) > 1 and rest * self._rates.get(code, inf) > WORTH_HELP * working

    def _help(self, split: "_Split") -> None:
        try:
            self._work(split)
        finally:
            self._free.release()


def _code_of(function: Callable[..., object]) -> object:
    """Return what equal loops share: the code of a closure, or the kernel of a partial."""
    kernel = getattr(function, "func", function)
    return getattr(kernel, "__code__", kernel)


def _restart() -> None:
    for threads in _all:
        threads._start()


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=_restart)


@dataclass(frozen=True)
class _Split:
    """One call of `Threads.split`, without reference cycles: the contents of ``function`` are freed at its end."""

    function: Callable[[int, int], object]
    pieces: deque[tuple[int, int]]  # not taken yet
    helpers: list[Future[None]] = field(default_factory=list)
