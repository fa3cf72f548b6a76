"""Fixed tables for lookups: numbers of 16 bits, powers of two. Each commits to how often its rows are looked up."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from graphprover.air import Air, TableBuilder
from graphprover.vm.tables.buses import VM, Tag, message
from graphprover.vm.tables.limbs import BYTE, HALF
from graphprover.vm.tables.step import paired


class Numbers(Air):
    """All numbers of 16 bits with their highest bit, and all pairs of bytes with their conjunction."""

    preprocessed = ("a", "b", "bit", "both")
    immutable = True
    columns = ("half", "sign", "bytes", "and")

    def preprocessed_trace(self) -> np.ndarray:
        x = np.arange(HALF, dtype=np.uint64)
        a, b = np.divmod(x, np.uint64(BYTE))
        return np.stack([a, b, x >> np.uint64(15), a & b])

    def define(self, t: TableBuilder) -> None:
        t.every_row(paired(t.bit), "a bit, by which two messages share a fraction column")
        _provide(t, t.a, t.b, t.bit, t.both)


class SparseRange(Air):
    """A sparse range: the numbers that a short run looks up, each given by its bits, in any order, repeated or not.

    Rows that the run does not need are the number 0, with counts of 0.
    """

    name = "sparse_range"
    columns = ("a[8]", "b[8]", "both", "half", "sign", "bytes", "and")  # bits from the lowest on

    def define(self, t: TableBuilder) -> None:
        highest = t.a[7]
        for bit in (*t.b, *t.a[:7]):
            t.boolean(bit, "a number is given by bits")
        t.every_row(paired(highest), "its highest bit, by which two messages share a fraction column")
        t.every_row(_number(a * b for a, b in zip(t.a, t.b, strict=True)) - t.both, "the bytes' conjunction")
        _provide(t, _number(t.a), _number(t.b), highest, t.both)


def _number(bits: Iterable[Any]) -> Any:
    """Return the number with these bits, from the lowest on."""
    return sum((2**i * bit for i, bit in enumerate(bits)), 0)


def _provide(t: TableBuilder, a: Any, b: Any, bit: Any, both: Any) -> None:
    """Answer lookups of the bytes a and b, their conjunction, and the number 256 a + b with its highest bit."""
    x = BYTE * a + b
    t.provide(VM, message(Tag.HALF, x), t.half)
    t.provide(VM, message(Tag.SIGN, x, bit), t.sign)
    t.provide(VM, message(Tag.BYTES, a, b), t.bytes)
    t.provide(VM, message(Tag.AND, a, b, both), t["and"])


class Powers(Air):
    """The factors of a shift by s = 0..15, to the left and to the right; every row is there four times."""

    preprocessed = ("s", "left_power", "right_power")
    immutable = True
    columns = ("left", "right")

    def preprocessed_trace(self) -> np.ndarray:
        s = np.arange(64, dtype=np.uint64) % np.uint64(16)
        return np.stack([s, np.uint64(1) << s, np.uint64(HALF) >> s])

    def define(self, t: TableBuilder) -> None:
        t.provide(VM, message(Tag.LEFT, t.s, t.left_power), t.left)
        t.provide(VM, message(Tag.RIGHT, t.s, t.right_power), t.right)
