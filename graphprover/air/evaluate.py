"""Values of a table's nodes on the rows of a trace, in NumPy: what the debugger sees. Selectors are 0 or 1 here."""

from collections.abc import Iterator, Sequence

import numpy as np

from graphprover.air.description import AirDescription, reachable
from graphprover.air.expression import (
    ADD,
    CONST,
    FIRST,
    LAST,
    MAIN,
    MUL,
    NEG,
    PREPROCESSED,
    PUBLIC,
    SUB,
    TRANSITION,
    children,
)
from graphprover.field import array_add, array_mul, array_sub

_BLOCK = 8192  # rows at a time: a column of them stays in the cache


def evaluate(
    description: AirDescription,
    main: np.ndarray,
    preprocessed: np.ndarray | None,
    public_values: Sequence[int],
    roots: Sequence[int],
) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Yields (first row, one uint64 array of values for each node in ``roots``) for consecutive blocks of rows.

    ``main`` and ``preprocessed`` are canonical uint64 of shape (columns, rows); the row after the last is the first.
    """
    nodes = description.nodes
    order = reachable(nodes, roots)
    last_use = {child: node for node in order for child in children(nodes[node])}
    kept = set(roots)
    height = main.shape[1]
    for first in range(0, height, _BLOCK):
        rows = np.arange(first, min(first + _BLOCK, height))
        window = (slice(first, first + len(rows)), (rows + 1) % height)
        values: dict[int, np.ndarray] = {}
        for node in order:
            op, a, b = nodes[node]
            if op == MAIN:
                value = main[a][window[b]]
            elif op == PREPROCESSED:
                assert preprocessed is not None
                value = preprocessed[a][window[b]]
            elif op in (CONST, PUBLIC):
                value = np.array([a if op == CONST else public_values[a]], dtype=np.uint64)
            elif op in (FIRST, LAST, TRANSITION):
                selected = rows == 0 if op == FIRST else (rows == height - 1) == (op == LAST)
                value = selected.astype(np.uint64)
            elif op == ADD:
                value = array_add(values[a], values[b])
            elif op == SUB:
                value = array_sub(values[a], values[b])
            elif op == MUL:
                value = array_mul(values[a], values[b])
            elif op == NEG:
                value = array_sub(np.zeros(1, dtype=np.uint64), values[a])
            values[node] = value
            for child in children(nodes[node]):
                if last_use[child] == node and child not in kept:
                    values.pop(child, None)
        yield first, [np.broadcast_to(values[root], len(rows)) for root in roots]
