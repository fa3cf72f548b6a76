"""Public words of memory: a stated input's at the start, the output's at the end."""

from collections.abc import Iterator
from math import isqrt

from graphprover.air import Air, TableBuilder
from graphprover.air.expression import Operand
from graphprover.air.linear import linear
from graphprover.field import EXTENSION_DEGREE
from graphprover.vm.program.io import INPUT_BASE, OUTPUT_BASE
from graphprover.vm.tables.buses import VM, Tag, message
from graphprover.vm.tables.step import paired


class PublicWords(Air):
    """Words from ``base`` on, in order, each given by a public value: several a row, one in each lane.

    Flags name the row. They are constants, 1 in the row of their number only, and so are the addresses and the
    multiplicities of all rows; a public word is the sum of flags times public values. A row costs a column, a lane its
    own columns and a fraction: their numbers minimize the sum.
    """

    base: int  # address of the first word
    own: tuple[str, ...]  # columns of a lane

    def __init__(self, words: int) -> None:
        self.words = words
        self.lanes = min(range(1, isqrt(words) + 2), key=lambda lanes: self.opened(words, lanes))
        self.rows = -(-words // self.lanes)  # rows with words
        self.columns = (f"row[{self.rows}]", *(f"{name}[{self.lanes}]" for name in self.own))
        self.public_values = (f"word[{words}][2]",)

    @classmethod
    def opened(cls, words: int, lanes: int) -> int:
        """Return the columns of flags, lanes and fractions for this number of words in this number of lanes."""
        return -(-words // lanes) + lanes * (len(cls.own) + EXTENSION_DEGREE)

    @property
    def main_width(self) -> int:
        """Return the main columns of its description, without making it, which takes time for each word."""
        return self.rows + self.lanes * len(self.own)

    def placed(self, t: TableBuilder) -> Iterator[tuple[int, Operand, Operand, list[Operand]]]:
        """State the flags; yield of each lane its number, whether a row has it, its address and its word."""
        t.every_row(paired(t.row[0]), "the first row or not")
        for i, flag in enumerate(t.row):
            t.first_row(flag - (1 if i == 0 else 0))
            t.transition(t.next.row[i] - (t.row[i - 1] if i else 0))
        first = linear((self.base + 8 * self.lanes * i, flag) for i, flag in enumerate(t.row))
        for lane in range(self.lanes):
            numbers = range(lane, self.words, self.lanes)
            flags = t.row[: len(numbers)]  # the last row may have fewer
            stated = [(flag, t.public.word[i]) for i, flag in zip(numbers, flags, strict=True)]
            word = [sum(flag * limbs[part] for flag, limbs in stated) for part in range(2)]
            yield lane, sum(flags), first + 8 * lane, word


class StatedInput(PublicWords):
    """The first words of the input, public."""

    name = "stated_input"
    base = INPUT_BASE
    own = ("t", "lo", "hi")

    def define(self, t: TableBuilder) -> None:
        for lane, on, at, word in self.placed(t):
            t.send(VM, message(Tag.ACCESS, at, 0, *word), on, weight=1)
            t.receive(VM, message(Tag.ACCESS, at, t.t[lane], t.lo[lane], t.hi[lane]), on, weight=1)


class OutputMemory(PublicWords):
    """The first words from OUTPUT_BASE on: 0 at the start, public at the end."""

    name = "output_memory"
    base = OUTPUT_BASE
    own = ("t",)

    def define(self, t: TableBuilder) -> None:
        for lane, on, at, word in self.placed(t):
            t.send(VM, message(Tag.ACCESS, at, 0, 0, 0), on, weight=1)
            t.receive(VM, message(Tag.ACCESS, at, t.t[lane], *word), on, weight=1)
