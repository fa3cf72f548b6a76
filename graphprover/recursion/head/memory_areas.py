"""The areas of a run's memory and the gates over them, for proofs of a layout.

Addresses are relative to the first area: the areas follow the words of the head that are read, whose number depends
on the gates.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from graphprover.field import EXTENSION_DEGREE
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.protocol.layout import MAIN, PERMUTATION, QUOTIENT, Layout
from graphprover.recursion.head.batching import Batching, add_batching
from graphprover.recursion.head.constraints import add_constraints
from graphprover.recursion.head.gates import Gates
from graphprover.recursion.head.inputs import GateInputs
from graphprover.recursion.head.messages import ConstantSizes, further_digests
from graphprover.recursion.head.words import (
    BETA_CELLS,
    CHALLENGES,
    ELEMENT_CELLS,
    FRAME_ELEMENTS,
    HEIGHT_CELLS,
    SHIFT,
    STREAM_WORDS,
    UNROLLED,
)
from graphprover.recursion.tables.segments import padded

Name = str | tuple[str, int] | tuple[str, int, int] | tuple[str, "Name"]
_REACH = UNROLLED * EXTENSION_DEGREE  # opened values beyond the last one that chains and joins read


class Unit(Enum):
    """The unit of an area's size."""

    MESSAGE = auto()  # words of a message, in whole blocks: the program reads them to the end of the last one
    WORDS = auto()  # words in whole blocks
    CELLS = auto()


