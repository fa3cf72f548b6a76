"""The arrays of a run and the gates over them, for proofs of a layout.

Addresses are relative to the first array: the arrays follow the words of the head that are read, whose number depends
on the gates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import numpy as np

from graphprover.field import EXTENSION_DEGREE
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.protocol.layout import MAIN, PERMUTATION, QUOTIENT, Layout
from graphprover.recursion.head.batching import Batching, add_batching
from graphprover.recursion.head.constraints import add_constraints
from graphprover.recursion.head.fields import (
    BETA_CELLS,
    CHALLENGES,
    ELEMENT_CELLS,
    FRAME_ELEMENTS,
    HEIGHT_CELLS,
    SHIFT,
    STREAM_WORDS,
    UNROLLED,
)
from graphprover.recursion.head.gates import Gates
from graphprover.recursion.head.inputs import Inputs
from graphprover.recursion.head.messages import ConstantSizes, further_digests
from graphprover.recursion.tables.segments import STRIDE, padded

_REACH = UNROLLED * EXTENSION_DEGREE  # opened values beyond the last one that chains and joins read


@dataclass(frozen=True)
class Planned:
    """A message, and the proof of work after it."""

    at: int  # address of its first word
    words: int
    elements: int = 0  # number of its first word that belongs to an element
    frames: int = 0  # of elements
    works: bool = False  # whether a proof of work follows
    work_at: int = 0  # address of the message with the nonce


@dataclass(frozen=True, eq=False)
class Plan:
    """The arrays and the gates."""

    main: Planned
    again: int  # address of the message that is the first lookup digest of a proof in one shard
    separated: Planned | None  # of a shard
    permutation: Planned
    quotient: Planned
    opening: Planned
    folds: tuple[Planned, ...]
    last: Planned
    stream: int  # address of the messages whose digests queries are drawn from
    challenges: int
    sums: int  # address of the chain's sums
    joins: tuple[int, int]  # address of the joined values of quotients and of permutation columns
    weights: dict[tuple[int, int], int]  # address of the weights, by round and log2 of the height
    separating: dict[int, int]  # of a shard: address of the weights at its separating point, by log2 of the height
    heights: int
    betas: int
    cells: int  # of all arrays
    public_values: int  # address of the first one
    zeros: np.ndarray  # addresses of cells that the program reads and that mean nothing, int64
    gates: Gates
    batching: Batching

    @property
    def opened(self) -> int:
        """Address of the first opened value's first word."""
        return self.opening.at + SHIFT * self.opening.elements

    def with_stream(self, digests: int) -> "Plan":
        """Return the plan with room for further digests of queries, of which this one has none.

        All arrays from the stream on move.
        """
        by = SHIFT * STREAM_WORDS * digests
        quotient, permutation = self.joins
        return replace(
            self,
            challenges=self.challenges + by,
            sums=self.sums + by,
            joins=(quotient + by, permutation + by),
            weights={place: at + by for place, at in self.weights.items()},
            separating={log_rows: at + by for log_rows, at in self.separating.items()},
            heights=self.heights + by,
            betas=self.betas + by,
            cells=self.cells + by,
            gates=self.gates.moved(self.stream, by),
        )


