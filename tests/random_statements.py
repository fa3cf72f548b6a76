"""Random satisfied statements: tables with valid traces, balanced buses, and suitable parameters.

Expressions are drawn as trees of tuples, which are evaluated twice: as expressions of a table and as columns of
numbers. Every constraint sets one column to a drawn expression of others, so that the column is computed by it.
"""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from graphprover import air as airs
from graphprover.field import P, array_add, array_mul, array_sub
from graphprover.protocol.parameters import Parameters
from graphprover.statement.statement import Statement, Table

MAX_WIDTH = 40
MAX_INTERACTIONS = 12

Tree = tuple[Any, ...]  # ("main" | "preprocessed" | "public", index, row offset), ("constant", value), or ("+", a, b)
Leaf = Callable[[Tree], Any]


def read(tree: Tree, leaf: Leaf) -> Any:
    """Return the tree's value; ``leaf`` returns the values of leaves, which may be any objects with operators."""
    if tree[0] == "+":
        return read(tree[1], leaf) + read(tree[2], leaf)
    if tree[0] == "-":
        return read(tree[1], leaf) - read(tree[2], leaf)
    if tree[0] == "*":
        return read(tree[1], leaf) * read(tree[2], leaf)
    if tree[0] == "neg":
        return -read(tree[1], leaf)
    return leaf(tree)


class Numbers:
    """A column of field elements with operators."""

    def __init__(self, words: np.ndarray) -> None:
        self.words = words

    def __add__(self, other: "Numbers") -> "Numbers":
        return Numbers(array_add(self.words, other.words))

    def __sub__(self, other: "Numbers") -> "Numbers":
        return Numbers(array_sub(self.words, other.words))

    def __mul__(self, other: "Numbers") -> "Numbers":
        return Numbers(array_mul(self.words, other.words))

    def __neg__(self) -> "Numbers":
        return Numbers(array_sub(np.zeros_like(self.words), self.words))


class Sketch(airs.Air):
    """A table while it is drawn, and when it is finished."""

    def __init__(self, name: str, rows: int) -> None:
        self.name = name
        self.rows = rows
        self.main: list[np.ndarray] = []
        self.fixed: list[np.ndarray] = []  # preprocessed columns
        self.public: list[int] = []
        self.rules: list[tuple[str, Tree]] = []  # method of the table, expression that is zero
        self.messages: list[tuple[str, str, list[Tree], Tree, int]] = []  # method, bus, fields, count, weight
        self.shuffles: list[list[tuple[list[Tree], Tree, int]]] = []  # fields, count, weight for each local lookup

    @property
    def columns(self) -> list[str]:  # type: ignore[override]
        return [f"main[{len(self.main)}]"]

    @property
    def preprocessed(self) -> list[str]:  # type: ignore[override]
        return [f"fixed[{len(self.fixed)}]"] if self.fixed else []

    @property
    def public_values(self) -> list[str]:  # type: ignore[override]
        return [f"values[{len(self.public)}]"] if self.public else []

    def preprocessed_trace(self) -> np.ndarray:
        return np.array(self.fixed)

    def define(self, t: Any) -> None:
        def leaf(tree: Tree) -> Any:
            kind, index, *offset = tree
            if kind == "constant":
                return t.main[0] * 0 + index  # an expression even if the other operand is a constant
            if kind == "public":
                return t.public.values[index]
            row = t.next if offset[0] else t
            return (row.main if kind == "main" else row.fixed)[index]

        for method, zero in self.rules:
            getattr(t, method)(read(zero, leaf))
        for method, bus, fields, count, weight in self.messages:
            options = {} if method == "provide" else {"weight": weight}
            getattr(t, method)(airs.Bus(bus), [read(f, leaf) for f in fields], read(count, leaf), **options)
        for tuples in self.shuffles:
            t.local_lookup(*(airs.sent([read(f, leaf) for f in fs], read(c, leaf), weight=w) for fs, c, w in tuples))

    def values(self, tree: Tree) -> np.ndarray:
        """Return the tree's value on every row; the next row of the last one is the first."""

        def leaf(tree: Tree) -> Numbers:
            kind, index, *offset = tree
            if kind in ("constant", "public"):
                value = index if kind == "constant" else self.public[index]
                return Numbers(np.full(self.rows, value, dtype=np.uint64))
            return Numbers(np.roll((self.main if kind == "main" else self.fixed)[index], -offset[0]))

        return read(tree, leaf).words

    def add(self, words: np.ndarray) -> Tree:
        """Add a main column and return its leaf."""
        self.main.append(np.asarray(words, dtype=np.uint64))
        return ("main", len(self.main) - 1, 0)


