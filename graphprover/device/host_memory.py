"""The host's memory: how much of it there is for this process."""

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path


class HostMemory:
    """Where a CPU's arrays are: nothing is kept of it between proofs."""

    keeps = False
    identity = "host"

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


def resident() -> int:
    """Bytes of memory that this process has now; 0 where nobody says."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _limits(root: Path) -> Iterator[int]:
    """Those of the process's control groups, of either version, and of all that they are in.

    In a container the groups are often named as the host sees them, while only the last is there, as the outermost.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if not controllers:
            folder, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        inner = folder / group.lstrip("/")
        for place in (inner, *inner.parents):
            try:
                limit = (place / name).read_text().strip()
            except OSError:
                limit = ""
            if limit.isdigit():  # not "max"
                yield int(limit)
            if place == folder:
                break
