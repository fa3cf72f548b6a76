"""The committed cells of a run's counts; their sum is ``statement.cells.committed_cells``, table by table.

An instruction takes its share of a row of its chip's table: columns, lookups and quotient. So does a bump. A
permutation takes its rows of two tables. All other cells belong to no instruction: tables that every proof has, the
words of memory, and the idle rows up to a power of two.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from graphprover.statement.cells import cells_per_row
from graphprover.statement.trace_task import TraceTask
from graphprover.vm.accelerators.keccak import digits as keccak_digits
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.executor.record import Memory, Registers
from graphprover.vm.statement.shape import (
    MIN_ROWS,
    may_have_sparse_range,
    packing,
    permutation_tables,
    policy_at,
    rows_for,
    table_for,
)
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import PERMUTING, TableNumber, name_of
from graphprover.vm.tables.fixed import SparseRange
from graphprover.vm.tables.state import REGISTER_COUNT, Region
from graphprover.vm.traces.counts import SIZES, TABLES
from graphprover.vm.traces.run_statement import Unprovable, statement_of_run
from graphprover.vm.traces.state import output_words, state_trace_tasks

BUMP = "bump"  # the table of accesses between two others that are far apart


@dataclass(frozen=True)
class Use:
    """The tables of one name in a statement."""

    name: str
    cells: int  # committed
    words: int  # the committed cells of one row of each table
    drawn: int  # of these, cells that instructions use
    own: int  # in rows that belong to no instruction, but are not idle
    draws: int = 0  # instructions, bumps or permutations that use it
    cells_of_draws: tuple[int, int] = (0, 1)  # cells of a number of them, and this number

    @property
    def idle(self) -> int:
        """Return the cells in rows, or parts of a row, that prove nothing."""
        return self.cells - self.drawn - self.own

    def shares(self, draws: np.ndarray) -> np.ndarray:
        """Return the cells of each sample's draws, int64 (samples,): whole numbers whose sum is ``drawn``."""
        cells, of = self.cells_of_draws
        return np.diff(np.cumsum(draws) * cells // of, prepend=0)


def tables_of(
    machine: Machine, execution: Execution, memory: Memory, executed: Mapping[str, int], bumps: int
) -> list[Use]:
    """Return all tables of the statement about a run without a stated input, by name.

    ``executed``: the instructions of each chip; ``bumps``: the late accesses.
    """
    drawn: dict[int, int] = {}
    for name, count in executed.items():
        number = table_for(name, count, execution.cycles, policy_at(None))
        drawn[number] = drawn.get(number, 0) + count
    cycles = execution.cycles
    uses = [_drawn(machine, number, name_of(number), count, cycles) for number, count in drawn.items()]
    uses += [_drawn(machine, TableNumber.BUMP, BUMP, bumps, cycles)] * (bumps > 0)
    calls = sum(executed.get(chip, 0) for chip in PERMUTING)
    if calls:
        numbers = permutation_tables(calls, policy_at(None))
        uses += [_drawn(machine, number, name_of(number), calls, cycles) for number in numbers]
    tables = {use.name: use for use in uses}
    words = len(output_words(execution, memory))
    for number, height, rows in (*_others(machine, memory, words, calls, cycles), *_looked_up(machine, execution)):
        air = machine.air(number, 2, words).describe()
        cells = cells_per_row(air)
        before = tables.get(air.name, Use(air.name, 0, 0, 0, 0))
        own = before.own + rows * cells
        tables[air.name] = Use(air.name, before.cells + height * cells, before.words + cells, 0, own)
    return list(tables.values())


def _drawn(machine: Machine, number: int, name: str, draws: int, cycles: int) -> Use:
    """Return the tables that this number of instructions, bumps or permutations use in a run of ``cycles`` cycles."""
    cells = cells_per_row(machine.air(number, 2, 0).describe())
    packed = packing(number, cells, cycles, policy_at(None))
    heights, of_draws = packed.heights(draws), (cells * packed.rows, packed.uses)
    drawn = draws * of_draws[0] // of_draws[1]
    return Use(name, cells * sum(heights), cells * len(heights), drawn, 0, draws, of_draws)


def _others(machine: Machine, memory: Memory, words: int, calls: int, cycles: int) -> Iterator[tuple[int, int, int]]:
    """Yield number, height and rows in use of the tables that no instruction uses; ``words``: of the output."""
    yield 0, MIN_ROWS, 1
    entries = machine.entries.shape[1]
    yield TableNumber.PROGRAM, rows_for(entries), entries
    nothing, low_heights = np.zeros(0, dtype=np.uint64), policy_at(None).low_heights(cycles)
    registers = Registers(nothing, nothing)
    for number, trace_task in state_trace_tasks(machine, registers, memory, words, nothing, low_heights):
        height = trace_task.shape[1]
        rows = {
            TableNumber.REGISTERS: REGISTER_COUNT,
            TableNumber.IMAGE: len(machine.image.addresses),
            TableNumber.OUTPUT: machine.rows(TableNumber.OUTPUT, words, 0)[0],
        }.get(TableNumber(number))
        yield (
            number,
            height,
            min(Region.needed(len(trace_task.fixed["memory"].address)), height) if rows is None else rows,
        )
    if calls:
        yield TableNumber.KECCAK_DIGITS, keccak_digits.ROWS, keccak_digits.NUMBERS


def _looked_up(machine: Machine, execution: Execution) -> Iterator[tuple[int, int, int]]:
    """Yield number, height and rows in use of the tables of numbers and powers; a short run makes its traces."""
    sparse = _sparse_range(machine, execution)
    for number, tags in TABLES.items():
        if number == TableNumber.NUMBERS and sparse:
            yield from sparse
        else:
            yield number, SIZES[tags[0]], SIZES[tags[0]]


def _sparse_range(machine: Machine, execution: Execution) -> list[tuple[int, int, int]]:
    """Return number, height and rows in use of sparse range tables; nothing for a run without them."""
    found: list[tuple[int, int, int]] = []
    if not may_have_sparse_range(execution.cycles, shards=1):
        return found
    with suppress(Unprovable):
        recorded = execute(machine.image, execution.input, record=True, random_seed=execution.random_seed)
        statement = statement_of_run(machine, recorded)
        for table in statement.tables:
            if isinstance(table.air, SparseRange):
                assert isinstance(table.main, TraceTask)
                found.append((TableNumber.SPARSE_RANGE, table.main.shape[1], table.main.fixed["asked"].shape[1]))
    return found
