"""The background cluster of this user on this host: the file by which commands find it, and whether it runs.

`graphprover cluster start` starts it. Its process holds a lock, which ends with the process, so a file without a lock
is the file of a cluster that was killed.
"""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import IO, Any

from graphprover import __version__
from graphprover.runtime.files import MAX_TEXT_BYTES, FileError, locked, private_folder, read_file

_FILE, _LOCK, _LOG, _SOCKET = "cluster.json", "cluster.lock", "cluster.log", "cluster.sock"
_TRIES = 10
READY, CONFIRMED = b"r", b"c"  # messages of the cluster's process to `graphprover cluster start`, and its answer

_DEVICES = {"processes": ("auto", "cpu"), "cuda": ("auto", "cuda", "cuda:0")}  # a worker for GPUs has one


@dataclass(frozen=True)
class Background:
    """A background cluster, as its file describes it."""

    address: str  # of the scheduler
    kind: str  # "processes" or "cuda"
    pid: int  # of the process with the scheduler, the parent of the workers
    worker_pids: list[int]  # at the start: a worker that dies is replaced
    dashboard: str | None  # its URL
    started: float  # seconds since 1970
    versions: Mapping[str, str]  # of graphprover and packages
    certificate: str = field(repr=False)  # PEM, for both sides of connections
    key: str = field(repr=False)  # PEM


class BackgroundState(Enum):
    """The state of the background cluster."""

    ABSENT = "no cluster runs"
    STARTING = "a cluster is starting"
    RUNNING = "a cluster runs"
    STALE = "the cluster has ended without removing its file"


def file() -> Path:
    """Return the path of the file; raises FileError if no folder is private to this user."""
    return private_folder() / _FILE


def log_file() -> Path:
    """Return the path of the log of the cluster's process; raises FileError."""
    return private_folder() / _LOG


def socket_file() -> Path:
    """Return the path of the socket of the command server; raises FileError."""
    return private_folder() / _SOCKET


def found() -> tuple[BackgroundState, Background | None]:
    """Return the state of the cluster, and its description if there is a readable one.

    Raises:
        FileError: if no folder is private to this user.
    """
    described = read(file())
    if not is_locked():
        return (BackgroundState.STALE if file().exists() else BackgroundState.ABSENT), described
    return (BackgroundState.RUNNING if described else BackgroundState.STARTING), described


def read(path: Path) -> Background | None:
    """Return the cluster that a file describes; None if it is no such file."""
    with suppress(FileError, ValueError, TypeError):
        given: Any = json.loads(read_file(path, MAX_TEXT_BYTES, ""))
        return Background(**given)
    return None


def is_locked() -> bool:
    """Return whether the process of a cluster runs; raises FileError."""
    try:
        lock = (private_folder() / _LOCK).open("r")
    except FileNotFoundError:
        return False
    with lock:
        return not locked(lock)


def acquire() -> IO[str] | None:
    """Lock the cluster for this process until the returned file is closed; None if another process has the lock."""
    lock = (private_folder() / _LOCK).open("a+")
    for _ in range(_TRIES):
        if locked(lock):
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            return lock
        time.sleep(0.02)  # `is_locked` of another process has the lock for a moment
    lock.close()
    return None


def locker() -> int:
    """Return the number of the process that has the lock, or had it last; raises FileError."""
    return int((private_folder() / _LOCK).read_text())


def write(described: Background) -> None:
    """Write the file, which only this user can read."""
    path = file()
    temporary = path.with_suffix(f".{os.getpid()}")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        json.dump(asdict(described), stream, allow_nan=False)
    temporary.replace(path)


def remove() -> None:
    """Remove the file and the log of a cluster that has ended. The lock's file stays, as others may have it open."""
    for path in (file(), log_file(), socket_file()):
        path.unlink(missing_ok=True)


def usable(device: str) -> tuple[str | None, str]:
    """Return the executor by which to use the running cluster, or None and the reason, empty if there is no cluster.

    Args:
        device: The device of the proofs: "auto", "cpu", "cuda" or "cuda:N".
    """
    try:
        state, described = found()
    except FileError:  # without a private folder there is no cluster
        return None, ""
    if state is BackgroundState.ABSENT:
        return None, ""
    if state is not BackgroundState.RUNNING or not described:
        return None, f"{state.value} ({file()})" + "; graphprover cluster stop removes it" * (
            state is BackgroundState.STALE
        )
    if (theirs := described.versions.get("graphprover")) != __version__:
        remedy = "restart it (graphprover cluster stop, then start)"
        return None, f"the running cluster has graphprover {theirs}, and this is {__version__}: {remedy}"
    if device not in _DEVICES[described.kind]:
        return None, f"the running cluster is one of {described.kind}, and its workers have no device {device}"
    return str(file()), ""
