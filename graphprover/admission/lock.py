"""A lock for threads of several processes that a stopped process cannot keep from the others."""

import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphprover.runtime.files import locked

PATIENCE = 5.0  # seconds until a holder counts as stopped; a lock is held for less than a millisecond
POLL = 0.0002  # seconds between two attempts
NEW = 0.05  # seconds that the first holder of a new folder waits: an older folder's lock may still be held
_WHO = 32  # bytes that identify the holder and the time
_HOLDER, _NEXT = "holder", "next-"

_log = logging.getLogger(__name__)  # without a configured handler, warnings go to stderr


class Lock:
    """A lock on a folder, or on the highest-numbered folder in it.

    Cleaning programs remove files by age, and a file that is removed and created again can be locked twice, so folders
    are locked instead. A folder cannot be removed before its contents, and systemd does not remove it while it is
    locked. If one is removed, the first process that locks the new one waits until a holder of the old lock has ended.
    Abstract sockets cannot be removed either, but containers that share a folder do not share them, and any user can
    take their names.

    A process that stops with the lock would hold it for its lifetime. So a process that waits too long for one holder
    creates the next folder. The stopped process continues once without the lock.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        """Set the function that returns the folder, created if necessary; it raises OSError or FileError."""
        self._folder = folder

    @contextmanager
    def taken(self) -> Iterator[Path]:
        """Hold the lock and return the folder; raises the errors of the folder's function."""
        import fcntl  # POSIX only

        file, folder = self._take()
        try:
            yield folder
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # also unlocks for a forked child
            os.close(file)

    def _take(self) -> tuple[int, Path]:
        while True:
            folder = self._folder()
            with suppress(FileNotFoundError):  # it was removed
                if (file := _taken(folder)) is not None:
                    return file, folder


def _taken(folder: Path) -> int | None:
    """Return the open and locked folder; None if it is no longer the lock."""
    number = _highest(folder)
    path, later = folder / f"{_NEXT}{number}" if number else folder, folder / f"{_NEXT}{number + 1}"
    file = os.open(path, os.O_RDONLY | os.O_DIRECTORY)  # one for each thread, so that threads exclude each other
    try:
        if stopped := _wait(file):
            later.mkdir(mode=0o700, exist_ok=True)
            line = "graphprover: a process, probably %s, has stopped with the ledger's lock: others go on"
            _log.warning(line, stopped)
        elif os.path.samestat(os.fstat(file), path.stat()) and not later.exists():
            _sign(file)
            taken, file = file, -1
            return taken
        return None
    finally:
        if file >= 0:
            os.close(file)


def _highest(folder: Path) -> int:
    """Return the number of the folder that is the lock; 0 for ``folder`` itself."""
    numbers = [name.removeprefix(_NEXT) for name in os.listdir(folder) if name.startswith(_NEXT)]
    return max(map(int, numbers), default=0)


def _wait(file: int) -> str:
    """Wait until this thread has locked it; return the process that held it for too long, if any."""
    who, since = b"", time.monotonic()
    while True:
        if locked(file):
            return ""
        now = time.monotonic()
        if (found := _holder(file)) != who:
            who, since = found, now
        if now - since > PATIENCE:
            return who.decode().split(" ")[0] or "a new one"
        time.sleep(POLL)


def _sign(file: int) -> None:
    """Write the holder and the time into a locked folder; in a new folder wait first."""
    with suppress(OSError):  # the disk is full
        note = os.open(_HOLDER, os.O_RDWR | os.O_CREAT, 0o600, dir_fd=file)
        try:
            if not os.pread(note, 1, 0):
                time.sleep(NEW)
            os.pwrite(note, f"{os.getpid()} {secrets.token_hex(4)}".ljust(_WHO).encode(), 0)
        finally:
            os.close(note)


def _holder(file: int) -> bytes:
    """Return the current or last holder of a folder; empty if there was none."""
    try:
        note = os.open(_HOLDER, os.O_RDONLY, dir_fd=file)
    except FileNotFoundError:
        return b""
    try:
        return os.pread(note, _WHO, 0)
    finally:
        os.close(note)
