"""Records the segments of a window of a run in threads, each from a snapshot of the state before it.

A thread does not know when values were last accessed before its segment. So its record has marks instead of these
times, until the earlier segments of the window are there; times before the window stay marks.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import local

import numpy as np

from graphprover.device import recycled
from graphprover.device.host_processor import available_threads
from graphprover.vm.executor.execute import Running
from graphprover.vm.executor.interpreter import ACCESSES, CYCLE, PAGE_WORDS
from graphprover.vm.executor.native import translation_of
from graphprover.vm.executor.record import INTERVAL, REGISTERS
from graphprover.vm.executor.snapshot import Snapshot, restore

MOST_RECORDERS = 6  # threads; more are hardly faster

MARK = np.uint64(1 << 63)  # of a place in the pool or a register, in place of a time


def recorders() -> int:
    """Return how many threads record segments; the workers of a host share its cores."""
    return max(1, min(MOST_RECORDERS, available_threads() // 2))


@dataclass(frozen=True, eq=False)
class LastAccesses:
    """The times of the last accesses of a run so far; 0 for none. Marks stand for times that are not known yet."""

    words: np.ndarray  # uint64, by place in the pool
    registers: np.ndarray  # uint64 (33,)

    @classmethod
    def none(cls, words: int) -> "LastAccesses":
        """Return the state before a run whose pool has this number of words in the end."""
        return cls(np.zeros(words, dtype=np.uint64), np.zeros(REGISTERS, dtype=np.uint64))

    def fill(self, time: np.ndarray, times: np.ndarray) -> None:
        """Replace the marks of a segment by times.

        Args:
            time: The times of words, as `record.Record.time`.
            times: The times of registers, as `record.Record.times`.
        """
        marked = np.flatnonzero(time.view(np.int64) < 0)
        time[marked] = self.words[(time[marked] & ~MARK).astype(np.int64)]
        for register, count in enumerate(np.count_nonzero(times.view(np.int64) < 0, axis=0).tolist()):
            times[:count, register] = self.registers[register]

    def update(self, places: np.ndarray, times: np.ndarray, registers: np.ndarray) -> None:
        """Go on behind a segment or window, by the places and times of its last accesses; 0 for none of a register."""
        self.words[places] = times
        np.copyto(self.registers, registers, where=registers > 0)


@dataclass(frozen=True, eq=False)
class _Part:
    """The record of a segment without its snapshots, with marks in place of times before it."""

    begin: int  # snapshots before it
    end: int  # snapshots up to its end
    words: tuple[int, int]  # of the pool at its begin and at its end
    old: np.ndarray  # uint64 (accesses,)
    time: np.ndarray  # uint64 (accesses,)
    places: np.ndarray  # int64, places in the pool of its accesses
    times: np.ndarray  # uint64, of their last accesses
    registers: np.ndarray  # uint64 (33,), times of the last accesses of registers; 0 for none


class Segments:
    """The segments of a window: threads record them, and one thread appends them to the record in their order."""

    def __init__(self, start: Callable[[], Running], threads: int) -> None:
        """Begin a window.

        Args:
            start: Returns the run in its initial state.
            threads: The number of threads.
        """
        self.tape = start().tape()  # the record of the segments so far
        self.last = LastAccesses(self.tape.pool, self.tape.registers[:REGISTERS])
        self.accesses = self.words = 0  # in the record; of the pool behind the segments
        self._start, self._own = start, local()
        self._recording = ThreadPoolExecutor(threads, "graphprover-record")
        self._appending = ThreadPoolExecutor(1, "graphprover-append")
        self._pending = list[Future[None]]()

    def __enter__(self) -> "Segments":
        return self

    def __exit__(self, *_: object) -> None:
        self._recording.shutdown(cancel_futures=True)
        self._appending.shutdown(cancel_futures=True)

    def add(self, snapshot: Snapshot | None, begin: int, end: int, more: int = 0) -> None:
        """Have the next segment recorded.

        Args:
            snapshot: The state to go on from, at or before the segment; None for the start of the run.
            begin: The intervals before it.
            end: The intervals up to its end.
            more: Intervals behind the segment that are recorded, too, but do not count as accesses.
        """
        part = self._recording.submit(self._record, snapshot, begin, end, more)
        self._pending.append(self._appending.submit(self._append, part))

    def wait(self) -> None:
        """Wait for all segments; raises their exceptions."""
        for appended in self._pending:
            appended.result()

    def _record(self, snapshot: Snapshot | None, begin: int, end: int, more: int) -> _Part:
        if not hasattr(self._own, "run"):
            self._own.run = self._start()
            self._own.pool = np.zeros(len(self._own.run.store.pool), dtype=np.uint64)
        run: Running = self._own.run
        if snapshot:
            restore(run, snapshot)
        recording, run.translation = run.translation, translation_of(run.image, record=False)
        run.run(until=INTERVAL * begin)
        run.translation = recording
        if run.state.position[CYCLE] < INTERVAL * begin:
            cycles = int(run.state.position[CYCLE])
            raise ValueError(f"a run of {cycles:,} cycles has no window from cycle {INTERVAL * begin:,} on")

        run.state.position[ACCESSES] = 0
        words = PAGE_WORDS * (run.pages + 1)
        self._own.pool[:words] = np.arange(words, dtype=np.uint64) | MARK
        registers = np.arange(len(self.tape.registers), dtype=np.uint64) | MARK
        old, time = (recycled.empty(len(self.tape.old), np.uint64) for _ in range(2))
        tape = self.tape._replace(old=old, time=time, registers=registers, pool=self._own.pool)
        run.run(tape, until=INTERVAL * end)
        pool, of_registers = tape.pool[: PAGE_WORDS * (run.pages + 1)], registers[:REGISTERS]
        places = np.flatnonzero(pool.view(np.int64) > 0)
        last_times = pool[places], np.where(of_registers < MARK, of_registers, np.uint64(0))
        if more:
            run.run(tape, until=INTERVAL * (end + more))
        accesses, snapshots = int(run.state.position[ACCESSES]), -(-int(run.state.position[CYCLE]) // INTERVAL)
        return _Part(begin, snapshots, (words, len(pool)), old[:accesses], time[:accesses], places, *last_times)

    def _append(self, recorded: "Future[_Part]") -> None:
        part, tape = recorded.result(), self.tape
        if not self.words:  # the first segment
            self.last.words[: part.words[0]] = np.arange(part.words[0], dtype=np.uint64) | MARK
            self.last.registers[:] = np.arange(REGISTERS, dtype=np.uint64) | MARK
        begin, end = self.accesses, self.accesses + len(part.old)
        tape.old[begin:end] = part.old
        tape.time[begin:end] = part.time
        tape.at[part.begin : part.end] += np.uint64(begin)
        self.last.fill(tape.time[begin:end], tape.times[part.begin : part.end])
        self.last.update(part.places, part.times, part.registers)
        self.accesses, self.words = end, part.words[1]
