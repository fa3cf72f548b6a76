"""A device that fails at a chosen operation."""

from collections import Counter
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from graphprover.device import CpuDevice
from graphprover.device.interface import CPU_BATCH, Repeat


class FailingDevice:
    """One thread of the CPU that counts calls: the ``call``-th call of ``operation``, from 1, raises ``error``."""

    kind = "cpu"
    threads = 1
    log_batch_rows = CPU_BATCH
    arrays = np
    memory = CpuDevice.memory

    def __init__(self, operation: str = "", call: int = 0, error: Exception | None = None) -> None:
        self.fails, self.error = (operation, call), error
        self.calls: Counter[str] = Counter()
        self._cpu = CpuDevice(1)

    def task(self) -> AbstractContextManager[None]:
        return self._cpu.task()

    def repeating(self, shape: Hashable, peak: int) -> AbstractContextManager[Repeat]:
        """Repeat nothing; this method is not an operation."""
        return self._cpu.repeating(shape, peak)

    def expect(self, tables: object, *, guess: bool = False) -> None:
        """Do nothing; this method is not an operation."""

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        method = getattr(self._cpu, operation)

        def run(*arguments: Any, **named: Any) -> Any:
            self.calls[operation] += 1
            if (operation, self.calls[operation]) == self.fails and self.error is not None:
                raise self.error
            return method(*arguments, **named)

        return run
