"""Prover processes whose service was killed: the lock file of the service names them, so that the next one ends them.

A prover process ends by itself when its service has ended, unless it is stopped or hangs.
"""

import json
import logging
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import IO

_log = logging.getLogger(__name__)


def record(lock: IO[str], prover: int) -> None:
    """Write this process and its prover process to the lock file."""
    lock.truncate(0)
    json.dump({"service": _identity(os.getpid()), "prover": _identity(prover)}, lock, allow_nan=False)
    lock.flush()


def end_orphan(path: Path) -> int | None:
    """Kill the prover process that a lock file names, with its workers, if its service has ended.

    Returns:
        Its id; None if there is no such process, or the service is still there.
    """
    try:
        found = json.loads(path.read_text())
        service, (pid, started) = tuple(found["service"]), found["prover"]
        if started is None or _identity(service[0]) == service or _identity(pid) != (pid, started):
            return None
    except (OSError, ValueError, LookupError, TypeError):
        return None
    _log.warning("the prover process %d has not ended with its service, and is killed", pid)
    for each in (*_descendants(pid), pid):
        with suppress(OSError):  # it has ended
            os.kill(each, signal.SIGKILL)
    return int(pid)


def _identity(pid: int) -> tuple[int, int | None]:
    """Return the id of a process and the time of its start, as ids are used again; None if it is unknown (Linux)."""
    fields = _fields(pid)
    return pid, int(fields[19]) if fields and fields[0] != "Z" else None


def _fields(pid: int) -> list[str]:
    """Return the fields of a process's ``stat`` behind its name, from the state on; none if there is no process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _descendants(pid: int) -> list[int]:
    """Return the processes that a process and its children have started."""
    parents = {int(path.name): _fields(int(path.name))[1:2] for path in Path("/proc").glob("[0-9]*")}
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == [str(each)]]
    return found[1:]
