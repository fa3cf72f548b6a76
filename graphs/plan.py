"""What a proof costs before it runs: operations and bytes of every task, and the most memory at once.

The tasks and their dependencies are those of the graph itself, built on empty traces; the costs are computed here. A
change to what a device allocates changes this module in the same commit.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from typing import cast

import numpy as np
from dask.order import order

from graphprover.air.description import AirDescription
from graphprover.air.expression import MUL
from graphprover.device.interface import CPU_BATCH, Array, Device
from graphprover.field import EXTENSION_DEGREE
from graphprover.graphs import proof
from graphprover.graphs.batches import Batch, batches
from graphprover.graphs.opening import opened_matrices
from graphprover.graphs.tasks import Graph
from graphprover.notebook import html
from graphprover.protocol.layout import MAIN, PREPROCESSED, Layout
from graphprover.recipe import Recipe

WORD = 8  # bytes
DIGEST = 32  # bytes
RATE = 17  # words that one Keccak-f absorbs
EXT_MUL = 9  # base multiplications of one extension multiplication


@dataclass(frozen=True)
class Cost:
    """What one task does and holds."""

    multiplications: int = 0  # in the base field, butterflies apart
    butterflies: int = 0
    permutations: int = 0  # Keccak-f
    moved: int = 0  # bytes read and written, each array once, however often a kernel returns to it
    kept: int = 0  # bytes that later tasks read
    scratch: int = 0  # bytes given back when the task ends

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.multiplications + other.multiplications,
            self.butterflies + other.butterflies,
            self.permutations + other.permutations,
            self.moved + other.moved,
            self.kept + other.kept,
            self.scratch + other.scratch,
        )


@dataclass(frozen=True)
class Task:
    """One task of the plan."""

    round: str
    name: str  # batch of tables, commitment or height
    needs: tuple[str, ...]  # keys of other tasks
    cost: Cost


@dataclass(frozen=True)
class Plan:
    """All tasks of a proof, by key, in the order in which one thread would run them."""

    layout: Layout
    tasks: Mapping[str, Task]

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        of_round: dict[str, list[Cost]] = {}
        for task in self.tasks.values():
            of_round.setdefault(task.round, []).append(task.cost)
        sums = {name: sum(costs, Cost()) for name, costs in of_round.items()}
        rows = [(name, len(of_round[name]), *astuple(cost)) for name, cost in sums.items()]
        facts = {"peak bytes beyond the traces, one task at a time": self.peak_bytes(1)}
        return html(self._title, facts, [("round", "tasks", *(field.name for field in fields(Cost))), *rows])

    @property
    def _title(self) -> str:
        return f"Plan of {len(self.tasks)} tasks for {len(self.layout.tables)} tables"

    @cached_property
    def total(self) -> Cost:
        """The sum over all tasks."""
        return sum((task.cost for task in self.tasks.values()), Cost())

    def peak_bytes(self, threads: int) -> int:
        """The most bytes at once, with this many tasks side by side, beyond the traces that were there before.

        Tasks run in order; a result is freed when the last task that needs it ends. Tables of sizes that a device keeps
        for its life are counted from the start.
        """
        keys = list(self.tasks)
        last_use = dict.fromkeys(keys, len(keys))
        for position, key in enumerate(keys):
            for needed in self.tasks[key].needs:
                last_use[needed] = position
        freed_at: dict[int, int] = {}
        live = peak = size_tables(self.layout)
        for position, key in enumerate(keys):
            cost = self.tasks[key].cost
            live += cost.kept
            beside = [self.tasks[other] for other in keys[position + 1 : position + threads]]
            others = sum(t.cost.kept + t.cost.scratch for t in beside if t.round == self.tasks[key].round)
            peak = max(peak, live + cost.scratch + others)
            freed_at[last_use[key]] = freed_at.get(last_use[key], 0) + cost.kept
            live -= freed_at.pop(position, 0)
        return peak


def make_plan(layout: Layout, log_batch_rows: int = CPU_BATCH, main: Sequence[Array | Recipe] = ()) -> Plan:
    """The plan of a proof of this layout on a device that batches tables up to so many rows.

    ``main``: the traces where they are known (`prover.checked_traces`); the proof itself makes those that are recipes.
    """
    empty = {table: np.empty((air.main_width, 0), dtype=np.uint64) for table, air in enumerate(layout.tables)}
    fixed = {table: empty[table] for table in layout.preprocessed_tables}
    traces = empty | dict(enumerate(main))
    public_values = [(0,) * air.num_public_values for air in layout.tables]
    device = cast(Device, None)  # the graph is never run
    batched = batches(layout, log_batch_rows)
    task = proof.build(Graph(device, "", batched), layout, "", traces, fixed, public_values)
    graph = dict(task.__dask_graph__())
    costs = Costs(layout, batched, [table for table, each in traces.items() if isinstance(each, Recipe)])
    positions = order(graph)
    tasks = {}
    for key in sorted(graph, key=positions.__getitem__):
        round_, _, rest = str(key).partition("-")
        name = rest.removesuffix("-")
        needs = tuple(sorted(str(each) for each in graph[key].dependencies))
        tasks[str(key)] = Task(round_, name, needs, costs.of(round_, name))
    return Plan(layout, tasks)


def permutations(words: int) -> int:
    """Keccak-f of one message of 64-bit words."""
    return words // RATE + 1


def butterflies(columns: int, log_size: int) -> int:
    """One transform of each column."""
    return columns * log_size << max(log_size - 1, 0) if log_size else 0


def size_tables(layout: Layout) -> int:
    """Bytes of what a device keeps by size: twiddles, points, fold factors, selectors."""
    longest = layout.log_max_rows
    for log_height, log_chunks in zip(layout.log_heights, layout.log_chunks, strict=True):
        longest = max(longest, log_height + log_chunks)
    shapes = set(zip(layout.log_heights, layout.log_chunks, strict=True))
    selectors = sum(4 * WORD << (log_height + log_chunks) for log_height, log_chunks in shapes)
    points = sum(WORD << log_rows for log_rows in layout.fri_log_heights)
    folds = sum(WORD << (log_rows + log_arity - 1) for log_rows, log_arity in _folds(layout))
    return (2 * WORD << longest) // 7 + selectors + points + folds


def _folds(layout: Layout) -> Iterable[tuple[int, int]]:
    return zip(layout.folded_log_heights, layout.fold_log_arities, strict=True)


class Costs:
    """The cost of each task of a layout by its round and name."""

    def __init__(self, layout: Layout, batched: Sequence[Batch], made: Sequence[int]) -> None:
        """``made``: the tables whose traces the proof makes."""
        self.layout, self.made, self.matrices = layout, made, opened_matrices(layout)
        self.tables = {batch.name: batch.tables for batch in batched}
        self.log_blowup = layout.parameters.log_blowup
        self.of_table: dict[str, Callable[[int], Cost]] = {
            f"extend_{MAIN}": lambda table: self.extend(table, self.air(table).main_width),
            f"extend_{PREPROCESSED}": lambda table: self.extend(table, self.air(table).preprocessed_width),
            "lookup": self.lookup,
            "quotient": self.quotient,
            "opening": self.opening,
        }
        self.rounds: dict[str, Callable[[str], Cost]] = {
            "transcript": self.transcript,
            f"trace_{MAIN}": self.trace,
            "tree": self.tree,
            "weights": self.weights,
            "denominators": self.denominators,
            "deep": self.deep,
            "codeword": self.codeword,
            "fri_tree": self.fri_tree,
            "fri_fold": self.fri_fold,
        }

    def of(self, round_: str, name: str) -> Cost:
        """Queries and the like cost nothing worth planning."""
        if round_ in self.of_table:
            return sum(map(self.of_table[round_], self.tables[name]), Cost())
        return self.rounds[round_](name) if round_ in self.rounds else Cost()

    def transcript(self, name: str) -> Cost:
        """The nonces that are tried on average before the one that is found."""
        parameters = self.layout.parameters
        bits = {
            "lookup": parameters.lookup_pow_bits if self.layout.lookup_tables else 0,
            "zeta": parameters.ood_pow_bits,
            "batching": parameters.batch_pow_bits,
            "queries": parameters.query_pow_bits,
        }
        each = bits.get(name, parameters.commit_pow_bits if name.startswith("fold") else 0)
        return Cost(permutations=1 << each if each else 0)

    def air(self, table: int) -> AirDescription:
        return self.layout.tables[table]

    def trace(self, name: str) -> Cost:
        """A trace that the proof makes; what its recipe shares with others is not counted."""
        table = int(name.partition(".")[0])
        words = self.air(table).main_width << self.layout.log_heights[table]
        return Cost(kept=words * WORD if table in self.made else 0)

    def extend(self, table: int, columns: int) -> Cost:
        log_height = self.layout.log_heights[table]
        blowup = 1 << self.log_blowup
        return Cost(
            multiplications=columns << log_height,
            butterflies=butterflies(columns, log_height) * (1 + blowup),
            moved=columns * WORD * (1 + blowup) << log_height,
            kept=columns * WORD << (log_height + self.log_blowup),
        )

    def tree(self, name: str) -> Cost:
        each = self.layout.round(name)
        assert each is not None
        widths: dict[int, int] = {}
        for matrix in each.matrices:
            widths[matrix.log_rows] = widths.get(matrix.log_rows, 0) + matrix.width
        joining = sum(permutations(w) + 1 << log_rows for log_rows, w in widths.items() if log_rows != each.log_rows)
        leaves = permutations(widths[each.log_rows]) << each.log_rows
        nodes = (1 << each.log_rows) - (1 << self.layout.cap_log_size(each.log_rows))
        shorter = max((log_rows for log_rows in widths if log_rows != each.log_rows), default=None)
        digests = sum(1 << log_rows for log_rows in widths) + nodes
        return Cost(
            permutations=leaves + joining + nodes,
            moved=sum(w * WORD << log_rows for log_rows, w in widths.items()) + 2 * DIGEST * digests,
            kept=DIGEST * (nodes + (1 << each.log_rows)),
            scratch=0 if shorter is None else DIGEST << shorter,
        )

    def lookup(self, table: int) -> Cost:
        air, log_height = self.air(table), self.layout.log_heights[table]
        if not air.lookups:
            return Cost()
        tuples = [t for lookup in air.lookups for t in lookup.tuples]
        fields = sum(len(t.fields) for t in tuples)
        columns = air.permutation_width
        fractions = Cost(
            # fingerprints, three products for each inverse, a scaling each
            multiplications=(3 * fields + (3 * EXT_MUL + 3) * len(tuples)) << log_height,
            # no more columns than there are fields and multiplicities, which may be those of one or two columns
            moved=(min(air.main_width + air.preprocessed_width, fields + len(tuples)) + columns) * WORD << log_height,
            # the columns on the trace, the indicators; denominators and multiplicities of a few thousand rows
            scratch=((columns + 3) * WORD << log_height) + 4 * len(tuples) * WORD * min(1 << log_height, 1 << 14),
        )
        return fractions + self.extend(table, columns)

    def quotient(self, table: int) -> Cost:
        air = self.air(table)
        log_height, log_chunks = self.layout.log_heights[table], self.layout.log_chunks[table]
        log_size = log_height + log_chunks
        inner = sum(op == MUL for op, _, _ in air.nodes)
        constraints = 3 * len(air.constraints)
        pins = sum(
            3 * sum(len(t.fields) for t in lookup.tuples) + (2 * len(lookup.tuples) + 2) * EXT_MUL
            for lookup in air.lookups
        )
        columns = air.main_width + air.preprocessed_width + air.permutation_width
        again = log_chunks > self.log_blowup
        chunks = EXTENSION_DEGREE << log_chunks
        work = Cost(
            multiplications=(inner + constraints + pins) << log_size,
            butterflies=butterflies(columns, log_height) * (1 + (1 << log_chunks)) if again else 0,
            moved=((columns + EXTENSION_DEGREE) * WORD << log_size)
            + ((columns * WORD << log_size) + (columns * WORD << log_height) if again else 0),
            scratch=(EXTENSION_DEGREE * WORD << log_size)
            + ((columns * WORD << log_size) + (columns * WORD << log_height) if again else 0),
        )
        return work + self.extend(table, chunks)

    def weights(self, name: str) -> Cost:
        rows = sum(1 << log_height for log_height in set(self.layout.log_heights))
        return Cost(
            multiplications=2 * 4 * EXT_MUL * rows,
            moved=2 * EXTENSION_DEGREE * WORD * rows,
            kept=2 * EXTENSION_DEGREE * WORD * rows,
            scratch=2 * EXTENSION_DEGREE * WORD << max(self.layout.log_heights),
        )

    def columns(self, table: int) -> int:
        """Committed columns of one table."""
        return sum(m.width for each in self.layout.rounds for m in each.matrices if m.table == table)

    def openings(self, table: int) -> int:
        """Columns of one table, counted once for each point they are opened at."""
        return sum(m.width * m.points for each in self.layout.rounds for m in each.matrices if m.table == table)

    def opening(self, table: int) -> Cost:
        log_height = self.layout.log_heights[table]
        weights = EXTENSION_DEGREE * max(matrix.points for matrix in self.matrices[table])
        return Cost(
            multiplications=EXTENSION_DEGREE * self.openings(table) << log_height,
            moved=(self.columns(table) + weights) * WORD << log_height,
        )

    def denominators(self, name: str) -> Cost:
        rows = sum(1 << log_rows for log_rows in self.layout.fri_log_heights)
        size = 2 * EXTENSION_DEGREE * WORD * rows
        return Cost(multiplications=2 * 3 * EXT_MUL * rows, moved=size, kept=size)

    def deep(self, name: str) -> Cost:
        work = Cost()
        for table in self.tables[name]:
            log_rows = self.layout.log_heights[table] + self.log_blowup
            columns = self.columns(table)
            points = sum(matrix.points for matrix in self.matrices[table])
            work += Cost(
                multiplications=(EXTENSION_DEGREE * columns + 2 * EXT_MUL * points) << log_rows,
                moved=columns * WORD << log_rows,
            )
        heights = {self.layout.log_heights[table] for table in self.tables[name]}
        kept = sum(EXTENSION_DEGREE * WORD << (height + self.log_blowup) for height in heights)
        return work + Cost(moved=3 * kept, kept=kept)  # two points' denominators and the result

    def codeword(self, name: str) -> Cost:
        log_height = int(name.removeprefix("2^"))
        heights = self.layout.log_heights
        shares = sum(any(heights[table] == log_height for table in tables) for tables in self.tables.values())
        size = EXTENSION_DEGREE * WORD << (log_height + self.log_blowup)
        if shares == 1:
            return Cost()
        return Cost(moved=(shares + 1) * size, kept=size, scratch=size if shares > 2 else 0)

    def fri_tree(self, name: str) -> Cost:
        log_arity, log_rows = self.layout.fold_log_arities[int(name)], self.layout.folded_log_heights[int(name)]
        nodes = (1 << log_rows) - (1 << self.layout.cap_log_size(log_rows))
        leaves = permutations(EXTENSION_DEGREE << log_arity) << log_rows
        digests = DIGEST * (nodes + (1 << log_rows))
        words = EXTENSION_DEGREE << (log_arity + log_rows)
        return Cost(permutations=leaves + nodes, moved=words * WORD + 2 * digests, kept=digests)

    def fri_fold(self, name: str) -> Cost:
        log_arity, log_rows = self.layout.fold_log_arities[int(name)], self.layout.folded_log_heights[int(name)]
        return Cost(
            multiplications=(EXT_MUL + 3) * ((1 << log_arity) - 1) << log_rows,
            moved=EXTENSION_DEGREE * WORD * ((1 << log_arity) + 1 + (log_rows in self.layout.fri_log_heights))
            << log_rows,
            kept=EXTENSION_DEGREE * WORD << log_rows,
        )
