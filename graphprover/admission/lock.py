"""A lock for the threads of several processes, which a process that has stopped does not keep from the others."""

import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphprover.runtime.files import locked

PATIENCE = 5.0  # seconds that others wait for the process that has the lock, which needs it for less than a millisecond
POLL = 0.0002  # seconds between two tries to take it
NEW = 0.05  # seconds that the first holder of a folder waits: another process may have the lock of a folder removed
_WHO = 32  # bytes that say who has it, and since when
_HOLDER, _NEXT = "holder", "next-"

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr


class Lock:
    """A folder that is locked itself, or that of the highest number in it.

    Programs that clean up remove files by their age, and a file that is removed and made anew can be locked twice. So
    no file is locked. A folder is not removed before all that is in it, and by systemd not while it is locked. If one
    is removed, the first process to lock the new one waits until a holder of the old lock has ended. A socket without
    a file could not be removed, but containers that share a folder share no such sockets, and any user may take its
    name.

    A process that stops while it has the lock would have it for as long as it lives. So a process that finds it in the
    same hands for too long makes the next folder. The one that stopped goes on without the lock, once.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        """``folder`` gives the folder, and makes it if it is not there; it raises OSError or FileError."""
        self._folder = folder

    @contextmanager
    def taken(self) -> Iterator[Path]:
        """Keep all other threads and processes out; gives the folder. Raises as that does."""
        import fcntl  # which only POSIX has

        file, folder = self._take()
        try:
            yield folder
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # also for a child that was forked meanwhile
            os.close(file)

    def _take(self) -> tuple[int, Path]:
        while True:
            folder = self._folder()
            with suppress(FileNotFoundError):  # it has been removed since
                if (file := _taken(folder)) is not None:
                    return file, folder


def _taken(folder: Path) -> int | None:
    """The open folder that is locked; None if it is the lock no more."""
    number = _highest(folder)
    path = folder / f"{_NEXT}{number}" if number else folder
    file = os.open(path, os.O_RDONLY | os.O_DIRECTORY)  # a thread's own: it keeps others out
    try:
        if stopped := _wait(file):
            (folder / f"{_NEXT}{number + 1}").mkdir(mode=0o700, exist_ok=True)
            line = "graphprover: a process, probably %s, has stopped with the ledger's lock: others go on"
            _log.warning(line, stopped)
        elif os.path.samestat(os.fstat(file), path.stat()) and _highest(folder) == number:
            _sign(file)
            taken, file = file, -1
            return taken
        return None
    finally:
        if file >= 0:
            os.close(file)


def _highest(folder: Path) -> int:
    """The number of the folder that is the lock; 0 for ``folder`` itself."""
    numbers = [name.removeprefix(_NEXT) for name in os.listdir(folder) if name.startswith(_NEXT)]
    return max(map(int, numbers), default=0)


def _wait(file: int) -> str:
    """Until this thread has locked it; the process that has it for too long, if one has."""
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
    """Write into a locked folder who has it, and since when; in a new one wait before."""
    with suppress(OSError):  # a disk that is full
        note = os.open(_HOLDER, os.O_RDWR | os.O_CREAT, 0o600, dir_fd=file)
        try:
            if not os.pread(note, 1, 0):
                time.sleep(NEW)
            os.pwrite(note, f"{os.getpid()} {secrets.token_hex(4)}".ljust(_WHO).encode(), 0)
        finally:
            os.close(note)


def _holder(file: int) -> bytes:
    """Who has a folder, or had it last; nothing if no process had it since it was made or cleaned up."""
    try:
        note = os.open(_HOLDER, os.O_RDONLY, dir_fd=file)
    except FileNotFoundError:
        return b""
    try:
        return os.pread(note, _WHO, 0)
    finally:
        os.close(note)
