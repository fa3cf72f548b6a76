"""What a task leaves on its worker: arrays that stay on their device, and may travel.

Dask moves and spills results by pickling them, in any of a worker's threads and without a word to the device. So this
pickles itself as arrays of the host, copied once they are computed, and is put on the device of whoever unpickles it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from graphprover.device.interface import Array, Device


class Marking(Device, Protocol):
    """A device that can say how far it is."""

    def mark(self) -> Any:
        """What is done once all that is enqueued so far is; None where nothing is enqueued."""

    def to_host(self, arrays: Sequence[Array], mark: Any) -> list[np.ndarray]:
        """The arrays on the host, once ``mark`` is done; waits for nothing else, from any thread."""


@dataclass(frozen=True, eq=False)
class Resident:
    """Arrays of one device, computed or about to be. Make one by `resident`."""

    device: Marking
    arrays: tuple[Array, ...]  # nobody may write to them
    mark: Any  # of the device, after all that computes them

    @property
    def nbytes(self) -> int:
        return sum(int(array.nbytes) for array in self.arrays)

    def __sizeof__(self) -> int:
        """In bytes: Dask decides by it where tasks run, and what to spill."""
        return self.nbytes

    def __reduce__(self) -> tuple[Callable[..., "Resident"], tuple[Marking, list[np.ndarray]]]:
        return resident, (self.device, self.device.to_host(self.arrays, self.mark))


def resident(device: Marking, arrays: Sequence[Array]) -> Resident:
    """Arrays as they are on the device's stream by now; those of the host are copied there."""
    with device.task():
        return Resident(device, tuple(map(device.load, arrays)), device.mark())
