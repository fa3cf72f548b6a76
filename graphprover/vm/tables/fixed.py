"""Fixed tables: numbers of 16 bits, powers of two. Each counts how often its rows are looked up."""

import numpy as np

from graphprover.air import Air, TableBuilder
from graphprover.vm.buses import VM, Tag, message
from graphprover.vm.limbs import BYTE, HALF
from graphprover.vm.tables.step import paired


class Numbers(Air):
    """All numbers of 16 bits with their highest bit, and their bytes: all pairs of these, with their conjunction."""

    preprocessed = ("a", "b", "bit", "both")
    columns = ("half", "sign", "bytes", "and")

    def preprocessed_trace(self) -> np.ndarray:
        x = np.arange(HALF, dtype=np.uint64)
        a, b = np.divmod(x, np.uint64(BYTE))
        return np.stack([a, b, x >> np.uint64(15), a & b])

    def define(self, t: TableBuilder) -> None:
        t.every_row(paired(t.bit), "a bit, by which two messages share a fraction column")
        x = BYTE * t.a + t.b
        t.provide(VM, message(Tag.HALF, x), t.half)
        t.provide(VM, message(Tag.SIGN, x, t.bit), t.sign)
        t.provide(VM, message(Tag.BYTES, t.a, t.b), t.bytes)
        t.provide(VM, message(Tag.AND, t.a, t.b, t.both), t["and"])


class Powers(Air):
    """What a shift by s = 0..15 multiplies with, to the left and to the right; every row is there four times."""

    preprocessed = ("s", "left_power", "right_power")
    columns = ("left", "right")

    def preprocessed_trace(self) -> np.ndarray:
        s = np.arange(64, dtype=np.uint64) % np.uint64(16)
        return np.stack([s, np.uint64(1) << s, np.uint64(HALF) >> s])

    def define(self, t: TableBuilder) -> None:
        t.provide(VM, message(Tag.LEFT, t.s, t.left_power), t.left)
        t.provide(VM, message(Tag.RIGHT, t.s, t.right_power), t.right)
