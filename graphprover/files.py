"""Proof files: read with a bound, written whole or not at all. ``-`` is standard input or output."""

import hashlib
import os
import secrets
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO

MAX_PROOF_BYTES = 256 << 20  # a hundred times a usual proof
PIECES_MAGIC = b"graphprover pieces\x01"  # a proof in pieces begins with it
MAX_PIECES_BYTES = 8 << 30  # of one: as many pieces as there may be, of twice the usual bytes

SAME_WORK = 60.0  # seconds: a kernel of a GPU compiles in fewer

# What to do if the folder for locks and ledgers cannot be taken.
ANOTHER_FOLDER = "mend or remove it, or set XDG_RUNTIME_DIR to a local folder of your own that has mode 700"

STREAM = Path("-")  # standard input where a file is read, standard output where one is written

_unfinished: set[Path] = set()  # temporary files


class FileError(Exception):
    """A file that cannot be read or written; says which and why."""


def read_input(path: Path) -> bytes:
    """The contents of a file; raises FileError."""
    try:
        return sys.stdin.buffer.read() if path == STREAM else path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error


def read_proof(path: Path) -> bytes:
    """The contents of a proof file, whatever its size claims to be; raises FileError.

    At most MAX_PROOF_BYTES, of a proof in pieces MAX_PIECES_BYTES.
    """
    try:
        with nullcontext(sys.stdin.buffer) if path == STREAM else path.open("rb") as file:
            data, most = file.read(MAX_PROOF_BYTES + 1), MAX_PROOF_BYTES
            if len(data) > most and data.startswith(PIECES_MAGIC):
                most = MAX_PIECES_BYTES
                data += file.read(most + 1 - len(data))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    if len(data) > most:
        raise FileError(f"{path}: more than {most >> 20} MiB, which no proof needs")
    return data


def check_writable(path: Path) -> None:
    """Raise FileError where `write` would fail, before there is anything to write."""
    if path == STREAM:
        return
    if path.exists() and not path.is_file():
        raise FileError(f"{path}: exists and is not a regular file")
    try:
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
    except OSError as error:
        raise FileError(f"{path}: cannot write to its folder: {error.strerror}") from error


def make_folder(path: Path) -> None:
    """Make a folder where there is none; raises FileError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error


def write(path: Path, data: bytes, *, synced: bool = True) -> None:
    """Replace ``path`` by ``data`` at once: whatever interrupts it, the old file or the new one is there, whole.

    Unless it is ``synced``, which takes milliseconds, a host that fails may leave it damaged. Raises FileError;
    BrokenPipeError where nobody reads standard output any more.
    """
    if path == STREAM:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    target = path.resolve()  # the file that a link names is replaced, not the link
    temporary = target.with_name(f".graphprover-{secrets.token_hex(8)}")
    _unfinished.add(temporary)
    try:
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                if synced:
                    os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
            _unfinished.discard(temporary)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error


def remove_unfinished() -> None:
    """For a process that ends at once: remove what `write` has begun to write."""
    for temporary in list(_unfinished):
        temporary.unlink(missing_ok=True)


def private_folder() -> Path:
    """Return a folder of this user's own, for files that may be gone after the next start of the host.

    It is in XDG_RUNTIME_DIR if that is this user's own, else in the folder for temporary files. What is in it is
    trusted, so a folder that others can enter is not taken, nor one that they have made. Raises FileError.
    """
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or os.devnull)
    parent = Path(os.environ.get("TMPDIR") or "/tmp") if _foreign(runtime) else runtime
    folder = parent / f"graphprover-{os.geteuid()}"
    try:
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
        reason = _foreign(folder)
    except OSError as error:
        reason = str(error.strerror)
    if reason:
        raise FileError(f"{folder}: {reason}; {ANOTHER_FOLDER}")
    return folder


def _foreign(folder: Path) -> str:
    """Why a folder is not this user's own; nothing if it is."""
    try:
        found = folder.lstat()
    except OSError as error:
        return error.strerror or str(error)
    if not stat.S_ISDIR(found.st_mode):
        return "it is no folder"
    if found.st_uid != os.geteuid():
        return f"it belongs to user {found.st_uid}"
    return f"others can enter it (mode {found.st_mode & 0o777:o})" if found.st_mode & 0o077 else ""


@contextmanager
def alone(work: str) -> Iterator[None]:
    """While no other process of this user on this host does the same work; whoever waited finds it done.

    Without a folder for locks nobody waits, nor for longer than `SAME_WORK`: who does it may have stopped.
    """
    try:
        path = private_folder() / f"{hashlib.sha256(work.encode()).hexdigest()[:32]}.lock"
        lock = path.open("w")
    except (OSError, FileError):
        yield
        return
    with lock:
        end = time.monotonic() + SAME_WORK
        while not locked(lock) and time.monotonic() < end:
            time.sleep(0.005)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def locked(file: IO[str] | int) -> bool:
    """Lock an open file, unless it is locked by way of another that is open; whether this one has the lock."""
    import fcntl  # which only POSIX has, and only the prover needs

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
