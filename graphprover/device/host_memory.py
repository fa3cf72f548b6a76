"""The host's memory that is available to this process."""

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from graphprover.device.control_groups import control_groups
from graphprover.kernels.cpu import pages

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of mallopt


class HostMemory:
    """The memory of a CPU's arrays: the resident memory of the process, except free pages (kernels/cpu/pages.py).

    The system takes free pages when it needs them, so they are no pool that others have to wait for.
    """

    keeps = False
    identity = "host"

    def __init__(self) -> None:
        self._most, self._peak = 0, 0
        self.reset()

    def held(self) -> int:
        held = max(0, resident() - pages.kept())
        self._peak = max(self._peak, held)
        return held

    def reset(self) -> None:
        self._most, self._peak = most_resident(), 0

    @property
    def peak(self) -> int:
        """Return the process's own peak if it has risen, else the highest reading."""
        most = most_resident()
        return most if most > self._most else max(self._peak, self.held())

    @property
    def total(self) -> int:
        """Return the bytes by `host_memory`."""
        return host_memory()

    def reserved(self) -> int:
        return 0

    def trim(self, keep: int = 0) -> None:
        """Give all free pages back to the system."""
        pages.trim()


@cache
def host_memory(root: Path = Path("/")) -> int:
    """Return the bytes of memory available to this process: the computer's, or its control group's limit.

    ``root`` is the folder of ``proc`` and ``sys``. Returns a very large number if the system reports none.
    """
    if not hasattr(os, "sysconf"):
        return sys.maxsize
    return min([os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_limits(root)])


def keep_freed() -> None:
    """Let the C library keep freed memory of up to 128 MiB for later allocations.

    By default it returns blocks of some MiB to the system at once. A proof on a GPU allocates such blocks for record,
    queries and encoding, and the system takes up to a microsecond to clear each of their pages again.
    """
    if sys.platform == "linux" and (tune := getattr(ctypes.CDLL(None), "mallopt", None)):
        tune(_MMAP_THRESHOLD, 32 << 20)  # the most that glibc allows
        tune(_TRIM_THRESHOLD, 128 << 20)


def addresses_left() -> int:
    """Return the bytes that this process may still map (``ulimit -v``); a very large number without a limit."""
    try:
        import resource  # POSIX only

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return sys.maxsize
        mapped = int(os.pread(_statm(os.getpid()), 100, 0).split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError):  # no such limits, or no count of mapped bytes
        return sys.maxsize
    return max(0, limit - mapped)


def resident() -> int:
    """Return this process's resident bytes; 0 if unknown."""
    try:
        return int(os.pread(_statm(os.getpid()), 100, 0).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@cache
def _statm(process: int) -> int:
    """Open this process's statm: a reading then takes 3 µs instead of 50."""
    return os.open(f"/proc/{process}/statm", os.O_RDONLY | os.O_CLOEXEC)


def most_resident() -> int:
    """Return this process's peak resident bytes."""
    if sys.platform == "linux":  # ru_maxrss would start with the parent's peak
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found:
            return 1024 * int(found[1])
    import resource  # POSIX only

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _limits(root: Path) -> Iterator[int]:
    """Return the limits of the process's control groups and their ancestors."""
    for group in control_groups("memory", root):
        try:
            limit = (group.folder / ("memory.max" if group.unified else "memory.limit_in_bytes")).read_text().strip()
        except OSError:
            continue
        if limit.isdigit():  # not "max"
            yield int(limit)
