"""Background compilation: threads compile a proof's future kernels on all of the host's cores while it runs.

The compiler releases the GIL. The threads end when nothing is left to do, or with the program. A kernel that is needed
before its turn is compiled by the thread that needs it. Nothing here needs a GPU.
"""

import heapq
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from graphprover.air.description import AirDescription
from graphprover.runtime.signals import COMPILER

# Loading a cached kernel is Python's work, and more threads would only take Python's lock from the proof. A kernel that
# takes longer is compiled, without the lock.
_LOADERS = 4  # threads
_LOADED = 0.05  # seconds that a load takes at most


class Turn(IntEnum):
    """The order of kernels: the order in which a proof needs them."""

    OPERATION = 0  # of a file
    LOOKUPS = 1
    QUOTIENT = 2  # started after all tables are described, so that no lookups come later


class Job(NamedTuple):
    """One text to compile."""

    turn: Turn
    name: str  # for people: "lookups of add, 76 columns"
    text: str


class Ahead:
    """The queue of texts and the threads that compile them.

    ``jobs_of`` returns a table's texts, which takes Python some time, so the threads call it; ``run`` compiles one.
    Their errors are left to the thread that needs the kernel. A few threads start, and ``threads`` of them, by default
    one for each core, as soon as a kernel has to be compiled.
    """

    def __init__(
        self,
        jobs_of: Callable[[AirDescription], Iterable[Job]],
        run: Callable[[Job], object],
        threads: int | None = None,
    ) -> None:
        self.threads = threads or len(os.sched_getaffinity(0))
        self._jobs_of, self._run = jobs_of, run
        self._tables: deque[tuple[bool, Iterator[AirDescription]]] = deque()  # guesses last
        self._jobs: list[tuple[bool, Turn, int, str, Job]] = []  # a heap: no guesses first, then long texts
        self._expected: set[AirDescription] = set()  # except guesses
        self._queued: set[str] = set()  # texts, including started ones
        self._begun: set[str] = set()
        self._changed = threading.Condition()
        self._describing = False  # one thread at a time, because of the GIL
        self._running = 0  # threads

    def expect(self, tables: Iterable[AirDescription], jobs: Iterable[Job] = (), *, guess: bool = False) -> None:
        """Queue the kernels of these tables, and these jobs, of which a proof will need all.

        With ``guess`` it may need them. Once the proof's real kernels are known, guesses are dropped and no more are
        accepted. Guesses are drawn from ``tables`` as time permits.
        """
        with self._changed:
            if guess and self._expected:
                return
            if not guess:
                tables = [table for table in tables if table not in self._expected]
                self._expected.update(tables)
                self._tables = deque(entry for entry in self._tables if not entry[0])
                self._jobs = [entry for entry in self._jobs if not entry[0]]
                heapq.heapify(self._jobs)
                self._queued = self._begun | {job.text for *_, job in self._jobs}
                if tables:
                    self._tables.appendleft((guess, iter(tables)))
            else:
                self._tables.append((guess, iter(tables)))
            for job in jobs:
                self._put(job, guess)
            if not self._tables and not self._jobs:
                return
            self._start(min(self.threads, _LOADERS))

    def expects(self, text: str) -> bool:
        """Return whether a text is queued or compiled; false after a failure."""
        return text in self._queued

    def left(self) -> int:
        """Return the number of waiting texts of described tables."""
        return len(self._jobs)

    def wait(self) -> None:
        """Wait until nothing is left to do."""
        with self._changed:
            self._changed.wait_for(lambda: not self._running)

    def _put(self, job: Job, guess: bool) -> None:
        if job.text not in self._begun:
            self._queued.add(job.text)
            heapq.heappush(self._jobs, (guess, job.turn, -len(job.text), job.text, job))

    def _start(self, threads: int) -> None:
        """Start threads until this number of them runs; the caller has the lock."""
        for i in range(self._running, threads):
            self._running += 1
            threading.Thread(target=self._work, name=f"{COMPILER} {i}").start()

    def _work(self) -> None:
        while (step := self._next()) is not None:
            with suppress(Exception):
                step()

    def _next(self) -> Callable[[], object] | None:
        """Return a thread's next task; None to end."""
        with self._changed:
            while threading.main_thread().is_alive():
                if self._tables and not self._describing:
                    self._describing = True
                    return partial(self._describe, self._tables[0])
                while self._jobs and not (self._tables and self._jobs[0][1] == Turn.QUOTIENT):
                    job = heapq.heappop(self._jobs)[-1]
                    if job.text not in self._begun:
                        self._begun.add(job.text)
                        return partial(self._compile, job)
                if not self._describing:
                    break
                self._changed.wait()
            self._running -= 1
            self._changed.notify_all()
            return None

    def _compile(self, job: Job) -> None:
        started = time.perf_counter()
        try:
            self._run(job)
        except Exception:
            self._queued.discard(job.text)
            raise
        if time.perf_counter() - started > _LOADED:
            with self._changed:
                if self._jobs:  # otherwise the new threads would end at once
                    self._start(self.threads)

    def _describe(self, entry: tuple[bool, Iterator[AirDescription]]) -> None:
        """Queue the texts of the next table."""
        (guess, tables), table, jobs = entry, None, list[Job]()
        try:
            table = next(tables, None)
            if table is not None and not (guess and table in self._expected):
                jobs = list(self._jobs_of(table))
        finally:
            with self._changed:
                self._describing = False
                if table is None and entry in self._tables:
                    self._tables.remove(entry)
                if not guess or entry in self._tables:
                    for job in jobs:
                        self._put(job, guess)
                self._changed.notify_all()
