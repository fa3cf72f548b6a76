"""Cache files shared between processes, each with a SHA-256 checksum because the contents are trusted."""

import hashlib
from pathlib import Path

from graphprover.runtime.files import write

_DIGEST_BYTES = 32


def save(path: Path, data: bytes) -> None:
    """Write a file for `load`; raises FileError."""
    write(path, hashlib.sha256(data).digest() + data, synced=False)


def load(path: Path) -> bytes | None:
    """Return the contents of a file; None if it is missing or damaged. A damaged file is removed with a warning."""
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
    import logging  # here, because few processes find a damaged file

    # Without a configured handler, warnings go to stderr.
    logging.getLogger(__name__).warning("graphprover: %s: damaged, %s and made again", path, done)
    return None
