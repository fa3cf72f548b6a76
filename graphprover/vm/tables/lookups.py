"""Fixed tables: numbers of 16 bits, pairs of bytes, powers of two. Each counts how often its rows are looked up."""

import numpy as np

from graphprover.air import Air, TableBuilder
from graphprover.vm.buses import VM, Tag, message


class Halves(Air):
    """All numbers of 16 bits, with their highest bit."""

    preprocessed = ("x", "bit")
    columns = ("half", "sign")

    def preprocessed_trace(self) -> np.ndarray:
        x = np.arange(1 << 16, dtype=np.uint64)
        return np.stack([x, x >> np.uint64(15)])

    def define(self, t: TableBuilder) -> None:
        t.provide(VM, message(Tag.HALF, t.x), t.half)
        t.provide(VM, message(Tag.SIGN, t.x, t.bit), t.sign)


class BytePairs(Air):
    """All pairs of bytes, with their conjunction."""

    preprocessed = ("a", "b", "both")
    columns = ("bytes", "and")

    def preprocessed_trace(self) -> np.ndarray:
        a, b = np.divmod(np.arange(1 << 16, dtype=np.uint64), np.uint64(256))
        return np.stack([a, b, a & b])

    def define(self, t: TableBuilder) -> None:
        t.provide(VM, message(Tag.BYTES, t.a, t.b), t.bytes)
        t.provide(VM, message(Tag.AND, t.a, t.b, t.both), t["and"])


class Powers(Air):
    """What a shift by s = 0..15 multiplies with: 2^s to the left (key s), 2^(16 - s) to the right (key 16 + s)."""

    preprocessed = ("key", "power")
    columns = ("count",)

    def preprocessed_trace(self) -> np.ndarray:
        key = np.arange(32, dtype=np.uint64)
        return np.stack([key, np.uint64(1) << np.where(key < 16, key, 32 - key)])

    def define(self, t: TableBuilder) -> None:
        t.provide(VM, message(Tag.POWER, t.key, t.power), t.count)