def words(rng: random.Random, count: int) -> np.ndarray:
    """Return random field elements, including extreme ones."""
    return np.array([rng.choice((0, 1, P - 1, rng.randrange(P), rng.randrange(P))) for _ in range(count)], np.uint64)


def draw_tree(rng: random.Random, table: Sketch, degree: int, *, next_row: bool, depth: int = 3) -> Tree:
    """Return an expression of at most this degree over the columns so far."""
    leaves: list[Tree] = [("constant", rng.choice((0, 1, 2, P - 1, rng.randrange(P))))]
    leaves += [("public", i) for i in range(len(table.public))]
    if degree:
        offsets = (0, 1) if next_row else (0,)
        leaves += [("main", i, offset) for i in range(len(table.main)) for offset in offsets] * 3
        leaves += [("preprocessed", i, offset) for i in range(len(table.fixed)) for offset in offsets] * 3
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(leaves)
    op = rng.choice("+-***" if degree > 1 else "+-") if rng.random() < 0.9 else "neg"
    if op == "neg":
        return (op, draw_tree(rng, table, degree, next_row=next_row, depth=depth - 1))
    if op == "*":  # the unused degree bounds it, so that high degrees occur
        left = rng.randint(1, degree - 1)
        degrees, depth = (left, degree - left), max(depth, 2)
    else:
        degrees = (degree, degree)
    return (op, *(draw_tree(rng, table, degree, next_row=next_row, depth=depth - 1) for degree in degrees))


def draw_table(rng: random.Random, name: str, rows: int, width: int, degree: int) -> Sketch:
    """Return a table without interactions: free columns, and columns computed by rules from earlier ones."""
    table = Sketch(name, rows)
    table.fixed = [words(rng, rows) for _ in range(rng.choice((0, 0, 0, 1, 2, 5)))]
    table.public = [int(word) for word in words(rng, rng.choice((0, 0, 1, 3)))]
    table.add(words(rng, rows))
    across = rng.random() < 0.7  # whether rules read the next row
    while len(table.main) < width:
        kind = rng.choice(("free", "same", "same", "next", "sum") if across else ("free", "same"))
        if kind == "free":
            table.add(words(rng, rows))
        elif kind == "same":
            # The last row's next row has computed cells, which may not be read, so this reads one row.
            tree = draw_tree(rng, table, degree, next_row=False)
            column = table.add(table.values(tree))
            table.rules.append(("every_row", ("-", column, tree)))
        else:
            tree = draw_tree(rng, table, degree, next_row=True)
            steps = table.values(tree)
            first = rng.choice(table.public) if table.public else rng.randrange(P)
            cells = [first]
            for step in steps[:-1]:
                cells.append((int(step) + (cells[-1] if kind == "sum" else 0)) % P)
            column = table.add(np.array(cells, dtype=np.uint64))
            after = (*column[:2], 1)
            rule = ("-", after, tree)
            table.rules.append(("transition", ("-", rule, column) if kind == "sum" else rule))
            if table.public and rng.random() < 0.5:
                table.rules.append(("first_row", ("-", column, ("public", table.public.index(first)))))
        if rng.random() < 0.1:
            table.public.append(int(table.main[-1][-1]))
            table.rules.append(("last_row", ("-", ("main", len(table.main) - 1, 0), ("public", len(table.public) - 1))))
    return table


def room(table: Sketch, columns: int, interactions: int = 1) -> bool:
    """Return whether the table may grow by this number of columns."""
    used = len(table.messages) + len(table.shuffles)
    return len(table.main) + columns <= MAX_WIDTH and used + interactions <= MAX_INTERACTIONS


def draw_query(rng: random.Random, asker: Sketch, bus: str, entries: np.ndarray, *, as_lookup: bool) -> np.ndarray:
    """Look up random entries (fields, rows) of a bus's table in new columns; return the count of each entry."""
    chosen = np.array([rng.randrange(entries.shape[1]) for _ in range(asker.rows)])
    shift = rng.choice((0, 0, 5))
    fields: list[Tree] = []
    for element in entries[:, chosen]:
        column = asker.add(array_sub(element, np.full_like(element, shift)))
        fields.append(("+", column, ("constant", shift)))
    times = rng.choice((1, 1, 3))
    count: Tree = ("constant", times)
    asked = np.full(asker.rows, times)
    if rng.random() < 0.6:
        flags = np.array([rng.random() < 0.7 for _ in range(asker.rows)])
        active = asker.add(flags)
        asker.rules.append(("boolean", active))
        count, asked = ("*", active, count), asked * flags
    asker.messages.append(("lookup" if as_lookup else "send", bus, fields, count, times))
    return np.bincount(chosen, weights=asked, minlength=entries.shape[1]).astype(np.uint64)


