"""Processes that hold memory, for tests of admission; they import quickly, without kernels.

As a program: ``python -m tests.admission.holding IDENTITY BYTES`` says "begun", asks for so much of 100 bytes, says the
number of a child that it has forked when it has them, and sleeps.
"""

import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path

import dask

from graphprover.admission import ledger as ledgers
from graphprover.admission.admission import admitted
from graphprover.admission.lock import Lock
from graphprover.runtime.settings import MEMORY_LIMIT, POOL


@dataclass
class Memory:
    """A device that has memory and nothing else."""

    total: int
    identity: str = "test"
    keeps: bool = False
    kept: int = 0

    @property
    def memory(self) -> "Memory":
        return self

    def task(self) -> AbstractContextManager[None]:
        return nullcontext()

    def held(self) -> int:
        return self.kept

    def reserved(self) -> int:
        return self.kept

    def trim(self, keep: int = 0) -> None:
        self.kept = min(self.kept, keep)


def run(needed: int, budget: int) -> tuple[float, float, int, int]:
    """Return the times of admission and release, the bytes needed, and the bytes that the ledger showed in between."""
    with dask.config.set({MEMORY_LIMIT: budget}), admitted(Memory(10 * budget), needed):  # type: ignore[arg-type]
        first = time.monotonic()
        ledger = ledgers._ledgers["test"]
        with ledger.locked():  # without it, two entries could be read at different times
            seen = sum(entry.taken() for entry in ledger.entries())
        time.sleep(needed / 1000)
        return first, time.monotonic(), needed, seen


def run_by_gpu(seconds: float) -> tuple[float, float]:
    """Return the times of admission to a GPU and of release."""
    with dask.config.set({POOL: 1.0}), admitted(Memory(100, "gpu", keeps=True), 1):  # type: ignore[arg-type]
        first = time.monotonic()
        time.sleep(seconds)
        return first, time.monotonic()


def begin(begun: Barrier) -> None:
    """Wait for all processes of a pool."""
    begun.wait()


def take_and_release(folder: Path, marker: Path, seconds: float) -> int:
    """Return the number of locks of a folder taken in ``seconds``; raises FileExistsError if two processes held one."""
    own, times, end = Lock(lambda: folder), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        with own.taken():
            marker.mkdir()
            time.sleep(0.0005)
            marker.rmdir()
        times += 1
    return times


if __name__ == "__main__":
    print("begun", flush=True)
    with (
        dask.config.set({MEMORY_LIMIT: 1.0}),
        admitted(Memory(100, sys.argv[1]), int(sys.argv[2])),  # type: ignore[arg-type]
    ):
        if child := os.fork():  # which inherits all files
            print(child, flush=True)
        time.sleep(600)
