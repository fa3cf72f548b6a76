"""Files that users name: reads are bounded, regular files are written atomically. ``-`` is standard input or output."""

import errno
import hashlib
import io
import os
import select
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO

MAX_PROOF_BYTES = 256 << 20  # a hundred times a usual proof
SHARDS_MAGIC = b"graphprover pieces\x02"  # the first bytes of a sharded proof
COMPRESSED_MAGIC = b"graphprover compressed\x02"  # the first bytes of a compressed proof
MAX_SHARDS_BYTES = 8 << 30  # of a sharded proof: the most shards, each twice its usual size
MAX_INPUT_BYTES = 1 << 30  # of an input: the region of the machine's memory for it
MAX_PROGRAM_BYTES = 1 << 30  # of an ELF file with its debug information
MAX_TEXT_BYTES = 64 << 20  # of a file that people write

SAME_WORK = 60.0  # seconds; the slowest GPU kernel compiles faster

# Advice for an unusable folder for locks and ledgers.
ANOTHER_FOLDER = "mend or remove it, or set XDG_RUNTIME_DIR to a local folder of your own that has mode 700"

STREAM = Path("-")  # standard input where a file is read, standard output where one is written

_MARGIN = 1.05  # expected proof sizes are accurate to a few percent
_CHUNK = 1 << 20  # bytes of a pipe that are read at once
_MOST_LINKS = 40  # that are followed, as by Linux

_unfinished: set[Path] = set()  # temporary files and folders


class FileError(Exception):
    """A file that cannot be read or written; the message names it and the reason."""


def read_input(path: Path, most: int = MAX_INPUT_BYTES, remedy: str = "give a smaller one") -> bytes:
    """Return the contents of a file, or of standard input.

    Args:
        path: The file; ``-`` is standard input.
        most: The most bytes that are read.
        remedy: What to do about a longer file, for the error.

    Raises:
        FileError: The file cannot be read, or is longer.
    """
    with _opened(path) as file:
        return _read(path, file, most, remedy)


def read_file(path: Path, most: int, remedy: str) -> bytes:
    """Return the contents of a file as `read_input` does, but ``-`` is a name like any other."""
    with _reading(path), path.open("rb") as file:
        return _read(path, file, most, remedy)


def read_proof(path: Path) -> bytes:
    """Return the contents of a proof file; raises FileError.

    Reads at most MAX_PROOF_BYTES, or MAX_SHARDS_BYTES of a sharded proof, whatever size the file has.
    """
    with _opened(path) as file:
        head = file.read(len(SHARDS_MAGIC))
        most = MAX_SHARDS_BYTES if head == SHARDS_MAGIC else MAX_PROOF_BYTES
        if file.seekable():
            file.seek(-len(head), os.SEEK_CUR)
            head = b""
        return _read(path, file, most, "no proof is that long", head)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, or standard input, to read it; raises FileError, also for errors of the block."""
    with _reading(path), nullcontext(sys.stdin.buffer) if path == STREAM else path.open("rb") as file:
        yield file


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn errors of a block that reads a file into FileError."""
    try:
        yield
    except OSError as error:
        is_closed = path == STREAM and error.errno == errno.EBADF
        raise FileError("standard input is closed" if is_closed else f"{path}: {error.strerror}") from error


def _read(path: Path, file: IO[bytes], most: int, remedy: str, head: bytes = b"") -> bytes:
    """Return the rest of an open file after ``head``; the size of a regular file decides before anything is read."""
    size = 0
    with suppress(io.UnsupportedOperation):  # of a stream that is no file
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode):
            size = status.st_size - (file.tell() if file.seekable() else 0)
    parts, length, wanted = [head], len(head), size
    while length <= most and wanted <= most:
        parts.append(file.read(max(wanted, _CHUNK)))
        if not parts[-1]:
            return b"".join(part for part in parts if part)  # a single part is not copied
        length, wanted = length + len(parts[-1]), 0
    raise FileError(f"{path}: more than {most:,} bytes: {remedy}")


