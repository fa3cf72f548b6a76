"""Files that a process keeps for the next: each behind a digest of itself, as what it holds is used as it is."""

import hashlib
import logging
from pathlib import Path

from graphprover.runtime.files import write

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr
_DIGEST_BYTES = 32


def save(path: Path, data: bytes) -> None:
    """Write a file that `load` reads; raises FileError."""
    write(path, hashlib.sha256(data).digest() + data, synced=False)


def load(path: Path) -> bytes | None:
    """What was kept in a file; None if it is not there, or is damaged: then it is removed, and a line says so."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data[_DIGEST_BYTES:]).digest() == data[:_DIGEST_BYTES]:
        return data[_DIGEST_BYTES:]
    try:
        path.unlink()
        done = "removed"
    except OSError as error:
        done = f"passed over ({error.strerror})"
    _log.warning("graphprover: %s: damaged, %s and made again", path, done)
    return None
