"""The begin and end of an execution: the first and the last cycle, the registers, and the words of memory.

Every word has one row in one of the tables here, which sends its initial value at time 0 and receives its last one. A
second row for the same word would give it a second history, so the addresses of a table are preprocessed or strictly
rising, and two tables have no address in common. Public words are in public_words.py.
"""

from collections.abc import Sequence

import numpy as np

from graphprover.air import Air, Expr, TableBuilder
from graphprover.air.linear import linear
from graphprover.vm.executor.record import SINK
from graphprover.vm.program.io import MAX_INPUT_BYTES
from graphprover.vm.tables.buses import REGISTER_BASE, VM, Tag, message
from graphprover.vm.tables.limbs import HALF, limbs
from graphprover.vm.tables.step import paired

REGISTER_COUNT = SINK + 1  # x0 to x31, and the sink of loads to x0


class Boundary(Air):
    """The first cycle begins at the program's entry; the last one is the exit.

    ``shape`` names the statement's other tables (see statement.py): no constraint uses it, but it decides which tables
    are verified.
    """

    columns = ("first",)
    unread = ("shape",)

    def __init__(self, entry: int, tables: int) -> None:
        self.entry = entry
        self.public_values = ("cycles", "exit_code[2]", f"shape[{tables}]")

    def define(self, t: TableBuilder) -> None:
        t.boolean(t.first)
        t.first_row(t.first - 1)
        t.transition(t.next.first)
        t.send(VM, message(Tag.STATE, 1, self.entry), t.first, weight=1)
        t.receive(VM, message(Tag.HALT, t.public.cycles, *t.public.exit_code), t.first, weight=1)


class RegisterFile(Air):
    """All registers, with initial values of 0."""

    name = "registers"
    preprocessed = ("at", "real")
    immutable = True
    columns = ("t", "lo", "hi")

    def preprocessed_trace(self) -> np.ndarray:
        i = np.arange(64, dtype=np.uint64)
        return np.stack([np.uint64(REGISTER_BASE) + i, (i < REGISTER_COUNT).astype(np.uint64)])

    def define(self, t: TableBuilder) -> None:
        t.send(VM, message(Tag.ACCESS, t.at, 0, 0, 0), t.real, weight=1)
        t.receive(VM, message(Tag.ACCESS, t.at, t.t, t.lo, t.hi), t.real, weight=1)


class ImageMemory(Air):
    """The words that the program brings; words that are never accessed keep time 0 and their value."""

    name = "image_memory"
    preprocessed = ("at", "initial_lo", "initial_hi", "real")
    immutable = True
    columns = ("t", "lo", "hi")

    def __init__(self, addresses: np.ndarray, values: np.ndarray, rows: int) -> None:
        self.words = addresses, values
        self.rows = rows

    def preprocessed_trace(self) -> np.ndarray:
        addresses, values = self.words
        trace = np.zeros((4, self.rows), dtype=np.uint64)
        trace[:3, : len(addresses)] = addresses, *limbs(values)
        trace[3, : len(addresses)] = 1
        return trace

    def define(self, t: TableBuilder) -> None:
        t.send(VM, message(Tag.ACCESS, t.at, 0, t.initial_lo, t.initial_hi), t.real, weight=1)
        t.receive(VM, message(Tag.ACCESS, t.at, t.t, t.lo, t.hi), t.real, weight=1)


class Region(Air):
    """The accessed words of a region [start, end), by rising address, from the second row on.

    An address is the address of the row before, plus 8 if this row has a word, plus 8 times a gap of 32 bits. The first
    row is idle, right before the region, and the last one at its last word: less than 2^32 rows add up to less than p.
    """

    columns: tuple[str, ...] = ("on", "at", "gap[2]", "t", "lo", "hi")

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end

    @staticmethod
    def needed(words: int) -> int:
        """Return the rows for this number of accessed words: one before and one behind them."""
        return words + 2

    def begins(self, t: TableBuilder) -> None:
        """State the first row."""
        t.first_row(t.on)
        t.first_row(t.at - (self.start - 8))

    def rises(self, t: TableBuilder) -> None:
        """State the order of the addresses."""
        t.every_row(paired(t.on), "a row has a word or not")
        self.begins(t)
        t.transition(t.next.at - t.at - 8 * (t.next.on + _limb(t.next.gap)))
        t.last_row(t.at - (self.end - 8))
        for half in t.gap:
            t.lookup(VM, message(Tag.HALF, half))


class ZeroMemory(Region):
    """A region with initial values of 0."""

    name = "zero_memory"

    def define(self, t: TableBuilder) -> None:
        self.rises(t)
        t.send(VM, message(Tag.ACCESS, t.at, 0, 0, 0), t.on, weight=1)
        t.receive(VM, message(Tag.ACCESS, t.at, t.t, t.lo, t.hi), t.on, weight=1)


class InputMemory(Region):
    """The input: the prover chooses the words' initial values, with the input's length in bytes as the first.

    The first row is that word, whether it is accessed or not. The difference of its length to the longest input's is 32
    bits as well, in the columns of the gap, which a first row has no use for. Rows behind it have higher addresses, so
    no other row has a length.
    """

    name = "input_memory"
    columns = (*Region.columns, "initial[4]")

    def begins(self, t: TableBuilder) -> None:
        t.first_row(t.at - self.start)
        t.first_row(_limb(t.initial[:2]) + _limb(t.gap) - MAX_INPUT_BYTES)
        for half in t.initial[2:]:
            t.first_row(half)

    def define(self, t: TableBuilder) -> None:
        self.rises(t)
        for half in t.initial:
            t.lookup(VM, message(Tag.HALF, half))
        t.send(VM, message(Tag.ACCESS, t.at, 0, _limb(t.initial[:2]), _limb(t.initial[2:])), t.on, weight=1)
        t.receive(VM, message(Tag.ACCESS, t.at, t.t, t.lo, t.hi), t.on, weight=1)


def _limb(halves: Sequence[Expr]) -> Expr:
    """Return the limb with this lower and this upper half."""
    return linear(((1, halves[0]), (HALF, halves[1])))
