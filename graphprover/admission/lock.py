"""A lock for the threads of several processes, which a process that has stopped does not keep from the others."""

import logging
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphprover.files import locked

PATIENCE = 5.0  # seconds that others wait for whoever has the lock, who needs it for less than a millisecond
POLL = 0.0002  # seconds between two tries to take it
_WHO = 32  # bytes that say who has it, and since when

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr


class Lock:
    """Files of a folder, of which that with the highest number is the lock.

    A process that stops while it has locked the file would have it for as long as it lives. So whoever finds it in the
    same hands for too long makes the next one. A process that goes on does so without the lock, once.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """No other thread or process has it meanwhile."""
        import fcntl  # which only POSIX has

        file = self._take()
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # also for a child that was forked meanwhile
            os.close(file)

    def _take(self) -> int:
        while True:
            while self._file(self._number + 1).exists():
                self._number += 1
            number = self._number
            file = os.open(self._file(number), os.O_RDWR | os.O_CREAT, 0o600)  # a thread's own: it keeps others out
            if stopped := _wait(file):
                self._file(number + 1).touch(mode=0o600)
                line = "graphprover: a process, probably %s, has stopped with the ledger's lock: others go on"
                _log.warning(line, stopped)
            elif not self._file(number + 1).exists():
                with suppress(OSError):  # a disk that is full
                    os.pwrite(file, f"{os.getpid()} {secrets.token_hex(4)}".ljust(_WHO).encode(), 0)
                return file
            os.close(file)

    def _file(self, number: int) -> Path:
        return self._folder / f"lock-{number}"


def _wait(file: int) -> str:
    """Until this thread has locked it; the process that has it for too long, if one has."""
    who, since = b"", time.monotonic()
    while True:
        if locked(file):
            return ""
        now = time.monotonic()
        if (found := os.pread(file, _WHO, 0)) != who:
            who, since = found, now
        if now - since > PATIENCE:
            return who.decode().split(" ")[0] or "a new one"
        time.sleep(POLL)
