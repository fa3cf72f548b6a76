"""Which proofs a device takes at once: as many as its memory holds, the heaviest first.

All processes of a user on a host share a ledger for each GPU, and one for the host's memory: a folder with a file for
each process, in which it says what its proofs hold, which of them wait, and what its pool keeps. A file is locked as
long as its process lives, so that one that is killed holds nothing any more.

Nothing waits for ever but for proofs that run. A thread has at most one grant, given as a whole, so proofs do not wait
for each other in a circle. What is kept between two parts of a proof has a grant of its own (`keep`), and is dropped as
soon as the next that waits could run without it. Memory that a pool keeps beyond its proofs is given back by a thread
of its process as soon as somebody waits, and is not waited for longer than `PATIENCE`. A process that is stopped while
it waits is passed.

Of the processes that share a GPU one in four does not prove (`has_turn`).
"""

import itertools
import json
import logging
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import astuple, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import IO

from graphprover.device import Device, DeviceLost
from graphprover.device.host_memory import resident
from graphprover.files import private_folder
from graphprover.settings import MEMORY_LIMIT, POOL, bytes_of

try:
    import fcntl
except ImportError:  # nothing of the kind on Windows
    fcntl = None  # type: ignore[assignment]

PATIENCE = 5.0  # seconds to wait for memory that no proof uses, and until a wait is told
TOLD_AGAIN = 60.0  # seconds between two lines about a wait
STOPPED = 5.0  # seconds without a sign of life after which nobody waits for a process; a turn is not waited for longer
POLL = 0.002  # seconds between two looks of a process that waits, for each process there is: all together cost the same
LOOK = 0.1  # seconds between two looks of a process whose pool keeps memory, whether somebody waits for it

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr
_process_limit: int | None = None
_inside = threading.local()


class TooLarge(MemoryError):
    """A proof that can never have the memory it needs here: the message says which task needs most, and what to do."""


@contextmanager
def admitted(device: Device, needed: int, where: str = "", instead: "Kept | None" = None) -> Iterator[None]:
    """Wait until ``needed`` bytes of a device's memory are free of other proofs, of this process or others; hold them.

    All of them together hold at most what `graphprover.pool` says of a GPU's memory, or `graphprover.memory-limit` of
    the host's, as this process has it set. The heaviest that waits is next, and lighter ones wait behind it where there
    is no room for both. A wait of some seconds is told in a line that says who holds what.

    ``where``: the task that needs most (`Plan.peak`); ``instead``: what is kept meanwhile and is part of it. Raises
    TooLarge at once where the proof could never be admitted; RuntimeError in a thread that is inside already.
    """
    if getattr(_inside, "admitted", False):
        raise RuntimeError("this thread has been admitted already: a proof inside of another could wait for ever")
    memory, setting = device.memory, _setting(device)
    budget = bytes_of(setting, memory.total)
    what = f"{where or 'the proof'} needs {needed:,} bytes"
    if needed > budget:
        owner = "this GPU" if memory.keeps else "this host"
        option = "pool" if memory.keeps else "memory-limit"
        raise TooLarge(
            f"{what}, and proofs may hold {budget:,} of the {memory.total:,} that {owner} has: take a device with more "
            f"memory, or allow more (--{option}, DASK_{setting.replace('.', '__').replace('-', '_').upper()})"
        )
    if not memory.keeps and _process_limit is not None and needed + resident() > _process_limit:
        raise TooLarge(
            f"{what}, and this process has {resident():,} of the {_process_limit:,} that it may have: give workers "
            "more memory (--memory-limit), or start fewer of them"
        )
    ledger = _ledger(device)
    _inside.admitted = True
    try:
        with ledger.granted(needed, budget, instead) if ledger else nullcontext():
            yield
    finally:
        _inside.admitted = False


def keep(device: Device, bytes_: int, drop: Callable[[], object]) -> "Kept":
    """Hold memory while nobody works with it; ``drop``, called by any thread, gives it up, where a proof waits for it.

    It waits for nothing: what is kept has been there before, within a grant.
    """
    ledger = _ledger(device)
    kept = Kept(bytes_, drop)
    if ledger:
        ledger.keep(kept, bytes_of(_setting(device), device.memory.total))
    return kept


def sharing(device: Device) -> int:
    """How many processes prove on a device, with this one."""
    ledger = _ledger(device)
    return max(1, len(ledger.entries())) if ledger else 1


