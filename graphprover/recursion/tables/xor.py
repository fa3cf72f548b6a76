"""The xors of all pairs of bytes, on three buses, and all numbers of 16 bits.

A lookup of an xor also shows that x and y are bytes.
"""

import numpy as np

from graphprover.air import Air, TableBuilder
from graphprover.recursion.tables.buses import HALVES, XOR, XOR_4, XOR_7

ROWS = 1 << 16  # of the table: row 256 x + y has the bytes x and y
COUNTS = 4  # columns: counts of lookups on the buses in their order
XORS, HALF = slice(3), 3  # of these columns


class Xor(Air):
    """All pairs of bytes with their xor z, and the number of lookups of each pair on each bus.

    A pair is a number of 16 bits, too.
    """

    preprocessed = (
        "x",
        "y",
        "high_4",  # z >> 4
        "low_4",  # z & 15
        "high_7",  # z >> 7
    )
    columns = ("count", "count_4", "count_7", "count_half")
    immutable = True

    def define(self, t: TableBuilder) -> None:
        z = 16 * t.high_4 + t.low_4
        t.provide(XOR, [t.x, t.y, z], t.count)
        t.provide(XOR_4, [t.x, t.y, t.high_4, t.low_4], t.count_4)
        t.provide(XOR_7, [t.x, t.y, t.high_7, z - 128 * t.high_7], t.count_7)
        t.provide(HALVES, [256 * t.x + t.y], t.count_half)

    def preprocessed_trace(self) -> np.ndarray:
        pairs = np.arange(ROWS, dtype=np.uint64)
        x, y = pairs >> np.uint64(8), pairs & np.uint64(255)
        z = x ^ y
        return np.stack([x, y, z >> np.uint64(4), z & np.uint64(15), z >> np.uint64(7)])
