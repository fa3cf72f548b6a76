"""Changes of single cells of a satisfying trace."""

from collections.abc import Iterator, Sequence

import numpy as np

from graphprover.air import Air
from graphprover.field import P
from graphprover.statement.check import check
from graphprover.statement.statement import Statement, Table

Inputs = list[tuple[np.ndarray, list[int]]]


def unnoticed(tables: Sequence[Air], inputs: Inputs, samples: int, seed: int = 0) -> list[tuple[str, str, int]]:
    """Return the sampled cells whose change the debugger does not report.

    Each is (table, column, row); ``samples`` cells of each table, or all if it has fewer.
    """
    rng = np.random.default_rng(seed)
    missed = []
    for i, (air, (main, _)) in enumerate(zip(tables, inputs, strict=True)):
        for cell in rng.permutation(main.size)[:samples]:
            column, row = divmod(int(cell), main.shape[1])
            for change in (1, int(rng.integers(2, P, dtype=np.uint64))):
                changed = main.copy()
                changed[column, row] = (int(main[column, row]) + change) % P
                if not check(with_trace(tables, inputs, i, changed)):
                    missed.append((air.name, air.describe().main_names[column], row))
    return missed


def stated(tables: Sequence[Air], inputs: Inputs) -> Statement:
    """Return the statement of tables with these traces and public values."""
    return Statement([Table(air, values, main) for air, (main, values) in zip(tables, inputs, strict=True)])


def with_trace(tables: Sequence[Air], inputs: Inputs, index: int, main: np.ndarray) -> Statement:
    """Return the statement with the trace of one table replaced."""
    return stated(tables, [*inputs[:index], (main, inputs[index][1]), *inputs[index + 1 :]])


def wrong_public_values(inputs: Inputs) -> Iterator[Inputs]:
    """Yield the inputs with each public value in turn increased by one."""
    for i, (main, values) in enumerate(inputs):
        for j in range(len(values)):
            changed = [*values[:j], values[j] + 1, *values[j + 1 :]]
            yield [*inputs[:i], (main, changed), *inputs[i + 1 :]]