def largest(device: Device) -> int:
    """Bytes that `admitted` refuses no proof: those of a device's memory that proofs may hold."""
    budget = bytes_of(_setting(device), device.memory.total)
    if device.memory.keeps or _process_limit is None:
        return budget
    return max(0, min(budget, _process_limit - resident()))


def _setting(device: Device) -> str:
    return POOL if device.memory.keeps else MEMORY_LIMIT


def limit_process(limit: int | None) -> None:
    """Bytes of the host's memory beyond which this process will be ended, such as by the nanny of a Dask worker."""
    global _process_limit
    _process_limit = limit


@dataclass(frozen=True, order=True)
class Need:
    """What a proof needs; of those that wait the smallest is next: the heaviest, then the first."""

    weight: int  # minus the bytes
    since: float  # of the host's monotonic clock
    number: int  # in its process
    process: str
    budget: int = sys.maxsize  # what its process lets all proofs hold together

    @property
    def bytes(self) -> int:
        return -self.weight


@dataclass
class Entry:
    """What a process says of itself."""

    process: str  # its number, and something that tells it from another of this number
    kept: int = 0  # bytes that its pool had of the device when it last looked
    held: list[Need] = field(default_factory=list)  # of its proofs that run
    waits: list[Need] = field(default_factory=list)  # of those that do not yet
    turns: list[Need] = field(default_factory=list)  # of those that hold memory and have their turn on a GPU
    stopped: bool = False  # it gives no sign of life
    idle: int = 0  # bytes, of those held, that nobody works with: they are dropped where that helps another

    def taken(self, more: int = 0, kept: bool = True) -> int:
        """Bytes that others cannot have, with ``more`` for another proof: those of its proofs lie in its pool."""
        return max(sum(need.bytes for need in self.held) + more, self.kept if kept else 0)


_PLACES = "held", "waits", "turns"  # where an entry has needs


def grantable(need: Need, own: Entry, entries: Iterable[Entry], patient: bool) -> bool:
    """Whether a proof that waits may run: with all that are before it, and all that is taken, it is within the budgets.

    So it waits for memory only, and not until the others have seen that there is some. ``entries`` are those of all
    processes, ``own`` among them. What is within its own pool takes nothing from others, so the next may have it beyond
    its budget. ``patient``: memory that a pool keeps beyond its proofs is waited for, too.
    """
    others = [entry for entry in entries if entry.process != own.process]
    going = [entry for entry in (own, *others) if not entry.stopped]
    before = {entry.process: [other for other in entry.waits if other < need] for entry in going}

    def taken(entry: Entry, more: int = 0) -> int:
        return entry.taken(sum(other.bytes for other in before.get(entry.process, ())) + more, patient)

    budget = min(each.budget for each in [need, *itertools.chain(*before.values())])
    if taken(own, need.bytes) + sum(map(taken, others)) <= budget:
        return True
    return not any(before.values()) and taken(own, need.bytes) == taken(own)


