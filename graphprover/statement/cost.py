"""The cost number: one versioned number for the proving time of a run, known from the run alone.

It is a weighted sum of counts. The unit is the work of one committed cell. The weights were fitted to the times of
proofs on a GPU (`scripts/fit_cost.py`, docs/performance.md). A change of weights is a new version. The counts are those
of a proof in one shard, at the default layout policy and at rate 1/2, without a stated input, whatever the options of a
real proof.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from graphprover.air.degree import packed
from graphprover.air.description import AirDescription
from graphprover.statement.cells import cells_per_row

COST_NAME, COST_VERSION = "graphprover cost", 2

CELLS, CYCLES, WORDS, TABLES, PROOF = "cells", "cycles", "words", "tables", "proof"
WEIGHTS = {
    CELLS: 1,  # committed: main, lookup and quotient columns
    CYCLES: 11,  # traces are replayed cycle by cycle
    WORDS: 23_000,  # the cells of one row of every table, which a proof opens
    TABLES: 6_400_000,  # different tables, each with kernels and transcript messages of its own
    PROOF: 95_000_000,  # what every proof costs
}
REFERENCE, SECONDS_OF_UNIT = "one NVIDIA H200", 1.13e-10  # docs/performance.md has the errors


class CostLimit(Exception):
    """Raised for a run that costs more than was allowed; nothing was proved."""


@dataclass(frozen=True)
class CostClass:
    """One term of a cost."""

    name: str
    count: int
    weight: int

    @property
    def cost(self) -> int:
        """The term's share of the cost."""
        return self.count * self.weight


@dataclass(frozen=True)
class Cost:
    """The cost of proving a run.

    Attributes:
        value: The sum over all classes.
        version: The version of the weights; costs of different versions cannot be compared.
        classes: The terms of the sum.
    """

    value: int
    version: int
    classes: tuple[CostClass, ...]

    def __str__(self) -> str:
        return f"{self.value:,} ({COST_NAME} {self.version})"

    def check(self, limit: int | None) -> None:
        """Raise CostLimit if the cost is above a limit; None is no limit."""
        if limit is not None and self.value > limit:
            raise CostLimit(
                f"cost {self}, and the limit is {limit:,}: not proven; raise --max-cost to {self.value} or more, or "
                "make the run cheaper (`graphprover execute --profile` shows the cost of each function)"
            )


def cost_of_counts(*, cells: int, cycles: int, words: int, tables: int) -> Cost:
    """Return the cost of a proof with these counts; `WEIGHTS` describes them."""
    counts = {CELLS: cells, CYCLES: cycles, WORDS: words, TABLES: tables, PROOF: 1}
    classes = tuple(CostClass(name, counts[name], weight) for name, weight in WEIGHTS.items())
    return Cost(sum(one.cost for one in classes), COST_VERSION, classes)


def cost_of_tables(tables: Iterable[tuple[AirDescription, int]], cycles: int) -> Cost:
    """Return the cost of a proof of these tables, each with its height, about a run of ``cycles`` cycles."""
    cells = words = 0
    names = set()
    for air, height in tables:
        row = cells_per_row(packed(air, 0))
        words += row
        cells += height * row
        names.add(air.name)
    return cost_of_counts(cells=cells, cycles=cycles, words=words, tables=len(names))


def cost_of_part(cells: int, cycles: int) -> int:
    """Return the cost of a part of a run, such as a function: the terms that add up over the parts."""
    return WEIGHTS[CELLS] * cells + WEIGHTS[CYCLES] * cycles
