"""Values of a table's nodes on the rows of a trace, in NumPy, for the debugger. Selectors are 0 or 1 here."""

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

_BLOCK = 8192  # rows evaluated at a time: one column of them stays in the cache


def evaluate(
    description: AirDescription,
    main: np.ndarray,
    preprocessed: np.ndarray | None,
    public_values: Sequence[int],
    roots: Sequence[int],
) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Yield the values of nodes for consecutive blocks of rows.

    Args:
        description: the table.
        main: main trace, canonical uint64 (columns, rows); the row after the last one is the first.
        preprocessed: preprocessed trace, likewise, or None without one.
        public_values: public values of the table.
        roots: nodes to evaluate.

    Yields:
        The first row of the block, and for each node a uint64 array (rows in the block,).
    """
    nodes = description.nodes
    order = reachable(nodes, roots)
    last_use = {child: node for node in order for child in children(nodes[node])}
    results = set(roots)
    height = main.shape[1]
    for first in range(0, height, _BLOCK):
        rows = np.arange(first, min(first + _BLOCK, height))
        rows_at = (slice(first, first + len(rows)), (rows + 1) % height)  # by offset: this row, the next row
        values: dict[int, np.ndarray] = {}
        for node in order:
            op, a, b = nodes[node]
            if op == MAIN:
                value = main[a][rows_at[b]]
            elif op == PREPROCESSED:
                assert preprocessed is not None
                value = preprocessed[a][rows_at[b]]
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
                if last_use[child] == node and child not in results:
                    values.pop(child, None)
        yield first, [np.broadcast_to(values[root], len(rows)) for root in roots]
