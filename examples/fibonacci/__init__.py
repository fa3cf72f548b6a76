"""The smallest complete example, and the subject of docs/tables.md: ``result`` is Fibonacci number ``steps`` mod p."""

import numpy as np

from graphprover.air import Air, TableBuilder
from graphprover.field import P

ROWS = 1024


class Fibonacci(Air):
    """A table whose row i holds i, F(i) and F(i + 1)."""

    columns = ("step", "left", "right")
    public_values = ("steps", "result")

    def define(self, t: TableBuilder) -> None:
        t.first_row(t.step)
        t.first_row(t.left)
        t.first_row(t.right - 1)
        t.transition(t.next.step - t.step - 1)
        t.transition(t.next.left - t.right)
        t.transition(t.next.right - t.left - t.right)
        t.last_row(t.step - t.public.steps)
        t.last_row(t.left - t.public.result)


def trace(rows: int) -> tuple[np.ndarray, list[int]]:
    """Return the main trace of ``rows`` rows, a power of two, and its public values."""
    main, columns = Fibonacci().zeros(rows)
    left, right = 0, 1
    for row in range(rows):
        columns.step[row], columns.left[row], columns.right[row] = row, left, right
        left, right = right, (left + right) % P
    return main, [rows - 1, int(columns.left[-1])]


def tables() -> list[Air]:
    """Return the tables of the statement."""
    return [Fibonacci()]


def prove_inputs(data: bytes | None) -> list[tuple[np.ndarray, list[int]]]:
    """Return the main trace and public values. Raises ValueError for any input: the example has none."""
    if data is not None:
        raise ValueError("the fibonacci example takes no input")
    return [trace(ROWS)]


def describe(public_values: list[list[int]]) -> dict[str, str]:
    """Return the claim of a proof with these public values."""
    steps, result = public_values[0]
    return {"steps": str(steps), "result": str(result)}
