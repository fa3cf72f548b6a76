"""The ledger of a device: a folder with a file for each process, with its grants and waiting proofs."""

import itertools
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from functools import cache
from pathlib import Path
from typing import IO

from graphprover.admission.lock import Lock
from graphprover.admission.policy import PLACES, Entry, Need, grantable, has_turn, in_the_way
from graphprover.device import Device, DeviceLost
from graphprover.runtime.deadline import check_deadline
from graphprover.runtime.files import ANOTHER_FOLDER, FileError, private_folder

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

PATIENCE = 5.0  # seconds to wait for memory that only a pool holds, and until the first log line about a wait
TOLD_AGAIN = 60.0  # seconds between two log lines about a wait
STOPPED = 5.0  # seconds without a sign of life after which a process counts as stopped; the longest wait for a turn
POLL = (
    0.002  # seconds between two polls of a waiting process, times the number of processes: the total load is constant
)
LOOK = 0.1  # seconds between two polls for the own entry, and for processes that wait for cached memory

_log = logging.getLogger(__name__)  # without a configured handler, warnings go to stderr


@dataclass(eq=False)
class Kept:
    """Memory that is cached between two tasks of a proof."""

    bytes: int
    drop: Callable[[], object]
    ended: bool = False  # set by its owner in any thread; the ledger releases it soon after
    need: Need | None = None  # in the ledger
    wanted: Need | None = None  # of the proof that waits to use it