@dataclass(eq=False)
class _Area:
    """Cells that are taken one after another."""

    size: int = 0
    zeros: list[np.ndarray] = field(default_factory=list)

    def take(self, cells: int) -> int:
        self.size += cells
        return self.size - cells

    def message(self, words: int, elements: int = 0, spare: int = 0, works: bool = False) -> Planned:
        """Take a message whose last words are elements; ``spare``: more elements that are read."""
        end, frames = SHIFT * padded(words), 0
        if elements:
            frames = -(-(elements + spare) // FRAME_ELEMENTS)
            first = words - EXTENSION_DEGREE * elements
            end = max(end, SHIFT * first + frames * ELEMENT_CELLS * FRAME_ELEMENTS)
        at = self.take(end)
        self.zeros.append(np.arange(at + SHIFT * words, at + end, SHIFT))
        work_at = self.take(SHIFT * padded(DIGEST_WORDS + 1)) if works else 0
        return Planned(at, words, words - EXTENSION_DEGREE * elements, frames, works, work_at)


def plan_of(layout: Layout, constants: ConstantSizes, public_values: Sequence[int]) -> Plan:
    """Return the arrays and the gates.

    Args:
        layout: Shape of the proofs.
        constants: The sizes of the constant parts of their messages.
        public_values: The number of public values of each table.
    """
    area, parameters = _Area(), layout.parameters
    opened = opened_counts(layout)
    terminals = len(layout.lookup_tables)
    before, cap = constants.before_main, DIGEST_WORDS
    alone = not layout.shard and parameters.lookup_pow_bits > 0
    main = area.message(before + cap + constants.after_main, works=alone)
    again = area.take(SHIFT * padded(DIGEST_WORDS))
    separated = area.message(DIGEST_WORDS + EXTENSION_DEGREE * _main_columns(layout)) if layout.shard else None
    first = constants.joint if layout.shard else DIGEST_WORDS
    permutation = area.message(first + cap + EXTENSION_DEGREE * terminals, terminals)
    quotient = area.message(DIGEST_WORDS + cap, works=parameters.ood_pow_bits > 0)
    words = DIGEST_WORDS + constants.opening + EXTENSION_DEGREE * sum(opened.values())
    opening = area.message(words, sum(opened.values()), _REACH, works=parameters.batch_pow_bits > 0)
    folds = [
        area.message(DIGEST_WORDS + cap + constants.fri * (i == 0), works=parameters.commit_pow_bits > 0)
        for i in range(len(layout.fold_log_arities))
    ]
    coefficients = 1 << parameters.log_final_poly_len
    last = area.message(
        DIGEST_WORDS + EXTENSION_DEGREE * coefficients, coefficients, works=parameters.query_pow_bits > 0
    )
    stream = area.take(SHIFT * STREAM_WORDS * further_digests(layout))
    challenges, sums = area.take(len(CHALLENGES)), area.take(sum(opened.values()) + UNROLLED)
    of_quotient, of_permutation = (
        area.take(opened[name] // EXTENSION_DEGREE + UNROLLED) for name in (QUOTIENT, PERMUTATION)
    )
    widths = row_widths(layout)
    weights = {place: area.take(STRIDE * padded(width)) for place, width in widths.items()}
    separating = {}
    if layout.shard:
        main_rows = {log: width for (tree, log), width in widths.items() if tree == main_tree(layout)}
        separating = {log: area.take(STRIDE * padded(width)) for log, width in main_rows.items()}
    heights = area.take(HEIGHT_CELLS * records_of_height(layout) * len(layout.fri_log_heights))
    betas = area.take(BETA_CELLS * len(folds))
    stated = main.at + SHIFT * (before + cap)
    gates, first_opened = Gates(), opening.at + SHIFT * opening.elements
    inputs = Inputs(
        opened=first_opened,
        joined_quotient=of_quotient,
        joined_permutation=of_permutation,
        public_values=[*_addresses(stated, public_values)],
        terminals=permutation.at + SHIFT * permutation.elements,
        suffixes=sums,
        **{name: challenges + i for i, name in enumerate(CHALLENGES)},
    )
    add_constraints(gates, layout, inputs)
    batching = add_batching(gates, layout, inputs)
    return Plan(
        main,
        again,
        separated,
        permutation,
        quotient,
        opening,
        tuple(folds),
        last,
        stream,
        challenges,
        sums,
        (of_quotient, of_permutation),
        weights,
        separating,
        heights,
        betas,
        area.size,
        stated,
        np.concatenate(area.zeros),
        gates,
        batching,
    )


def opened_counts(layout: Layout) -> dict[str, int]:
    """Return the number of opened values of each round, by its name."""
    return {
        round_.name: sum(len(matrix.points) * matrix.width for matrix in round_.matrices) for round_ in layout.rounds
    }


def records_of_height(layout: Layout) -> int:
    """Return the number of records (`Height`) about each height."""
    return 2 if layout.shard else 1


def main_tree(layout: Layout) -> int:
    """Return the number of the tree of the main round among the trees of a proof."""
    return [round_.name for round_ in layout.rounds].index(MAIN)


def _main_columns(layout: Layout) -> int:
    return sum(air.main_width for air in layout.tables)


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
