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
    """How often and how long control groups were stopped, since they began."""

    periods: int
    seconds: float


class ProcessorMeter:
    """What this process gets of the processor, from when the meter is made."""

    def __init__(self, root: Path = ROOT) -> None:
        """``root``: where ``proc`` and ``sys`` are."""
        self._root = root
        self._groups = list(control_groups("cpu", root))
        self._throttled, self._waits = throttled(self._groups), thread_waits(root)
        self._began, self._used = time.perf_counter(), time.process_time()

    def read(self, always: bool) -> Processor:
        """What it has got until now; ``always``: it had something to do all the time."""
        seconds, used = time.perf_counter() - self._began, time.process_time() - self._used
        waits, stopped = thread_waits(self._root), throttled(self._groups)
        before = self._throttled or Throttled(0, 0.0)
        return Processor(
            seconds,
            used,
            usable_cores(self._groups),
            # The waits of a thread that has ended are lost.
            sum(waited - self._waits.get(thread, 0.0) for thread, waited in waits.items()) if waits else None,
            stopped.periods - before.periods if stopped else None,
            stopped.seconds - before.seconds if stopped else None,
            always,
        )


def available_threads() -> int:
    """The cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_waits(root: Path) -> dict[str, float]:
    """By thread of this process: seconds in which it could have run since it began, but waited for a core.

    Nothing without Linux's schedstat.
    """
    found = {}
    for file in (root / "proc/self/task").glob("*/schedstat"):
        with suppress(OSError, IndexError):  # it has ended meanwhile, or the kernel does not count
            found[file.parent.name] = int(file.read_text().split()[1]) / 1e9
    return found


def throttled(groups: list[Group]) -> Throttled | None:
    """How often and how long these were stopped, all together; None if none of them says."""
    found = []
    for group in groups:
        with suppress(OSError, KeyError):
            lines = (group.folder / "cpu.stat").read_text().splitlines()
            counts = {name: int(value) for name, value in map(str.split, lines)}
            seconds = counts["throttled_usec"] / 1e6 if group.unified else counts["throttled_time"] / 1e9
            found.append(Throttled(counts["nr_throttled"], seconds))
    return Throttled(sum(one.periods for one in found), sum(one.seconds for one in found)) if found else None


def usable_cores(groups: list[Group]) -> float:
    """How many cores this process may keep busy."""
    cores = float(available_threads())
    for group in groups:
        with suppress(OSError, ValueError):  # "max", or a folder that a container does not see
            if group.unified:
                quota, period = map(int, (group.folder / "cpu.max").read_text().split())
            else:
                quota, period = (int((group.folder / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
            if quota > 0:  # not -1, which is none
                cores = min(cores, quota / period)
    return cores
