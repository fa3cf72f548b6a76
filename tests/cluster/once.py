"""A device with one fault, in the first process that uses it."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from graphprover.device import CpuDevice
from graphprover.device.interface import CPU_BATCH

DIES, STOPS, WRONG = "dies", "stops", "wrong"
# An operation of each round, in their order; a shard commits after the first two.
ROUNDS = ("load", "extend", "lookup_columns", "quotient", "evaluate", "reduced_openings", "fold_tree", "gather")
ERRORS: dict[str, Exception] = {"RuntimeError": RuntimeError("once"), "ValueError": ValueError("its own fault")}


class Once:
    """One thread of the CPU. The first process that calls ``operation`` makes the file ``marker`` and then dies, stops,
    raises one of ERRORS, or gathers a wrong row."""

    kind = "cpu"
    threads = 1
    log_batch_rows = CPU_BATCH
    arrays = np

    def __init__(self, operation: str, marker: Path, happens: str) -> None:
        self.operation, self.marker, self.happens = operation, marker, happens
        self._cpu = CpuDevice(1)

    def __reduce__(self) -> Any:
        return Once, (self.operation, self.marker, self.happens)

    def task(self) -> AbstractContextManager[None]:
        return self._cpu.task()

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        method = getattr(self._cpu, operation)
        return self._happens(method) if operation == self.operation else method

    def _happens(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            try:
                self.marker.touch(exist_ok=False)
            except FileExistsError:
                return method(*arguments)
            if self.happens in (DIES, STOPS):
                time.sleep(0.2)  # the worker's events are sent by then
            if self.happens == DIES:
                os.kill(os.getpid(), signal.SIGKILL)
            elif self.happens == STOPS:
                self.marker.write_text(str(os.getpid()))
                os.kill(os.getpid(), signal.SIGSTOP)
            elif self.happens == WRONG:
                (row, *rows), digests = method(*arguments)
                return [row ^ np.uint64(1), *rows], digests
            else:
                raise ERRORS[self.happens]
            return method(*arguments)

        return run
