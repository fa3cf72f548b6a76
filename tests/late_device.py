"""A CPU that is behind the host, as a GPU is: what it counts, and when it comes to what was enqueued, is made up."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from graphprover.device import CpuDevice
from graphprover.device.interface import Reading

LATE = 0.25  # seconds


class LateDevice(CpuDevice):
    """Every reading finds three more launches, eight more bytes up and one more byte down; it comes to all ``LATE``."""

    model = "a double"

    def __init__(self) -> None:
        super().__init__(1)
        self.readings = 0
        self.ranges: list[tuple[str, ...]] = []  # as they begin, with those that they are in
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
