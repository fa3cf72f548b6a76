"""The parts of a text report, and their layout without a terminal."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

_NUMBER = re.compile(r"-|[\d,.^]*%?( ([kMGT]|([KMGT]i)?B))?")  # a cell of a numeric column, or a missing number


@dataclass(frozen=True)
class Section:
    """A table of cells, with commas in integers."""

    rows: Sequence[Sequence[object]]
    title: str = ""
    headed: bool = True  # the first row has the column names

    @cached_property
    def cells(self) -> list[list[str]]:
        """Return the text of all cells, by row."""
        return [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in self.rows]

    @cached_property
    def numeric(self) -> list[bool]:
        """Return whether each column holds only numbers, which are aligned to the right."""
        columns = zip(*self.cells[self.headed :], strict=True)
        return [all(map(_NUMBER.fullmatch, column)) for column in columns]


Block = str | Mapping[str, str] | Section  # a line, values by name, or a table


def plain(block: Block) -> str:
    """Return a block of a report as plain text, with aligned columns."""
    if isinstance(block, str):
        return block
    if isinstance(block, Section):
        return "\n".join([block.title] * bool(block.title) + list(_aligned(block)))
    width = max(map(len, block), default=0)
    further = "\n" + " " * (width + 2)  # lines of a value
    return "\n".join(f"{name.ljust(width)}  {value.replace(chr(10), further)}" for name, value in block.items())


def _aligned(section: Section) -> Iterable[str]:
    numeric = section.numeric
    widths = [max(map(len, column)) for column in zip(*section.cells, strict=True)]
    for row in section.cells:
        aligned = zip(row, widths, numeric, strict=True)
        yield (
            "  "
            + "  ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in aligned).rstrip()
        )
