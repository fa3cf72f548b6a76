"""Tables for benchmarks: of any width, height and number of interactions, with a satisfying trace."""

import numpy as np

from graphprover import Air, Bus, Statement, Table
from graphprover.field import P, array_add, array_mul

PAIR = 2  # elements of a message


class Synthetic(Air):
    """A table of ``width`` columns: free ones, cubes of them (degree 3, one column each), and permuted copies.

    Each pair of columns is sent on a bus and its copy received there: two interactions. Narrow tables reuse pairs.
    """

    unread = ("free",)  # some of them

    def __init__(self, width: int, interactions: int, name: str = "synthetic") -> None:
        copied = min(PAIR * (interactions // 2), width // 3)
        cubes = (width - 1 - copied) // 3
        self.name = name
        self.buses = [Bus(f"{name} {i}") for i in range(interactions // 2)]
        self.columns = ("row", f"free[{width - 1 - copied - cubes}]", f"cube[{cubes}]", f"copy[{copied}]")
        self.cubes, self.copied = cubes, copied

    def define(self, t) -> None:  # type: ignore[no-untyped-def]
        t.first_row(t.row)
        t.transition(t.next.row - t.row - 1)
        for i in range(self.cubes):
            t.every_row(t.cube[i] - t.free[i] * t.free[i + 1] * t.free[i + 2] - t.row)
        for i, bus in enumerate(self.buses):
            pair = [(PAIR * i + j) % self.copied for j in range(PAIR)]
            t.send(bus, [t.free[column] for column in pair])
            t.receive(bus, [t.copy[column] for column in pair])

    def trace(self, rows: int, seed: int = 0) -> np.ndarray:
        """Return a satisfying trace (columns, rows)."""
        random = np.random.default_rng(seed)
        main, t = self.zeros(rows)
        t.row[:] = np.arange(rows)
        t.free[:] = random.integers(0, P, t.free.shape, dtype=np.uint64)
        for i in range(self.cubes):
            product = array_mul(array_mul(t.free[i], t.free[i + 1]), t.free[i + 2])
            t.cube[i] = array_add(product, t.row)
        t.copy[:] = t.free[: self.copied, random.permutation(rows)]
        return main


def table(log_rows: int, width: int = 100, interactions: int = 20, name: str = "synthetic") -> Table:
    """Return one table with its trace."""
    air = Synthetic(width, interactions, name)
    return Table(air, (), air.trace(1 << log_rows))


def statement(log_rows: int, width: int = 100, interactions: int = 20) -> Statement:
    """Return a statement with one table of the benchmark's shape."""
    return Statement([table(log_rows, width, interactions)])
