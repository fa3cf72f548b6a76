"""Results of Dask tasks as arrays that stay on their device until they are pickled.

Dask moves and spills results by pickling them in any of a worker's threads, without notice to the device. A `Resident`
is pickled as host arrays, copied once they are computed, and unpickled to the receiving process's device.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from graphprover.device.interface import Array, Device


class Marking(Device, Protocol):
    """A device that can mark its progress."""

    def mark(self) -> Any:
        """Return a marker of all work enqueued so far; None if nothing is ever enqueued."""

    def to_host(self, arrays: Sequence[Array], mark: Any) -> list[np.ndarray]:
        """Copy the arrays to the host after ``mark``, from any thread, without waiting for anything else."""


@dataclass(frozen=True, eq=False)
class Resident:
    """Arrays of one device, computed or enqueued; made by `resident`."""

    device: Marking
    arrays: tuple[Array, ...]  # read-only
    mark: Any  # of the device, after their computation

    @property
    def nbytes(self) -> int:
        return sum(int(array.nbytes) for array in self.arrays)

    def __sizeof__(self) -> int:
        """Return the bytes: Dask places and spills tasks by it."""
        return self.nbytes

    def __reduce__(self) -> tuple[Callable[..., "Resident"], tuple[Marking, list[np.ndarray]]]:
        return resident, (self.device, self.device.to_host(self.arrays, self.mark))


def resident(device: Marking, arrays: Sequence[Array]) -> Resident:
    """Return arrays as of the device's current position; host arrays are copied to the device."""
    with device.task():
        return Resident(device, tuple(map(device.load, arrays)), device.mark())
