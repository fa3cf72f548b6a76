"""Calls of BLAKE3's compression function: the format of cpu/compress.py and cuda/compress.cu."""

from dataclasses import dataclass

from graphprover.device import Array
from graphprover.recursion.tables.compress import WIDTH
from graphprover.recursion.tables.places import ROWS
from graphprover.recursion.tables.xor import COUNTS
from graphprover.recursion.tables.xor import ROWS as PAIRS

MOST_ROWS = 1 << 32  # of a trace; Goldilocks has no domain for more


@dataclass(frozen=True, eq=False)
class Compressions:
    """Calls: contiguous arrays of one device, uint32.

    The trace satisfies its constraints if each value is the digest of the call before, if that has ``Use.CHAIN``, and
    else the IV, and if uses are as compress.py says.
    """

    values: Array  # (calls, 8): the chaining values before
    blocks: Array  # (calls, 16)
    parameters: Array  # (calls, 4): counter (low, high), length, flags
    uses: Array  # (calls,): flags of `Use`

    def __len__(self) -> int:
        return len(self.uses)

    def require(self, rows: int) -> None:
        """Raise ValueError for other arrays, and for calls that do not fit the rows."""
        for name, width in (("values", 8), ("blocks", 16), ("parameters", 4), ("uses", None)):
            array = getattr(self, name)
            shape = (len(self),) if width is None else (len(self), width)
            if array.shape != shape or array.dtype != "uint32" or not array.flags.c_contiguous:
                found = f"{array.dtype} {array.shape}"
                raise ValueError(f"{name} of {len(self)} calls are contiguous uint32 {shape}, not {found}")
        if rows % ROWS or not 0 < rows <= MOST_ROWS:
            raise ValueError(f"a trace of whole calls has a multiple of {ROWS} rows, not {rows}")
        if ROWS * len(self) > rows:
            raise ValueError(f"{len(self)} calls of {ROWS} rows do not fit {rows} rows")


def require_rows(main: Array) -> None:
    """Raise ValueError for an array that is no trace of `Compress`."""
    if main.ndim != 2 or len(main) != WIDTH or main.dtype != "uint64" or not main.flags.c_contiguous:
        raise ValueError(f"a trace is contiguous uint64 ({WIDTH}, rows), not {main.dtype} {main.shape}")


def require_counts(counts: Array) -> None:
    """Raise ValueError for an array that is no trace of `Xor`."""
    if counts.shape != (COUNTS, PAIRS) or counts.dtype != "uint64" or not counts.flags.c_contiguous:
        raise ValueError(f"counts are contiguous uint64 ({COUNTS}, {PAIRS}), not {counts.dtype} {counts.shape}")