def check_writable(path: Path) -> None:
    """Raise FileError if `write` would fail, before there is anything to write. Nothing is opened but the folder."""
    if goes_to_stdout(path):
        return
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            raise FileError(f"{path}: is a folder: name a file in it")
        if stat.S_ISSOCK(kind) and _descriptor(path) is None:
            raise FileError(f"{path}: is a socket, which no program can open: name a file, a pipe or a device")
        if not is_replaced(path):
            if not os.access(path, os.W_OK):
                raise FileError(f"{path}: {os.strerror(errno.EACCES)}")
            return
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
    if path == STREAM or not is_replaced(path):
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


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder of this mode unless it exists; raises FileError. The umask decides the mode of its parents."""
    try:
        path.mkdir(mode, parents=True, exist_ok=True)
    except OSError as error:
        raise _not_written(path, error) from error


def write(path: Path, data: bytes, *, synced: bool = True, mode: int = 0o666) -> None:
    """Write a file.

    A regular file is replaced atomically: after an interruption the old file or the new one is there, complete. A pipe,
    a device or ``/dev/stdout`` is opened and written directly; a pipe waits for its reader.

    Args:
        path: The file; ``-`` is standard output.
        data: The contents.
        synced: Whether to wait for the disk, a few milliseconds. Otherwise a crash of the host may damage the file.
        mode: The mode of a regular file, less the umask.

    Raises:
        FileError: The file cannot be written.
        BrokenPipeError: The reader of standard output has closed it.
    """
    if goes_to_stdout(path):
        _write_stdout(data)
    elif is_replaced(path):
        _replace(path, data, synced, mode)
    else:
        _write_directly(path, data)


def _replace(path: Path, data: bytes, synced: bool, mode: int) -> None:
    """Replace a regular file, or make it; raises FileError."""
    target = resolved(path)  # the file that a link names is replaced, not the link
    temporary = target.with_name(_temporary_name())
    try:
        with _removed_unless_whole(temporary):
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(data)
                file.flush()
                if synced:
                    os.fsync(file.fileno())
            temporary.replace(target)
    except OSError as error:
        raise _not_written(path, error) from error


def _write_directly(path: Path, data: bytes) -> None:
    """Write to a pipe, a device or a descriptor of this process; raises FileError."""
    try:
        with _opened_directly(path) as file:
            left = memoryview(data)
            while left:
                written = file.write(left)
                if written is None:  # a full pipe that does not block
                    select.select([], [file], [])
                left = left[written or 0 :]
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error


def opened_to_append(path: Path) -> io.FileIO:
    """Open an output to append to it, without a buffer; raises FileError."""
    try:
        return path.open("ab", buffering=0) if is_replaced(path) else _opened_directly(path)
    except OSError as error:
        raise _not_written(path, error) from error


def _opened_directly(path: Path) -> io.FileIO:
    """Open a pipe, a device or a descriptor of this process to write, without a buffer."""
    number = _descriptor(path)
    return open(os.open(path, os.O_WRONLY) if number is None else os.dup(number), "wb", buffering=0)


def is_replaced(path: Path) -> bool:
    """Return whether `write` replaces the file at a path: it is regular or absent, and not named by a descriptor."""
    if _descriptor(path) is not None:
        return False
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return True  # and the attempt has the error


def goes_to_stdout(path: Path) -> bool:
    """Return whether a file is standard output: ``-``, or a name of its descriptor such as ``/dev/stdout``."""
    return path == STREAM or _descriptor(path) == 1


def _descriptor(path: Path) -> int | None:
    """Return the number of this process's descriptor that a path names, as ``/dev/stderr`` names 2; None for a file.

    Opening such a path would open the descriptor's file again, and write from its start.
    """
    own = Path(f"/proc/{os.getpid()}/fd")
    for _ in range(_MOST_LINKS):
        folder = resolved(path.parent)
        if folder == own and path.name.isdecimal():
            return int(path.name)
        try:
            path = folder / os.readlink(folder / path.name)
        except OSError:
            return None
    return None


def _write_stdout(data: bytes) -> None:
    """Write bytes to standard output; raises FileError, and BrokenPipeError if its reader has closed it."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_stdout()
        raise FileError(stdout_error(error)) from error


def stdout_error(error: OSError) -> str:
    """Return the message for an error of standard output."""
    return "standard output is closed" if error.errno == errno.EBADF else f"standard output: {error.strerror}"


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
