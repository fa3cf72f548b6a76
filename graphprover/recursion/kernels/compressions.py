"""Calls of BLAKE3's compression function: the format of the kernels that make them and write their rows."""

from dataclasses import dataclass

import numpy as np

from graphprover.device import Array, Device
from graphprover.recursion.kernels.arrays import require_array
from graphprover.recursion.tables.places import ROWS

MOST_ROWS = 1 << 32  # of a trace; Goldilocks has no domain for more


@dataclass(frozen=True, eq=False)
class Compressions:
    """Calls: contiguous arrays of one device, uint32.

    The trace satisfies its constraints if each value is the digest of the call before, if that has ``CallUse.CHAIN``,
    and else the IV, and if uses are as blake3.py says.
    """

    values: Array  # (calls, 8): the chaining values before
    blocks: Array  # (calls, 16)
    parameters: Array  # (calls, 4): counter (low, high), length, flags
    uses: Array  # (calls,): flags of `CallUse`

    def __len__(self) -> int:
        return len(self.uses)

    def require_arrays(self) -> None:
        """Raise ValueError for other arrays."""
        for name, width in (("values", 8), ("blocks", 16), ("parameters", 4), ("uses", None)):
            shape = (len(self),) if width is None else (len(self), width)
            require_array(f"{name} of {len(self)} calls are", getattr(self, name), shape, "uint32")

    def require(self, rows: int) -> None:
        """Raise ValueError for other arrays, and for calls that do not fit the rows."""
        self.require_arrays()
        if rows % ROWS or not 0 < rows <= MOST_ROWS:
            raise ValueError(f"a trace of whole calls has a multiple of {ROWS} rows, not {rows}")
        if ROWS * len(self) > rows:
            raise ValueError(f"{len(self)} calls of {ROWS} rows do not fit {rows} rows")


def empty_calls(device: Device, count: int) -> Compressions:
    """Return a number of calls with any contents."""
    values, blocks, parameters = (device.arrays.empty((count, width), dtype=np.uint32) for width in (8, 16, 4))
    return Compressions(values, blocks, parameters, device.arrays.empty(count, dtype=np.uint32))
