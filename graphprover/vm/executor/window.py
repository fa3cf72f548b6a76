"""Records a run in several processes: each one records a window, a part of the cycles, after the same plain run.

The first process runs the program without a record, which takes a quarter to a half of the time, and takes snapshots.
Another process goes on from a snapshot, and records its window. It does not know when values were last accessed before
the window. So its record has marks instead of these times, until the first process has the `Accesses` of all earlier
windows. The words of a run have the same places in the pool in all processes, because pages are allocated in the order
of the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from graphprover.vm.executor.debug import Debug
from graphprover.vm.executor.execute import DEFAULT_CYCLES, Execution, Running, check_options, half_of_memory
from graphprover.vm.executor.interpreter import CYCLE, PAGE_BYTES, PAGE_WORDS
from graphprover.vm.executor.record import INTERVAL, LOG_INTERVAL, REGISTERS, Memory, Record, Registers
from graphprover.vm.executor.segments import MARK, LastAccesses, Segments, recorders
from graphprover.vm.executor.snapshot import Snapshot, snapshot_of
from graphprover.vm.program.elf import Image

MOST_SNAPSHOTS = 32  # of a run: then every second one is dropped, so they stay spread over the run
MOST_SNAPSHOT_BYTES = 256 << 20  # of all snapshots of a run


@dataclass(frozen=True, eq=False)
class Accesses:
    """The accesses of a window, as the record of the others depends on them."""

    asked: np.ndarray  # uint32, places in the pool that were accessed and may have been accessed before the window
    places: np.ndarray  # uint32, all places that were accessed, rising
    times: np.ndarray  # uint64, of their last accesses
    registers: np.ndarray  # uint64 (33,), times of the last accesses of registers; 0 for none


@dataclass(frozen=True, eq=False)
class Before:
    """The times of the last accesses before a window; 0 for none."""

    words: np.ndarray  # uint64, of the places that the window asks for
    registers: np.ndarray  # uint64 (33,)


@dataclass(frozen=True, eq=False)
class Window:
    """The record of a window, with marks in place of the times before it."""

    streams: tuple[np.ndarray, ...]  # as `Record.streams`; the snapshots of earlier cycles are undefined
    marked: np.ndarray  # int64, indices of the marks among the times of words
    unread: np.ndarray  # int64 (33,), snapshots of the window before a register's first access
    first: int  # snapshots before the window
    accesses: Accesses

    @property
    def nbytes(self) -> int:
        """Return the bytes of the window."""
        return sum(stream[self.first :].nbytes for stream in self.streams[2:]) + 2 * self.streams[0].nbytes

    def record(self, cycles: int, before: Before, state: "FinalState | None") -> Record:
        """Return the record, with the times before the window; it has this window's cycles only.

        Args:
            cycles: The length of the whole run.
            before: The answer to the places asked for.
            state: The final state of the run, for the window whose proof has it.

        Raises:
            ValueError: If the times are of another run.
        """
        if len(before.words) != len(self.marked):
            raise ValueError(f"{len(before.words):,} times before a window that asks for {len(self.marked):,}")
        old, time, index, at, values, times = self.streams
        time[self.marked] = before.words
        for register, count in enumerate(self.unread.tolist()):
            times[self.first : self.first + count, register] = before.registers[register]
        final = state or FinalState(
            Registers(*np.zeros((2, REGISTERS), np.uint64)), Memory(*np.zeros((4, 0), np.uint64))
        )
        return Record(cycles, old, time, index, at, values, times, final.registers, final.memory)


@dataclass(frozen=True, eq=False)
class FinalState:
    """Registers and accessed words at the end of a run."""

    registers: Registers
    memory: Memory


def pass_window(last: LastAccesses, accesses: Accesses) -> Before:
    """Return the times before the next window of a run, and go on behind it."""
    before = Before(last.words[accesses.asked], last.registers.copy())
    last.update(accesses.places, accesses.times, accesses.registers)
    return before


class Rehearsal:
    """A run without a record, with snapshots."""

    def __init__(self, run: Running, execution: Execution, snapshots: Sequence[Snapshot]) -> None:
        self.execution, self.snapshots = execution, tuple(snapshots)
        self._run = run

    @property
    def words(self) -> int:
        """Return the words of the pool."""
        return PAGE_WORDS * (self._run.pages + 1)

    def snapshots_of(self, cycles: range) -> tuple[Snapshot, ...]:
        """Return the last snapshot for a window that begins with these cycles, if there is one, and the ones in it."""
        first = cycles.start >> LOG_INTERVAL << LOG_INTERVAL
        before = [one for one in self.snapshots if one.cycle <= first]
        return (*before[-1:], *(one for one in self.snapshots[len(before) :] if one.cycle < cycles.stop))

    def final_state(self, last: LastAccesses) -> FinalState:
        """Return the final state, by the times of all windows."""
        values = self._run.state.registers[:REGISTERS].copy()
        return FinalState(Registers(values, last.registers), self._run.memory(last.words))


def rehearse(
    image: Image,
    data: bytes = b"",
    *,
    max_cycles: int = DEFAULT_CYCLES,
    max_memory: int | None = None,
    debug: Debug | None = None,
    random_seed: int | None = None,
) -> Rehearsal:
    """Run a program without a record, as `execute` does, and take snapshots.

    A snapshot is taken only if it is `worth_sending`.

    Args:
        image: The program.
        data: The input.
        max_cycles: As in `execute`.
        max_memory: As in `execute`, without the snapshots; by default as much as with a record.
        debug: As in `execute`.
        random_seed: As in `execute`.

    Raises:
        Exception: every exception of `execute`.
    """
    check_options(data, max_cycles, random_seed)
    most = half_of_memory() if max_memory is None else max_memory
    run = Running(image, data, max_cycles, most, debug=debug, random_seed=random_seed)
    snapshots: list[Snapshot] = []
    spacing = due = 1

    def pause() -> None:
        nonlocal spacing, due
        cycle = int(run.state.position[CYCLE])
        if cycle < due or not worth_sending(PAGE_BYTES * run.pages, cycle):
            return
        snapshots.append(snapshot_of(run))
        if len(snapshots) > MOST_SNAPSHOTS or sum(one.nbytes for one in snapshots) > MOST_SNAPSHOT_BYTES:
            del snapshots[::2]
            spacing = max(2 * spacing, cycle // MOST_SNAPSHOTS)
        due = cycle + spacing

    run.run(pause=pause)
    return Rehearsal(run, run.execution(None), snapshots)


def worth_sending(size: int, cycles: int) -> bool:
    """Return whether a snapshot of this size arrives sooner than a process runs the cycles before it.

    A process runs 600 to 5,000 M cycles a second without a record, and a network sends 100 to 1,000 MB a second.
    """
    return size < cycles


def record_window(
    image: Image,
    data: bytes,
    cycles: range,
    total: int,
    snapshots: Sequence[Snapshot] = (),
    *,
    max_cycles: int = DEFAULT_CYCLES,
    max_memory: int | None = None,
    random_seed: int | None = None,
) -> Window:
    """Run a program without a record up to a window, and record the window.

    Args:
        image: The program.
        data: The input.
        cycles: The window. The record begins and ends with whole intervals of snapshots, or with the run.
        total: The cycles of the whole run.
        snapshots: States of the run up to the window's end, rising. The run goes on from the last one before the
            window; without one, from its start. Threads record the segments from further ones, if there are cores.
        max_cycles: As in `execute`.
        max_memory: As in `execute`, for the record of the window alone; by default half of the computer's memory.
        random_seed: As in `execute`.

    Raises:
        ValueError: Also for a window behind the run's end.
        Exception: every exception of `execute`.
    """
    check_options(data, max_cycles, random_seed)
    threads = recorders()
    # Each thread maps a run, and the record is mapped, too.
    most = half_of_memory(threads + 1) if max_memory is None else max_memory

    def start() -> Running:
        return Running(image, data, max_cycles, most, record=True, random_seed=random_seed)

    first, last = cycles.start >> LOG_INTERVAL, -(-cycles.stop // INTERVAL)
    # The next window's record begins with the interval in which this window ends.
    stop = last if cycles.stop == total else cycles.stop >> LOG_INTERVAL
    earlier = [one for one in snapshots if one.cycle <= INTERVAL * first]
    inner = {-(-one.cycle // INTERVAL): one for one in snapshots[len(earlier) :]} if threads > 1 else {}
    begins = [first, *(begin for begin in inner if first < begin < stop)]
    with Segments(start, threads) as segments:
        for begin, end in pairwise([*begins, stop]):
            snapshot = inner[begin] if begin in inner else earlier[-1] if earlier else None
            segments.add(snapshot, begin, end, more=last - stop if end == stop else 0)
        segments.wait()

    tape = segments.tape
    streams = (
        *(stream[: segments.accesses] for stream in (tape.old, tape.time)),
        *(stream[:last] for stream in (tape.instruction, tape.at, tape.values, tape.times)),
    )
    time, times = streams[1], streams[5][first:]
    marked = np.flatnonzero(time.view(np.int64) < 0)
    words, registers = segments.last.words[: segments.words], segments.last.registers
    places = np.flatnonzero(words.view(np.int64) > 0).astype(np.uint32)
    found = Accesses(
        (time[marked] & ~MARK).astype(np.uint32),
        places,
        words[places],
        np.where(registers < MARK, registers, np.uint64(0)),
    )
    return Window(streams, marked, np.count_nonzero(times.view(np.int64) < 0, axis=0), first, found)