def has_turn(own: Entry, entries: Iterable[Entry]) -> bool:
    """Whether a process may prove on a GPU that it shares: of four three do at once, of eight six.

    A GPU gives each the same time. So equal proofs that begin together would end together, and the GPU had nothing to
    do while all guests run and all proofs are verified. Processes of which nothing was heard do not count, be they idle
    or within a long proof.
    """
    heard = [entry for entry in entries if not entry.stopped]
    proving = sum(bool(entry.turns) for entry in heard if entry.process != own.process)
    return bool(own.turns) or proving < max(1, len(heard) - len(heard) // 4)


@dataclass(eq=False)
class Kept:
    """Memory that is kept between two parts of a proof."""

    bytes: int
    drop: Callable[[], object]
    ended: bool = False  # set by whoever is done with it, in any thread; soon it is not held any more
    need: Need | None = None  # in the ledger
    wanted: Need | None = None  # of the proof that waits to go on with it


def in_the_way(entries: Iterable[Entry], budget: int) -> bool:
    """Whether the next proof that waits could run if what is idle were dropped, and not before."""
    entries = list(entries)
    waits = [need for entry in entries if not entry.stopped for need in entry.waits]
    held = sum(need.bytes for entry in entries for need in entry.held)
    idle = sum(entry.idle for entry in entries)
    return bool(waits) and budget - idle < held - idle + min(waits).bytes <= budget


class Ledger:
    """What the proofs on one device hold, as all processes of this user see it; this process writes its own entry."""

    def __init__(self, folder: Path, device: Device) -> None:
        """Raises OSError where the folder cannot be written to."""
        folder.mkdir(mode=0o700, exist_ok=True)
        self._folder, self._device = folder, device
        self._numbers = itertools.count()
        self._keeping: list[Kept] = []
        self._watching = threading.Lock()  # of `_keeping`, and of the thread that looks after it
        self.own = Entry(f"{os.getpid()}-{secrets.token_hex(4)}")
        with self._locked():  # before anyone sees the file, it is locked
            self._file = os.open(folder / f"{self.own.process}.json", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            self._write()

    @contextmanager
    def granted(self, needed: int, budget: int, instead: Kept | None = None) -> Iterator[None]:
        """Wait until ``needed`` bytes fit into the budget, and hold them, ``instead`` of what is kept."""
        need = Need(-needed, time.monotonic(), next(self._numbers), self.own.process, budget)
        try:
            if instead:
                instead.wanted = need
            with self._locked():
                self.own.waits.append(need)
                self._write()
            self._wait(need, instead)
            self._wait_for_turn(need)
            yield
        finally:
            kept = self._reserved()
            with self._locked():
                self.own.kept = kept
                for place in (getattr(self.own, name) for name in _PLACES):
                    if need in place:
                        place.remove(need)
                self._write()

    def _wait(self, need: Need, instead: Kept | None) -> None:
        """Until the ledger has granted it."""
        tell_after = PATIENCE
        while True:
            waited = time.monotonic() - need.since
            patient = waited < PATIENCE
            entries = self.entries()
            # Looked at without the lock first, so that a process which is stopped hardly ever has it.
            if grantable(need, self._without(instead), entries, patient):
                with self._locked():
                    entries = self.entries(bury=True)
                    if grantable(need, self._without(instead), entries, patient):
                        self._forget_kept([instead] if instead else [])
                        self.own.waits.remove(need)
                        self.own.held.append(need)
                        if self._has_turn(entries):
                            self.own.turns.append(need)
                        self._write()
                        return
            elif waited > tell_after:
                tell_after += TOLD_AGAIN
                _log.warning("graphprover: %s", self._told(need, entries))
            os.utime(self._file)  # a sign of life
            time.sleep(POLL * max(len(entries), 1))

    def _wait_for_turn(self, need: Need) -> None:
        """For `STOPPED` at most, unless it has come with the memory."""
        last = time.monotonic() + STOPPED

        def free() -> bool:
            return self._has_turn(self.entries()) or time.monotonic() > last

        while need not in self.own.turns:
            if free():
                with self._locked():
                    if free():
                        self.own.turns.append(need)
                        self._write()
            else:
                os.utime(self._file)  # a sign of life
                time.sleep(POLL)

    def _has_turn(self, entries: Iterable[Entry]) -> bool:
        """On a CPU always."""
        return not self._device.memory.keeps or has_turn(self.own, entries)

    def _without(self, kept: Kept | None) -> Entry:
        """The own entry, as if that were not kept."""
        if kept is None or kept.need not in self.own.held:
            return self.own
        return replace(self.own, held=[need for need in self.own.held if need != kept.need])

    def keep(self, kept: Kept, budget: int) -> None:
        """Hold what is kept, until it has ended or is in another's way."""
        with self._watching, self._locked():
            kept.need = Need(-kept.bytes, time.monotonic(), next(self._numbers), self.own.process)
            self.own.held.append(kept.need)
            self.own.idle += kept.bytes
            self._write()
            self._keeping.append(kept)
            if len(self._keeping) == 1:
                threading.Thread(target=self._look_after, args=(budget,), name="kept", daemon=True).start()

    def _look_after(self, budget: int) -> None:
        """Drops what is in the way of others, and forgets what has ended; ends with the last that is kept."""
        while True:
            time.sleep(LOOK)
            with self._watching:
                kept = [kept for kept in self._keeping if not kept.ended]
                if kept and not self.gone() and in_the_way(entries := self.entries(), budget):
                    first = min(need for entry in entries if not entry.stopped for need in entry.waits)
                    for one in [one for one in kept if one.wanted != first][:1]:
                        one.drop()
                        one.ended = True
                ended = [kept for kept in self._keeping if kept.ended]
                if ended:
                    with self._locked():
                        self._forget_kept(ended)
                        self._write()
                self._keeping = [kept for kept in self._keeping if not kept.ended]
                if not self._keeping:
                    return

    def _forget_kept(self, ended: Iterable[Kept]) -> None:
        """Not held any more, or by a proof; needs the lock."""
        for kept in ended:
            if kept.need in self.own.held:
                self.own.held.remove(kept.need)
                self.own.idle -= kept.bytes
            kept.ended = True

    def _told(self, need: Need, entries: list[Entry]) -> str:
        """A line about a wait."""
        holders = [f"process {entry.process.split('-')[0]} {entry.taken():,}" for entry in entries if entry.taken()]
        before = sum(other < need for entry in entries for other in entry.waits)
        return (
            f"waiting for {need.bytes:,} of {need.budget:,} bytes of memory ({self._device.memory.identity}); "
            f"held by {', '.join(holders) or 'none'}; proofs that are before this one: {before}"
        )

    def entries(self, bury: bool = False) -> list[Entry]:
        """Those of all processes that live. ``bury``: remove the others' files, which needs the lock."""
        found = []
        for path in self._folder.glob("*.json"):
            with suppress(OSError, ValueError), path.open() as file:  # it is gone, or is being written
                if _is_locked(file):
                    stopped = time.time() - os.stat(file.fileno()).st_mtime > STOPPED
                    entry = json.load(file)
                    held, waits, turns = ([Need(*need) for need in entry.get(place, ())] for place in _PLACES)
                    found.append(Entry(path.stem, entry["kept"], held, waits, turns, stopped, entry.get("idle", 0)))
                elif bury:
                    path.unlink()
        return found

    def _write(self) -> None:
        """The own entry, which needs the lock."""
        needs = {place: [astuple(need) for need in getattr(self.own, place)] for place in _PLACES}
        own = {"kept": self.own.kept, "idle": self.own.idle, **needs}
        text = json.dumps(own).encode()
        os.pwrite(self._file, text, 0)
        os.ftruncate(self._file, len(text))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """No other thread or process changes anything."""
        lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)  # a thread's own: it keeps others out
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # also for a child that was forked meanwhile
            os.close(lock)

    def _reserved(self) -> int:
        """What the pool keeps; of a GPU that has failed, nothing that matters: its process must end."""
        if self._device.memory.keeps:
            with suppress(DeviceLost), self._device.task():
                return self._device.memory.reserved()
        return 0

    def give_back(self) -> None:
        """Trim the pool to what the own proofs were granted, whenever somebody waits; runs as long as the process.

        Who has only just asked does not wait: a pool that is trimmed has to grow again.
        Neither lock nor grant is held meanwhile, so this waits for nobody who waits for it.
        """
        with suppress(DeviceLost):
            while not self.gone():
                time.sleep(LOOK)
                spare, before = self.own.kept > self.own.taken(kept=False), time.monotonic() - LOOK
                others = (entry for entry in self.entries() if entry.process != self.own.process)
                if spare and any(need.since < before for entry in others for need in entry.waits):
                    with self._device.task():
                        self._device.memory.trim(self.own.taken(kept=False))
                        kept = self._device.memory.reserved()
                    with self._locked():
                        self.own.kept = kept
                        self._write()

    def gone(self) -> bool:
        """Whether somebody has removed the file, as systems do with temporary files that were not used for days."""
        return os.fstat(self._file).st_nlink == 0

    def forget(self) -> None:
        """In a child that was forked: the file is the parent's, and is locked for the parent alone."""
        os.close(self._file)


_ledgers: dict[str, Ledger] = {}
_opening = threading.Lock()


def _ledger(device: Device) -> Ledger | None:
    """This process's, of the memory of a device; None where no file can be kept, which a warning says."""
    if fcntl is None:
        _unshared("this system cannot lock files as that needs")
        return None
    with _opening:
        name = device.memory.identity
        if name in _ledgers and _ledgers[name].gone():
            del _ledgers[name]
            private_folder.cache_clear()
        if name not in _ledgers:
            try:
                _ledgers[name] = Ledger(private_folder() / f"memory-{name}", device)
            except OSError as error:
                _unshared(str(error))
                return None
            if device.memory.keeps:
                threading.Thread(target=_ledgers[name].give_back, name="give-back", daemon=True).start()
        return _ledgers[name]


@cache
def _unshared(reason: str) -> None:
    _log.warning("graphprover: proofs are not admitted by memory, since no ledger can be kept: %s", reason)


def _is_locked(file: IO[str]) -> bool:
    """Whether the process that has made it lives."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


def _forked() -> None:
    global _opening
    for ledger in _ledgers.values():
        ledger.forget()
    _ledgers.clear()
    _opening = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
