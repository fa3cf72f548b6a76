"""A CPU that lags behind the host like a GPU, with invented counts and delays."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from graphprover.device import CpuDevice
from graphprover.device.interface import Reading

LATE = 0.25  # seconds


class LateDevice(CpuDevice):
    """Every reading finds 3 more launches, 8 more bytes up and 1 more byte down, all after a delay of ``LATE``."""

    model = "a double"

    def __init__(self) -> None:
        super().__init__(1)
        self.readings = 0
        self.ranges: list[tuple[str, ...]] = []  # at their start, with the enclosing ranges
        self._open: tuple[str, ...] = ()

    def reading(self) -> Reading:
        self.readings += 1
        return Reading(3 * self.readings, 8 * self.readings, self.readings, 0.0)

    def spans(self, tasks: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(begun + LATE, stamp + LATE) for begun, stamp in tasks]

    @contextmanager
    def profiled(self, name: str) -> Iterator[None]:
        self._open += (name,)
        self.ranges.append(self._open)
        yield
        self._open = self._open[:-1]