class Ledger:
    """The grants of all of this user's processes on one device; this process writes its own entry."""

    def __init__(self, device: Device) -> None:
        """Create the own entry; raises OSError or FileError if the folder is not writable."""
        self._device = device
        self._numbers = itertools.count()
        self._keeping: list[Kept] = []
        self._watching = threading.Lock()  # protects `_keeping` and its thread
        self._lock = Lock(lambda: _folder(device))
        self._settled = 0.0  # monotonic clock: other processes may not have restored their entries before
        self.own = Entry(f"{os.getpid()}-{secrets.token_hex(4)}")
        with self._lock.taken() as folder:  # locks the file before others can see it
            self._path = folder / f"{self.own.process}.json"
            self._file = self._made()
            self._write()

    def _made(self) -> int:
        """Create the locked file of the own entry; needs the lock."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        return file

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the ledger's lock with the own entry in place; without a folder, only warn."""
        with ExitStack() as stack:
            try:
                self._restore(stack.enter_context(self._lock.taken()))
            except (OSError, FileError) as error:
                _unshared(_reason(error, self._path.parent))
            yield

    def _restore(self, folder: Path) -> None:
        """Write the own entry again after its file was removed or the folder replaced; needs the lock."""
        path = folder / self._path.name
        if path == self._path and self._in_place():
            return
        self._path = path
        file = self._made()
        os.dup2(file, self._file, inheritable=False)  # other threads use that descriptor
        os.close(file)
        self._settled = time.monotonic() + 3 * LOOK
        self._write()

    def _in_place(self) -> bool:
        """Return whether the own file still has its name: systems remove temporary files that were unused for days."""
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._file))
        except OSError:  # the file or its folder is gone
            return False

    def watch(self) -> None:
        """Restore the own entry whenever its file was removed; runs for the life of the process."""
        while True:
            time.sleep(LOOK)
            if not self._in_place():
                with self.locked():
                    pass

    @contextmanager
    def granted(self, needed: int, budget: int, instead: Kept | None = None) -> Iterator[None]:
        """Wait until ``needed`` bytes fit in the budget; hold them during the block, ``instead`` of cached memory."""
        need = Need(-needed, time.monotonic(), next(self._numbers), self.own.process, budget)
        try:
            if instead:
                instead.wanted = need
            with self.locked():
                self.own.waits.append(need)
                granted = self._grant(need, instead, patient=True)
                if not granted:
                    self._write()
            if not granted:
                self._wait(need, instead)
            self._wait_for_turn(need)
            yield
        finally:
            kept = self._reserved()
            with self.locked():
                self.own.kept = kept
                for place in (getattr(self.own, name) for name in PLACES):
                    if need in place:
                        place.remove(need)
                self._write()

    def _wait(self, need: Need, instead: Kept | None) -> None:
        """Wait until the ledger grants the need."""
        tell_after = PATIENCE
        while True:
            check_deadline()
            waited = time.monotonic() - need.since
            patient = waited < PATIENCE
            entries = self.entries()
            # Checked without the lock first, so that a stopped process hardly ever holds it.
            if self._is_grantable(need, instead, entries, patient):
                with self.locked():
                    if self._grant(need, instead, patient):
                        return
            elif waited > tell_after:
                tell_after += TOLD_AGAIN
                _log.warning("graphprover: %s", self._told(need, entries))
            os.utime(self._file)  # a sign of life
            time.sleep(POLL * max(len(entries), 1))

    def _grant(self, need: Need, instead: Kept | None, patient: bool) -> bool:
        """Grant a waiting need if it fits, with a turn if there is one; return whether it does. Needs the lock."""
        entries = self.entries(bury=True)
        if not self._is_grantable(need, instead, entries, patient):
            return False
        self._forget_kept([instead] if instead else [])
        self.own.waits.remove(need)
        self.own.held.append(need)
        if self._has_turn(entries):
            self.own.turns.append(need)
        self._write()
        return True

    def _is_grantable(self, need: Need, instead: Kept | None, entries: list[Entry], patient: bool) -> bool:
        return self._is_settled() and grantable(need, self._without(instead), entries, patient)

    def _is_settled(self) -> bool:
        """Return whether the entries of all processes are restored."""
        return time.monotonic() >= self._settled

    def _wait_for_turn(self, need: Need) -> None:
        """Wait for a turn, at most `STOPPED` seconds, unless it came with the memory."""
        last = time.monotonic() + STOPPED

        def free() -> bool:
            return self._has_turn(self.entries()) or time.monotonic() > last

        while need not in self.own.turns:
            check_deadline()
            if free():
                with self.locked():
                    if free():
                        self.own.turns.append(need)
                        self._write()
            else:
                os.utime(self._file)  # a sign of life
                time.sleep(POLL)

    def _has_turn(self, entries: Iterable[Entry]) -> bool:
        """Return whether this process has a turn; always true on a CPU."""
        return not self._device.memory.keeps or has_turn(self.own, entries)

    def _without(self, kept: Kept | None) -> Entry:
        """Return the own entry without the grant of cached memory."""
        if kept is None or kept.need not in self.own.held:
            return self.own
        return replace(self.own, held=[need for need in self.own.held if need != kept.need])

    def keep(self, kept: Kept, budget: int) -> None:
        """Hold cached memory until its owner ends it or a waiting proof needs it."""
        with self._watching, self.locked():
            kept.need = Need(-kept.bytes, time.monotonic(), next(self._numbers), self.own.process)
            self.own.held.append(kept.need)
            self.own.idle += kept.bytes
            self._write()
            self._keeping.append(kept)
            if len(self._keeping) == 1:
                threading.Thread(target=self._look_after, args=(budget,), name="kept", daemon=True).start()

    def _look_after(self, budget: int) -> None:
        """Drop cached memory that blocks a waiting proof, and release ended memory; returns when none is left."""
        while True:
            time.sleep(LOOK)
            with self._watching:
                kept = [kept for kept in self._keeping if not kept.ended]
                if kept and in_the_way(entries := self.entries(), budget):
                    first = min(need for entry in entries if not entry.stopped for need in entry.waits)
                    for one in [one for one in kept if one.wanted != first][:1]:
                        one.drop()
                        one.ended = True
                ended = [kept for kept in self._keeping if kept.ended]
                if ended:
                    with self.locked():
                        self._forget_kept(ended)
                        self._write()
                self._keeping = [kept for kept in self._keeping if not kept.ended]
                if not self._keeping:
                    return

    def _forget_kept(self, ended: Iterable[Kept]) -> None:
        """Release cached memory that was dropped or is now part of a proof; needs the lock."""
        for kept in ended:
            if kept.need in self.own.held:
                self.own.held.remove(kept.need)
                self.own.idle -= kept.bytes
            kept.ended = True

    def _told(self, need: Need, entries: list[Entry]) -> str:
        """Return a log line about a wait."""
        holders = [f"process {entry.process.split('-')[0]} {entry.taken():,}" for entry in entries if entry.taken()]
        before = sum(other < need for entry in entries for other in entry.waits)
        return (
            f"waiting for {need.bytes:,} of {need.budget:,} bytes of memory ({self._device.memory.identity}); "
            f"held by {', '.join(holders) or 'none'}; proofs that are before this one: {before}"
        )

    def entries(self, bury: bool = False) -> list[Entry]:
        """Return the entries of all live processes; ``bury`` removes the files of dead ones, which needs the lock."""
        found = []
        for path in self._path.parent.glob("*.json"):
            with suppress(OSError, ValueError), path.open("rb", buffering=0) as file:  # removed, or half written
                if _is_locked(file):
                    status = os.fstat(file.fileno())
                    entry = json.loads(file.read(status.st_size))
                    stopped = time.time() - status.st_mtime > STOPPED
                    held, waits, turns = ([Need(*need) for need in entry.get(place, ())] for place in PLACES)
                    found.append(Entry(path.stem, entry["kept"], held, waits, turns, stopped, entry.get("idle", 0)))
                elif bury:
                    path.unlink()
        return found

    def _write(self) -> None:
        """Write the own entry; needs the lock."""
        needs = {place: [astuple(need) for need in getattr(self.own, place)] for place in PLACES}
        own = {"kept": self.own.kept, "idle": self.own.idle, **needs}
        text = json.dumps(own, allow_nan=False).encode()
        os.pwrite(self._file, text, 0)
        os.ftruncate(self._file, len(text))

    def _reserved(self) -> int:
        """Return the bytes in the pool; 0 for a failed GPU, whose process must end."""
        if self._device.memory.keeps:
            with suppress(DeviceLost), self._device.task():
                return self._device.memory.reserved()
        return 0

    def give_back(self) -> None:
        """Trim the pool to the granted bytes whenever a process waits; runs for the life of the process.

        New waits are ignored for a moment, because a trimmed pool has to grow again. Holds neither lock nor grant while
        it trims, so it cannot deadlock.
        """
        with suppress(DeviceLost):
            while True:
                time.sleep(LOOK)
                spare, before = self.own.kept > self.own.taken(kept=False), time.monotonic() - LOOK
                others = (entry for entry in self.entries() if entry.process != self.own.process)
                if spare and any(need.since < before for entry in others for need in entry.waits):
                    with self._device.task():
                        self._device.memory.trim(self.own.taken(kept=False))
                        kept = self._device.memory.reserved()
                    with self.locked():
                        self.own.kept = kept
                        self._write()

    def forget(self) -> None:
        """Forget the ledger in a forked child: the parent owns the file and its lock."""
        os.close(self._file)