def draw_bus(rng: random.Random, bus: str, tables: list[Sketch]) -> None:
    """Let one table provide expressions and others look them up; do nothing if there is no room."""
    provider, *askers = rng.sample(tables, rng.randint(1, len(tables)))
    width = rng.randint(1, 4)
    askers = [asker for asker in askers or [provider] if room(asker, width + 1, 2)]
    if not room(provider, width + 2, 2) or not askers:
        return
    fields = [draw_tree(rng, provider, rng.randint(1, 2), next_row=rng.random() < 0.3, depth=2) for _ in range(width)]
    entries = np.array([provider.values(tree) for tree in fields])
    as_lookup = rng.random() < 0.7
    # The count's column is last, so that it includes the provider's own lookups.
    counts = np.zeros(provider.rows, dtype=np.uint64)
    for asker in askers:
        for _ in range(rng.choice((1, 1, 2, 4))):
            if room(asker, width + 3, 2):
                counts += draw_query(rng, asker, bus, entries, as_lookup=as_lookup)
    count = provider.add(counts)
    if as_lookup:
        provider.messages.append(("provide", bus, fields, count, 0))
    else:
        provider.messages.append(("receive", bus, fields, count, max(1, int(counts.max()))))


def draw_shuffle(rng: random.Random, table: Sketch) -> None:
    """Add a local lookup: some columns sent, and received from new columns in another order."""
    width = rng.randint(1, 3)
    if not room(table, width):
        return
    fields = [draw_tree(rng, table, rng.randint(1, 2), next_row=rng.random() < 0.3, depth=2) for _ in range(width)]
    order = np.array(rng.sample(range(table.rows), table.rows))
    shuffled: list[Tree] = [table.add(table.values(tree)[order]) for tree in fields]
    times = rng.choice((1, 2))
    table.shuffles.append([(fields, ("constant", times), times), (shuffled, ("constant", P - times), times)])


def draw_parameters(rng: random.Random, log_heights: list[int]) -> Parameters:
    """Return parameters that admit tables of these heights, with little grinding."""
    log_blowup = rng.choice((1, 1, 2, 3))
    return Parameters(
        hash="keccak",
        log_blowup=log_blowup,
        num_queries=rng.choice((1, 2, 5, 20)),
        log_final_poly_len=rng.randint(0, max(0, min(4, min(log_heights) - 1))),
        max_log_arity=rng.randint(1, 4),
        cap_height=rng.randint(0, min(4, min(log_heights) + log_blowup)),
        lookup_pow_bits=rng.choice((0, 3)),
        ood_pow_bits=rng.choice((0, 3)),
        batch_pow_bits=rng.choice((0, 3)),
        commit_pow_bits=rng.choice((0, 2)),
        query_pow_bits=rng.choice((0, 4)),
    )


def random_statement(
    seed: int,
    *,
    tables: int = 3,
    max_log_height: int = 6,
    max_width: int = 12,
    max_degree: int = 3,
    interactions: int = 4,
) -> tuple[Parameters, Statement]:
    """Return a satisfied statement with its traces, and parameters for its proof. Deterministic in its arguments.

    ``tables`` is exact; the first one has 2^max_log_height rows, the others at most that number; ``max_width`` bounds
    the columns without interactions; ``max_degree`` bounds constraints on rows and transitions; ``interactions`` is the
    number of buses and local lookups that are tried.
    """
    rng = random.Random(repr((seed, tables, max_log_height, max_width, max_degree, interactions)))
    sketches = [
        draw_table(
            rng,
            f"table{i}",
            1 << (max_log_height if i == 0 else rng.randint(0, max_log_height)),
            rng.randint(1, max_width),
            rng.randint(1, max_degree),
        )
        for i in range(tables)
    ]
    for i in range(interactions):
        if rng.random() < 0.75:
            draw_bus(rng, f"bus{i}", sketches)
        else:
            draw_shuffle(rng, rng.choice(sketches))
    parameters = draw_parameters(rng, [sketch.rows.bit_length() - 1 for sketch in sketches])
    statement = Statement([Table(sketch, tuple(sketch.public), np.array(sketch.main)) for sketch in sketches])
    return parameters, statement


def statements(max_log_height: int = 10) -> st.SearchStrategy[tuple[Parameters, Statement]]:
    """Draw from all results of `random_statement`; shrinks towards few, small and simple tables."""
    return st.builds(
        random_statement,
        seed=st.integers(0, 2**32 - 1),
        tables=st.integers(1, 8),
        max_log_height=st.integers(0, max_log_height),
        max_width=st.integers(1, MAX_WIDTH),
        max_degree=st.integers(1, 7),
        interactions=st.integers(0, MAX_INTERACTIONS),
    )
