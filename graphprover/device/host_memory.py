"""The host's memory: how much of it there is for this process."""

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from graphprover.device.control_groups import control_groups


class HostMemory:
    """Where a CPU's arrays are: nothing is kept of it between proofs. What is held is what the process holds."""

    keeps = False
    identity = "host"

    def __init__(self) -> None:
        self._most, self._peak = 0, 0
        self.reset()

    def held(self) -> int:
        held = resident()
        self._peak = max(self._peak, held)
        return held

    def reset(self) -> None:
        self._most, self._peak = most_resident(), 0

    @property
    def peak(self) -> int:
        """The process's own where it has risen; where it has not, what was held at most whenever it was looked at."""
        most = most_resident()
        return most if most > self._most else max(self._peak, self.held())

    @property
    def total(self) -> int:
        """Bytes, as `host_memory` counts them."""
        return host_memory()

    def reserved(self) -> int:
        return 0

    def trim(self, keep: int = 0) -> None:
        """Nothing is kept."""


@cache
def host_memory(root: Path = Path("/")) -> int:
    """Bytes of memory that this process may have: what the computer has, or less where its control group has less.

    ``root``: where ``proc`` and ``sys`` are. Where the system does not say, no number is too large.
    """
    if not hasattr(os, "sysconf"):
        return sys.maxsize
    return min([os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_limits(root)])


def addresses_left() -> int:
    """Bytes that this process may still map, used or not; no number is too large without a limit (``ulimit -v``)."""
    try:
        import resource  # only where there is POSIX

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return sys.maxsize
        mapped = int(os.pread(_statm(os.getpid()), 100, 0).split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError):  # a system without such limits, or which does not tell what is mapped
        return sys.maxsize
    return max(0, limit - mapped)


def resident() -> int:
    """Bytes of memory that this process has now; 0 where nobody says."""
    try:
        return int(os.pread(_statm(os.getpid()), 100, 0).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@cache
def _statm(process: int) -> int:
    """This process's file, open: a look costs 3 µs so, and 50 otherwise."""
    return os.open(f"/proc/{process}/statm", os.O_RDONLY | os.O_CLOEXEC)


def most_resident() -> int:
    """The most bytes of memory that this process has had."""
    if sys.platform == "linux":  # where ru_maxrss begins with that of the process which started this one
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found:
            return 1024 * int(found[1])
    import resource  # only where there is POSIX

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _limits(root: Path) -> Iterator[int]:
    """Those of the process's control groups and of all that they are in."""
    for group in control_groups("memory", root):
        try:
            limit = (group.folder / ("memory.max" if group.unified else "memory.limit_in_bytes")).read_text().strip()
        except OSError:
            continue
        if limit.isdigit():  # not "max"
            yield int(limit)