def _is_locked(file: IO[bytes]) -> bool:
    """Return whether the process of an entry's file is alive."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


def _folder(device: Device) -> Path:
    """Return the folder of a device's ledger, created if necessary; raises OSError or FileError."""
    folder = private_folder() / f"memory-{device.memory.identity}"
    if not folder.is_dir():
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


_ledgers: dict[str, Ledger] = {}
_opening = threading.Lock()


def ledger_of(device: Device) -> Ledger | None:
    """Return this process's ledger of a device; None, with a warning, if no file can be written."""
    if fcntl is None:
        _unshared("this system cannot lock files as that needs")
        return None
    with _opening:
        name = device.memory.identity
        if name not in _ledgers:
            folder = None
            try:
                folder = _folder(device)
                _ledgers[name] = Ledger(device)
            except (OSError, FileError) as error:
                _unshared(_reason(error, folder))
                return None
            threading.Thread(target=_ledgers[name].watch, name="ledger", daemon=True).start()
            if device.memory.keeps:
                threading.Thread(target=_ledgers[name].give_back, name="give-back", daemon=True).start()
        return _ledgers[name]


def _reason(error: OSError | FileError, folder: Path | None) -> str:
    """Return a message: the unusable folder, the reason and the remedy."""
    if isinstance(error, FileError):
        return str(error)
    return f"{error.filename or folder}: {error.strerror}; {ANOTHER_FOLDER}"


@cache
def _unshared(reason: str) -> None:
    _log.warning("graphprover: proofs are not admitted by memory, since no ledger can be kept: %s", reason)


def _forked() -> None:
    global _opening
    for ledger in _ledgers.values():
        ledger.forget()
    _ledgers.clear()
    _opening = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
