"""Proof files: reads are bounded, writes are atomic. ``-`` is standard input or output."""

import errno
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO

MAX_PROOF_BYTES = 256 << 20  # a hundred times a usual proof
SHARDS_MAGIC = b"graphprover pieces\x02"  # the first bytes of a sharded proof
COMPRESSED_MAGIC = b"graphprover compressed\x02"  # the first bytes of a compressed proof
MAX_SHARDS_BYTES = 8 << 30  # of a sharded proof: the most shards, each twice its usual size

SAME_WORK = 60.0  # seconds; the slowest GPU kernel compiles faster

# Advice for an unusable folder for locks and ledgers.
ANOTHER_FOLDER = "mend or remove it, or set XDG_RUNTIME_DIR to a local folder of your own that has mode 700"

STREAM = Path("-")  # standard input where a file is read, standard output where one is written

_MARGIN = 1.05  # expected proof sizes are accurate to a few percent

_unfinished: set[Path] = set()  # temporary files and folders


class FileError(Exception):
    """A file that cannot be read or written; the message names it and the reason."""


def read_input(path: Path) -> bytes:
    """Return the contents of a file; raises FileError."""
    try:
        return sys.stdin.buffer.read() if path == STREAM else path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error


def read_proof(path: Path) -> bytes:
    """Return the contents of a proof file; raises FileError.

    Reads at most MAX_PROOF_BYTES, or MAX_SHARDS_BYTES of a sharded proof, whatever size the file has.
    """
    try:
        with nullcontext(sys.stdin.buffer) if path == STREAM else path.open("rb") as file:
            data, most = file.read(MAX_PROOF_BYTES + 1), MAX_PROOF_BYTES
            if len(data) > most and data.startswith(SHARDS_MAGIC):
                most = MAX_SHARDS_BYTES
                data += file.read(most + 1 - len(data))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    if len(data) > most:
        raise FileError(f"{path}: more than {most >> 20} MiB, which no proof needs")
    return data


def check_writable(path: Path) -> None:
    """Raise FileError if `write` would fail, before there is anything to write."""
    if path == STREAM:
        return
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise FileError(f"{path}: exists and is not a regular file")
    except (FileNotFoundError, NotADirectoryError):
        pass  # its folder decides
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    try:
        with tempfile.TemporaryFile(dir=resolved(path).parent):
            pass
    except OSError as error:
        raise FileError(f"{path}: cannot write to its folder: {error.strerror}") from error


def check_room(path: Path, size: int) -> None:
    """Raise FileError unless the file system of ``path`` has room for about ``size`` bytes, with a margin.

    An existing file does not count as free space: it is replaced only after the new one is complete.
    """
    if path == STREAM:
        return
    needed, folder = round(size * _MARGIN), _folder_of(path)
    try:
        found = shutil.disk_usage(folder)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    if found.total and found.free < needed:  # some file systems report 0 of 0
        raise FileError(
            f"{path}: needs about {needed / 1e6:,.2f} MB, and {found.free / 1e6:,.2f} MB are free in {folder}: free "
            "space there or choose another output"
        )


def make_folder(path: Path) -> None:
    """Make a folder unless it exists; raises FileError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_written(path, error) from error


def write(path: Path, data: bytes, *, synced: bool = True) -> None:
    """Replace ``path`` by ``data`` atomically: after an interruption the old file or the new one is there, complete.

    Args:
        path: The file; ``-`` is standard output.
        data: The contents.
        synced: Whether to wait for the disk, a few milliseconds. Otherwise a crash of the host may damage the file.

    Raises:
        FileError: The file cannot be written.
        BrokenPipeError: The reader of standard output has closed it.
    """
    if path == STREAM:
        _write_stdout(data)
        return
    target = resolved(path)  # the file that a link names is replaced, not the link
    temporary = target.with_name(_temporary_name())
    try:
        with _removed_unless_whole(temporary):
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                if synced:
                    os.fsync(file.fileno())
            temporary.replace(target)
    except OSError as error:
        raise _not_written(path, error) from error


def _write_stdout(data: bytes) -> None:
    """Write bytes to standard output; raises FileError, and BrokenPipeError if its reader has closed it."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_stdout()
        raise FileError(f"standard output: {error.strerror}") from error


def drop_stdout() -> None:
    """Redirect standard output to /dev/null, or the interpreter would flush it again at exit and print a traceback."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def resolved(path: Path) -> Path:
    """Return the path without links. A loop of links stays as it is, and opening it fails by name."""
    return Path(os.path.realpath(path))


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make a folder with these files, or none of them after an error or a signal.

    An existing folder is not replaced: a shell may be in it, or it may be a mount point.

    Args:
        folder: The folder; an existing one must be empty.
        files: The contents by name. A name may contain folders.

    Raises:
        FileError: The folder is not empty or cannot be written.
    """
    target = resolved(folder)
    try:
        if target.exists():
            if any(target.iterdir()):
                raise FileError(f"{folder}: holds something already: name a new folder")
            with _removed_unless_whole(*{target / Path(name).parts[0] for name in files}):
                _write_all(target, files)
            return
        make_folder(target.parent)
        temporary = target.with_name(_temporary_name())
        with _removed_unless_whole(temporary):
            _write_all(temporary, files)
            temporary.rename(target)
    except OSError as error:
        raise _not_written(folder, error) from error


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files to a folder; create it if necessary."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _temporary_name() -> str:
    return f".graphprover-{os.urandom(8).hex()}"


@contextmanager
def _removed_unless_whole(*paths: Path) -> Iterator[None]:
    """Remove new files and folders if the block is interrupted by an exception or a signal."""
    _unfinished.update(paths)
    try:
        yield
    except BaseException:
        for path in paths:
            _remove(path)
        raise
    finally:
        _unfinished.difference_update(paths)


def remove_unfinished() -> None:
    """Remove the unfinished output of `write` and `write_folder`, before a process exits at once."""
    for path in list(_unfinished):
        _remove(path)


def _remove(path: Path) -> None:
    """Remove a file, or a folder with its contents, if it exists."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _not_written(path: Path, error: OSError) -> FileError:
    """Return the error of a file or folder that could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return FileError(f"{path}: no space left in {_folder_of(path)}: free space there or write elsewhere")
    return FileError(f"{path}: {error.strerror}")


def _folder_of(path: Path) -> Path:
    """Return the absolute folder of a path, for its file system."""
    path = resolved(path)
    return path if path.is_dir() else path.parent


def private_folder() -> Path:
    """Return this user's private folder for files that need not survive a restart of the host.

    It is in XDG_RUNTIME_DIR if this user owns that, else in the folder for temporary files. Its contents are
    trusted, so folders that others own or can enter are refused. Raises FileError.
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
    """Return the reason that a folder is not private to this user; empty if it is private."""
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
    """Run the block while no other process of this user on this host does the same work; later ones find it done.

    Waits at most `SAME_WORK` seconds, because the other process may have stopped. Does not wait without a folder for
    locks.
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
    """Lock an open file, unless another open file description has the lock; return whether this one has it."""
    import fcntl  # POSIX only, and only needed by the prover

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
