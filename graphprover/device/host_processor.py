"""The host's processor: how much of it this process gets, and how long it waits for it."""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from graphprover.device.control_groups import Group, control_groups
from graphprover.telemetry.model import Processor

ROOT = Path("/")


class Throttled(NamedTuple):
    """The number and duration of the periods in which control groups were stopped, since they were created."""

    periods: int
    seconds: float


class ProcessorMeter:
    """A meter of this process's processor time, from its construction."""

    def __init__(self, root: Path = ROOT) -> None:
        """Start the meter; ``root`` is the folder of ``proc`` and ``sys``."""
        self._root = root
        self._groups = list(control_groups("cpu", root))
        self._throttled, self._waits = throttled(self._groups), thread_waits(root)
        self._began, self._used = time.perf_counter(), time.process_time()

    def read(self, always: bool) -> Processor:
        """Return the processor time until now; ``always``: the process always had work."""
        seconds, used = time.perf_counter() - self._began, time.process_time() - self._used
        waits, stopped = thread_waits(self._root), throttled(self._groups)
        before = self._throttled or Throttled(0, 0.0)
        return Processor(
            seconds,
            used,
            usable_cores(self._groups),
            # The waits of ended threads are lost.
            sum(waited - self._waits.get(thread, 0.0) for thread, waited in waits.items()) if waits else None,
            stopped.periods - before.periods if stopped else None,
            stopped.seconds - before.seconds if stopped else None,
            always,
        )


def available_threads() -> int:
    """Return the number of cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_waits(root: Path) -> dict[str, float]:
    """Return by thread the seconds in which it was runnable but waited for a core.

    Empty without Linux's schedstat.
    """
    found = {}
    for file in (root / "proc/self/task").glob("*/schedstat"):
        with suppress(OSError, IndexError):  # the thread has ended, or the kernel does not count
            found[file.parent.name] = int(file.read_text().split()[1]) / 1e9
    return found


def throttled(groups: list[Group]) -> Throttled | None:
    """Return the sums over these control groups; None if none reports them."""
    found = []
    for group in groups:
        with suppress(OSError, KeyError):
            lines = (group.folder / "cpu.stat").read_text().splitlines()
            counts = {name: int(value) for name, value in map(str.split, lines)}
            seconds = counts["throttled_usec"] / 1e6 if group.unified else counts["throttled_time"] / 1e9
            found.append(Throttled(counts["nr_throttled"], seconds))
    return Throttled(sum(one.periods for one in found), sum(one.seconds for one in found)) if found else None


def usable_cores(groups: list[Group]) -> float:
    """Return how many cores this process may keep busy."""
    cores = float(available_threads())
    for group in groups:
        with suppress(OSError, ValueError):  # "max", or a folder hidden by a container
            if group.unified:
                quota, period = map(int, (group.folder / "cpu.max").read_text().split())
            else:
                quota, period = (int((group.folder / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
            if quota > 0:  # -1 is unlimited
                cores = min(cores, quota / period)
    return cores
