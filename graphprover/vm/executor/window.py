"""Records a run in several processes: each one records a window, a part of the cycles, after the same plain run.

The first process runs the program without a record, which takes a quarter to a half of the time, and takes snapshots.
Another process goes on from a snapshot, and records its window. It does not know when values were last accessed before
the window. So its record has marks instead of these times, until the first process has the `Accesses` of all earlier
windows. The words of a run have the same places in the pool in all processes, because pages are allocated in the order
of the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.vm.executor.debug import Debug
from graphprover.vm.executor.execute import DEFAULT_CYCLES, Execution, Running, check_options, half_of_memory
from graphprover.vm.executor.faults import Fault
from graphprover.vm.executor.interpreter import ACCESSES, CYCLE, FREE, INSTRUCTION, PAGE_BYTES, PAGE_WORDS
from graphprover.vm.executor.native import translation_of
from graphprover.vm.executor.record import INTERVAL, LOG_INTERVAL, REGISTERS, Memory, Record, Registers
from graphprover.vm.program.elf import Image

MOST_SNAPSHOTS = 32  # of a run: then every second one is dropped, so they stay spread over the run
MOST_SNAPSHOT_BYTES = 256 << 20  # of all snapshots of a run
_MARK = np.uint64(1 << 63)  # of a place in the pool or a register, in place of a time


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The state before a cycle, with which a run can go on in another process."""

    cycle: int
    instruction: int
    registers: np.ndarray  # uint64 (34,)
    owners: np.ndarray  # uint32 (pages,), the page of 2^20 of each page of the pool
    words: np.ndarray  # uint64 (pages PAGE_WORDS,), of the pool

    @property
    def nbytes(self) -> int:
        """Return the bytes of memory."""
        return self.words.nbytes + self.owners.nbytes


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


class LastAccesses:
    """The times of the last accesses of a run, window by window."""

    def __init__(self, words: int) -> None:
        """Begin before a run whose pool has this number of words in the end."""
        self.words = np.zeros(words, dtype=np.uint64)
        self.registers = np.zeros(REGISTERS, dtype=np.uint64)

    def pass_window(self, accesses: Accesses) -> Before:
        """Return the times before the next window, and go on behind it."""
        before = Before(self.words[accesses.asked], self.registers.copy())
        self.words[accesses.places] = accesses.times
        np.copyto(self.registers, accesses.registers, where=accesses.registers > 0)
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

    def snapshot_before(self, cycle: int) -> Snapshot | None:
        """Return the last snapshot for a window that begins with a cycle; None if there is none."""
        fit = [one for one in self.snapshots if one.cycle <= cycle >> LOG_INTERVAL << LOG_INTERVAL]
        return fit[-1] if fit else None

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
        snapshots.append(_snapshot(run))
        if len(snapshots) > MOST_SNAPSHOTS or sum(one.nbytes for one in snapshots) > MOST_SNAPSHOT_BYTES:
            del snapshots[::2]
            spacing = max(2 * spacing, cycle // MOST_SNAPSHOTS)
        due = cycle + spacing

    run.run(pause=pause)
    return Rehearsal(run, run.execution(None), snapshots)


def worth_sending(size: int, cycles: int) -> bool:
    """Return whether a snapshot of this size arrives sooner than a process runs the cycles before it.

    A process runs 250 to 1,400 M cycles a second without a record, and a network sends 100 to 1,000 MB a second.
    """
    return size < cycles


def _snapshot(run: Running) -> Snapshot:
    position, end = run.state.position, run.pages + 1
    return Snapshot(
        int(position[CYCLE]),
        int(position[INSTRUCTION]),
        run.state.registers.copy(),
        run.store.owners[1:end].copy(),
        run.store.pool[PAGE_WORDS : PAGE_WORDS * end].copy(),
    )


def _restore(run: Running, snapshot: Snapshot) -> None:
    """Go on from a snapshot in a run that has not begun; its first pages are the ones of program and input."""
    position, store, pages = run.state.position, run.store, len(snapshot.owners)
    if PAGE_WORDS * (pages + 1) > len(store.pool):
        raise run.guest_fault(Fault.MEMORY_LIMIT)
    added = np.arange(run.pages, pages)
    position[CYCLE], position[INSTRUCTION], position[FREE] = snapshot.cycle, snapshot.instruction, pages + 1
    run.state.registers[:] = snapshot.registers
    store.owners[1 : pages + 1] = snapshot.owners
    store.pool[PAGE_WORDS : PAGE_WORDS * (pages + 1)] = snapshot.words
    store.pages[snapshot.owners[added]] = PAGE_WORDS * (added + 1)


def record_window(
    image: Image,
    data: bytes,
    cycles: range,
    total: int,
    snapshot: Snapshot | None = None,
    *,
    max_cycles: int = DEFAULT_CYCLES,
    max_memory: int | None = None,
    random_seed: int | None = None,
) -> Window:
    """Run a program without a record up to a window, then record the window.

    Args:
        image: The program.
        data: The input.
        cycles: The window. The record begins and ends with whole intervals of snapshots, or with the run.
        total: The cycles of the whole run.
        snapshot: The state to go on from, of a cycle before the record's first; by default the start.
        max_cycles: As in `execute`.
        max_memory: As in `execute`, for the record of the window alone; by default half of the computer's memory.
        random_seed: As in `execute`.

    Raises:
        ValueError: Also for a window behind the run's end.
        Exception: every exception of `execute`.
    """
    check_options(data, max_cycles, random_seed)
    most = half_of_memory() if max_memory is None else max_memory
    run = Running(image, data, max_cycles, most, record=True, random_seed=random_seed)
    first, last = cycles.start >> LOG_INTERVAL, -(-cycles.stop // INTERVAL)
    if snapshot:
        _restore(run, snapshot)
    recording, run.translation = run.translation, translation_of(image, record=False)
    run.run(until=INTERVAL * first)
    run.translation = recording
    if run.state.position[CYCLE] < INTERVAL * first:
        raise ValueError(f"a run of {run.state.position[CYCLE]:,} cycles has no window from cycle {cycles.start:,} on")

    tape, end = run.tape(), PAGE_WORDS * (run.pages + 1)
    tape.pool[:end] = np.arange(end, dtype=np.uint64) | _MARK
    tape.registers[:] = np.arange(len(tape.registers), dtype=np.uint64) | _MARK
    # The next window's record begins with the interval in which this window ends.
    run.run(tape, until=INTERVAL * (last if cycles.stop == total else cycles.stop >> LOG_INTERVAL))
    pool, of_registers = tape.pool[: PAGE_WORDS * (run.pages + 1)], tape.registers[:REGISTERS]
    places = np.flatnonzero(pool.view(np.int64) > 0).astype(np.uint32)
    last_times = pool[places], np.where(of_registers < _MARK, of_registers, np.uint64(0))
    if cycles.stop < total:
        run.run(tape, until=INTERVAL * last)

    accesses = int(run.state.position[ACCESSES])
    streams = (
        *(stream[:accesses] for stream in (tape.old, tape.time)),
        *(stream[:last] for stream in (tape.instruction, tape.at, tape.values, tape.times)),
    )
    time, times = streams[1], streams[5][first:]
    marked = np.flatnonzero(time.view(np.int64) < 0)
    found = Accesses((time[marked] & ~_MARK).astype(np.uint32), places, *last_times)
    return Window(streams, marked, np.count_nonzero(times.view(np.int64) < 0, axis=0), first, found)