class Area(NamedTuple):
    """Cells of memory side by side."""

    name: Name
    unit: Unit
    size: int
    elements: int = 0  # that the last words of a message are
    spare: int = 0  # more elements that the program reads
    at: int = 0  # address of the first cell

    @property
    def cells(self) -> int:
        """The number of cells."""
        if self.unit == Unit.CELLS:
            return self.size
        of_frames = SHIFT * self.first_element + self.frames * ELEMENT_CELLS * FRAME_ELEMENTS
        return max(SHIFT * padded(self.size), of_frames if self.elements else 0)

    @property
    def first_element(self) -> int:
        """The number of the first word of an element."""
        return self.size - EXTENSION_DEGREE * self.elements

    @property
    def elements_at(self) -> int:
        """The address of that word."""
        return self.at + SHIFT * self.first_element

    @property
    def frames(self) -> int:
        """The number of frames that make the elements."""
        return -(-(self.elements + self.spare) // FRAME_ELEMENTS) if self.elements else 0


@dataclass(frozen=True, eq=False)
class Areas:
    """All areas by name, and the gates over them."""

    by_name: Mapping[Name, Area]
    gates: Gates
    batching: Batching

    def __getitem__(self, name: Name) -> Area:
        return self.by_name[name]

    def work_after(self, message: Name) -> Area | None:
        """Return the area of the message with the nonce after a message, if there is one."""
        return self.by_name.get(("work", message))

    @property
    def cells(self) -> int:
        """The number of cells of all areas."""
        last = [*self.by_name.values()][-1]
        return last.at + last.cells

    @cached_property
    def zeros(self) -> np.ndarray:
        """Addresses of cells that the program reads and that mean nothing: after messages, int64."""
        messages = (area for area in self.by_name.values() if area.unit == Unit.MESSAGE)
        return np.concatenate(
            [np.arange(area.at + SHIFT * area.size, area.at + area.cells, SHIFT) for area in messages]
        )

    def with_stream(self, digests: int) -> "Areas":
        """Return the areas with room for further digests of queries, of which these have none."""
        stream = self["stream"]
        longer = stream._replace(size=_stream_cells(digests))
        areas = placed_areas(longer if area is stream else area for area in self.by_name.values())
        return Areas(areas, self.gates.moved(stream.at, longer.size), self.batching)


def areas_of(layout: Layout, constants: ConstantSizes, public_values: Sequence[int]) -> Areas:
    """Return the areas and the gates.

    Args:
        layout: Shape of the proofs.
        constants: The sizes of the constant parts of their messages.
        public_values: The number of public values of each table.
    """
    areas = placed_areas(_declared(layout, constants))
    inputs = GateInputs(
        opened=areas["opening"].elements_at,
        joined_quotient=areas["joined", QUOTIENT].at,
        joined_permutation=areas["joined", PERMUTATION].at,
        public_values=[*_addresses(stated_at(areas["main"], constants), public_values)],
        terminals=areas["permutation"].elements_at,
        suffixes=areas["sums"].at,
        **{name: areas["challenges"].at + i for i, name in enumerate(CHALLENGES)},
    )
    gates = Gates()
    add_constraints(gates, layout, inputs)
    return Areas(areas, gates, add_batching(gates, layout, inputs))


def placed_areas(areas: Iterable[Area], at: int = 0) -> dict[Name, Area]:
    """Return areas by name, one after another from an address on."""
    found: dict[Name, Area] = {}
    for area in areas:
        found[area.name] = area._replace(at=at)
        at += area.cells
    return found


def _declared(layout: Layout, constants: ConstantSizes) -> list[Area]:
    """Return all areas in the order of their addresses."""
    own, opened, widths = layout.parameters, opened_counts(layout), row_widths(layout)
    values, terminals, coefficients = sum(opened.values()), len(layout.lookup_tables), 1 << own.log_final_poly_len
    digest, cap, element = DIGEST_WORDS, DIGEST_WORDS, EXTENSION_DEGREE
    main = constants.before_main + cap + constants.after_main
    before_permutation = constants.joint if layout.shard else digest
    areas = [*_message("main", main, work=0 if layout.shard else own.lookup_pow_bits)]
    areas.append(Area("again", Unit.WORDS, digest))  # the first lookup digest of a proof in one shard
    if layout.shard:
        columns = sum(air.main_width for air in layout.tables)
        areas += _message("separated", digest + element * columns)
    areas += _message("permutation", before_permutation + cap + element * terminals, terminals)
    areas += _message("quotient", digest + cap, work=own.ood_pow_bits)
    areas += _message("opening", digest + constants.opening + element * values, values, _REACH, work=own.batch_pow_bits)
    for i in range(len(layout.fold_log_arities)):
        areas += _message(("fold", i), digest + cap + constants.fri * (i == 0), work=own.commit_pow_bits)
    areas += _message("last", digest + element * coefficients, coefficients, work=own.query_pow_bits)
    areas += [
        Area("stream", Unit.CELLS, _stream_cells(further_digests(layout))),  # digests that queries are drawn from
        Area("challenges", Unit.CELLS, len(CHALLENGES)),
        Area("sums", Unit.CELLS, values + UNROLLED),  # of the chain of opened values
    ]
    for name in (QUOTIENT, PERMUTATION):
        areas.append(Area(("joined", name), Unit.CELLS, opened[name] // EXTENSION_DEGREE + UNROLLED))
    # Two weights a word. The main rows of a shard have weights at its separating point, too.
    areas += [Area(("weights", *place), Unit.WORDS, width) for place, width in widths.items()]
    if layout.shard:
        main_rows = {log: width for (tree, log), width in widths.items() if tree == main_tree(layout)}
        areas += [Area(("separating", log), Unit.WORDS, width) for log, width in main_rows.items()]
    heights = records_of_height(layout) * len(layout.fri_log_heights)
    areas.append(Area("heights", Unit.CELLS, HEIGHT_CELLS * heights))
    areas.append(Area("betas", Unit.CELLS, BETA_CELLS * len(layout.fold_log_arities)))
    return areas


def _message(name: Name, words: int, elements: int = 0, spare: int = 0, work: int = 0) -> Iterator[Area]:
    """Yield the area of a message, and the one of the message with the nonce after it; ``work``: its bits."""
    yield Area(name, Unit.MESSAGE, words, elements, spare)
    if work:
        yield Area(("work", name), Unit.WORDS, DIGEST_WORDS + 1)


def _stream_cells(digests: int) -> int:
    return SHIFT * STREAM_WORDS * digests


def stated_at(main: Area, constants: ConstantSizes) -> int:
    """Return the address of the first public value."""
    return main.at + SHIFT * (constants.before_main + DIGEST_WORDS)


def opened_counts(layout: Layout) -> dict[str, int]:
    """Return the number of opened values of each round, by its name."""
    return {
        round_.name: sum(len(matrix.points) * matrix.width for matrix in round_.matrices) for round_ in layout.rounds
    }


def records_of_height(layout: Layout) -> int:
    """Return the number of records (`HeightWord`) about each height."""
    return 2 if layout.shard else 1


def main_tree(layout: Layout) -> int:
    """Return the number of the tree of the main round among the trees of a proof."""
    return [round_.name for round_ in layout.rounds].index(MAIN)


def row_widths(layout: Layout) -> dict[tuple[int, int], int]:
    """Return the words of an opened row, by round and log2 of the height, the tallest height first."""
    return {
        (tree, log_rows): sum(widths)
        for log_rows in layout.fri_log_heights
        for tree, round_ in enumerate(layout.rounds)
        if (widths := [matrix.width for matrix in round_.matrices if matrix.log_rows == log_rows])
    }


def _addresses(at: int, counts: Sequence[int]) -> Iterator[list[int]]:
    """Yield the addresses of each table's public values."""
    for first, count in zip(accumulate(counts, initial=0), counts, strict=False):
        yield [at + SHIFT * (first + i) for i in range(count)]
