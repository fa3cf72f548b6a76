"""The statement about one run, in one shard or several: its tables, and the tasks that make their traces.

A short run may have a sparse range table (`shape.may_have_sparse_range`), and its height takes the run's lookups. So
planning a short run makes its traces on the device, counts, and drops them; proving makes them in the same tasks as any
run's. On a CPU this takes about 2 % of the proof's time. Keeping the traces instead would hold up to 31
MB for each planned statement, copy them from and to a GPU, and change the tasks, memory and reports of short runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from graphprover.air import Air
from graphprover.device import Device
from graphprover.device.cpu import CpuDevice
from graphprover.protocol.joint import check_count
from graphprover.statement.cells import cells_per_row
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement, Table
from graphprover.statement.trace_task import TraceTask, make
from graphprover.vm.accelerators.keccak.traces import calls_of, keccak_trace_tasks
from graphprover.vm.accelerators.table import CallTable
from graphprover.vm.accelerators.trace import call_trace
from graphprover.vm.executor.execute import Execution
from graphprover.vm.executor.record import Memory, Record
from graphprover.vm.program.io import region
from graphprover.vm.statement.claim import MAX_PROVED_OUTPUT, MAX_STATED_INPUT
from graphprover.vm.statement.shape import (
    MIN_ROWS,
    LayoutPolicy,
    may_have_sparse_range,
    packing,
    policy_at,
    rows_for,
    table_for,
)
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import PERMUTING, SHARED, TableNumber
from graphprover.vm.tables.chips import chip_table
from graphprover.vm.tables.limbs import limbs
from graphprover.vm.tables.mixed import Mixed
from graphprover.vm.tables.step import Step
from graphprover.vm.traces.bumps import bump_trace, bumps
from graphprover.vm.traces.chips import ChipPart, ChipTrace, chip_trace, chip_traces
from graphprover.vm.traces.counts import (
    Asking,
    count_trace_task,
    fixed_trace_tasks,
    program_trace,
    sparse_range_trace_tasks,
)
from graphprover.vm.traces.partition import Late, Unprovable, partition
from graphprover.vm.traces.run import load_run, load_tape
from graphprover.vm.traces.state import boundary, output_words, state_trace_tasks

__all__ = [
    "Unprovable",
    "check_stated",
    "shards_of_run",
    "shards_of_tables",
    "stated_of",
    "statement_of_run",
    "tables_of_range",
]

Numbered = tuple[int, TraceTask]  # a table's number and its trace
_Calling = tuple[int, CallTable, tuple[int, int]]  # a chip of calls: its number, and its cycles in the order
_Other = tuple[int, Air, TraceTask]  # a table that is no chip's, with its lookups


def statement_of_run(
    machine: Machine,
    execution: Execution,
    label: str = "",
    *,
    commit_input: bool = False,
    device: Device | None = None,
    rate: int | None = None,
) -> Statement:
    """Return the statement about an execution, with trace tasks for its traces.

    Args:
        machine: The program.
        execution: Its run, with a record.
        label: The proofs' label.
        commit_input: State the input as public values.
        device: Replays the run to find its tables' heights; by default the CPU.
        rate: The user's rate 1/``rate``, if any; it selects the layout policy (`shape.policy_at`).

    Raises:
        ValueError: For an execution without a record; with ``commit_input`` for one with a random seed.
        Unprovable: For an execution that has no proof.
    """
    (tables,), _ = _tables(machine, execution, [range(execution.cycles)], commit_input, device, rate)
    return Statement(tables, label)


def shards_of_run(
    machine: Machine,
    execution: Execution,
    cycle_ranges: Sequence[range],
    label: str = "",
    *,
    commit_input: bool = False,
    device: Device | None = None,
    rate: int | None = None,
) -> ShardedStatement:
    """Return the statement about an execution in shards, one for each of these cycle ranges.

    `cycle_ranges.cycle_ranges_of` gives the ranges. See `statement_of_run` for other arguments and errors.

    Raises:
        ValueError: Also if the ranges are not the whole run in order, or fewer than two.
    """
    check_count(len(cycle_ranges))
    bounds = [0, *(cycle_range.stop for cycle_range in cycle_ranges)]
    in_order = [range(start, end) for start, end in pairwise(bounds) if start < end]
    if list(cycle_ranges) != in_order or bounds[-1] != execution.cycles:
        raise ValueError(
            f"these cycle ranges do not cover a run of {execution.cycles:,} cycles in order: {cycle_ranges}"
        )
    return machine.in_shards(*_tables(machine, execution, cycle_ranges, commit_input, device, rate), label)


@dataclass(frozen=True, eq=False)
class Stated:
    """The values that the statement about a run has beside its tables."""

    cycles: int
    exit_code: int
    output: np.ndarray  # uint64, the words of the output
    input: np.ndarray  # uint64, the words of a stated input; empty without one


def stated_of(execution: Execution, memory: Memory, *, commit_input: bool) -> Stated:
    """Return the values of the statement about an execution; ``memory``: the words that it accessed.

    Raises:
        ValueError: With ``commit_input`` for an execution with a random seed.
        Unprovable: For an output or a stated input that is too long.
    """
    check_stated(execution, commit_input=commit_input)
    given = region(execution.input) if commit_input else np.zeros(0, dtype=np.uint64)
    return Stated(execution.cycles, execution.exit_code, output_words(execution, memory), given)


def check_stated(execution: Execution, *, commit_input: bool) -> None:
    """Check the values that a statement about an execution has, before its tables are made; raises as `stated_of`."""
    if commit_input and execution.random_seed:
        raise ValueError("a proof that states its input is of a run with the random seed 0")
    if commit_input and len(execution.input) > MAX_STATED_INPUT:
        raise Unprovable(f"an input of {len(execution.input):,} bytes: a proof states at most {MAX_STATED_INPUT:,}")
    if len(execution.output) > MAX_PROVED_OUTPUT:
        most = f"a proof states at most {MAX_PROVED_OUTPUT:,}; output a hash instead"
        raise Unprovable(f"an output of {len(execution.output):,} bytes: {most}")


def tables_of_range(
    machine: Machine,
    record: Record,
    cycle_range: range,
    stated: Stated,
    *,
    shards: int,
    device: Device | None = None,
    rate: int | None = None,
) -> list[Numbered]:
    """Return the tables of a cycle range with their trace tasks, in order of their numbers, without the boundary.

    Args:
        machine: The program.
        record: The record of the cycle range at least, and the final state if it is the run's first range.
        cycle_range: The cycle range.
        stated: The values of the statement.
        shards: The number of shards of the statement.
        device: As in `statement_of_run`.
        rate: As in `statement_of_run`.

    Raises:
        Unprovable: For cycles that have no proof.
    """
    policy, state = policy_at(rate), list[_Other]()
    if not cycle_range.start:
        heights, words = policy.low_heights(stated.cycles), len(stated.output)
        state = [
            (number, machine.air(number, 0, words, len(stated.input)), trace_task)
            for number, trace_task in state_trace_tasks(
                machine, record.registers, record.memory, words, stated.input, heights
            )
        ]
    short = may_have_sparse_range(stated.cycles, shards)
    return _traces(machine, record, cycle_range, device or CpuDevice(), state, short, policy)


def shards_of_tables(
    machine: Machine, stated: Stated, tables: Sequence[Sequence[Numbered]], label: str = ""
) -> ShardedStatement:
    """Return the statement about a run in shards from the tables of each of its ranges, as `tables_of_range` has them.

    Raises:
        Unprovable: For a run that has no proof.
    """
    return machine.in_shards(*_joined(machine, stated, tables), label)


def _tables(
    machine: Machine,
    execution: Execution,
    cycle_ranges: Sequence[range],
    commit_input: bool,
    device: Device | None,
    rate: int | None,
) -> tuple[list[list[Table]], list[list[int]]]:
    """Return the tables of each cycle range with their trace tasks, and their numbers without the boundary."""
    record = execution.record
    if record is None:
        raise ValueError("an execution without a record cannot be proved")
    stated = stated_of(execution, record.memory, commit_input=commit_input)
    shards = len(cycle_ranges)
    traces = [
        tables_of_range(machine, record, cycle_range, stated, shards=shards, device=device, rate=rate)
        for cycle_range in cycle_ranges
    ]
    return _joined(machine, stated, traces)


def _joined(
    machine: Machine, stated: Stated, traces: Sequence[Sequence[Numbered]]
) -> tuple[list[list[Table]], list[list[int]]]:
    """Return the tables of each cycle range with the boundary, and their numbers without it."""
    numbers = [[number for number, _ in shard] for shard in traces]
    mains = [[trace_task for _, trace_task in shard] for shard in traces]
    words: dict[int, list[int]] = {
        TableNumber.OUTPUT: _public(stated.output),
        TableNumber.STATED_INPUT: _public(stated.input),
    }
    values = [[words.get(number, []) for number in shard] for shard in numbers]
    mains[0].insert(0, TraceTask("boundary", boundary, shape=(1, MIN_ROWS)))
    values[0].insert(0, [stated.cycles, *limbs(stated.exit_code), *numbers[0]])
    heights = [[main.shape[1] for main in shard] for shard in mains]
    try:
        airs = machine.tables(stated.cycles, numbers, heights, len(stated.output), len(stated.input))
    except ValueError as error:
        raise Unprovable(f"this run has no proof: {error}") from error
    shards = zip(airs, values, mains, strict=True)
    return [[Table(*table) for table in zip(*shard, strict=True)] for shard in shards], numbers


def _public(words: np.ndarray) -> list[int]:
    """Return the limbs of words as public values."""
    return [limb for word in words.tolist() for limb in limbs(word)]


def _traces(
    machine: Machine,
    record: Record,
    cycle_range: range,
    device: Device,
    state: Sequence[_Other],
    short: bool,
    policy: LayoutPolicy,
) -> list[Numbered]:
    """Return the tables beside the boundary that a cycle range of the run needs, in order of their numbers.

    ``state``: the tables of registers and memory, for the first range only; ``short``: whether the run may have a
    sparse range table.
    """
    tape = TraceTask("record", load_tape, {"machine": machine, "record": record, "cycle_range": cycle_range})
    with device.task():
        loaded = load_tape(device, machine=machine, record=record, cycle_range=cycle_range)
        parted = partition(machine, device, loaded, record.cycles, policy)
    run = TraceTask("replay", load_run, {"machine": machine, "partition": parted}, (tape,))

    cycles = record.cycles
    alone, chips = _chip_tables(machine, parted.shares, cycles, policy)
    made = TraceTask("chips", chip_traces, {"tables": [table for _, _, table in chips]}, (run,))
    calls = [
        (number, step, trace_task)
        for number, step, (first, last) in alone
        for trace_task in _call_trace_tasks(number, step, run, first, last, cycles, policy)
    ]

    rows = rows_for(machine.entries.shape[1])
    program = TraceTask("program", program_trace, {"rows": rows}, (run,), shape=(1, rows))
    bump = machine.air(TableNumber.BUMP, 0, 0)
    others: list[_Other] = [*calls, (TableNumber.PROGRAM, machine.program(), program), *state]
    bump_tasks = _bump_trace_tasks(bump, parted.late, run, cycles, policy)
    others += ((TableNumber.BUMP, bump, trace_task) for trace_task in bump_tasks)

    found: list[Numbered] = [(int(number), trace_task) for number, _, trace_task in others]
    found += [
        (number, TraceTask(name, chip_trace, {"index": i}, (made,), (table.width, table.height)))
        for i, (number, name, table) in enumerate(chips)
    ]
    asking = [
        Asking(i, part.step.describe(), part.row, part.end, part.columns)
        for i, (_, _, table) in enumerate(chips)
        for part in table.parts
    ]
    asking += [Asking(len(chips) + i, air.describe()) for i, (_, air, _) in enumerate(others)]
    total = count_trace_task([made, *(trace_task for _, _, trace_task in others)], asking)
    permuting = {chip: parted.shares[chip] for chip in PERMUTING if chip in parted.shares}
    if permuting:
        permutations = TraceTask("calls", calls_of, {"shares": permuting}, (run,))
        found += keccak_trace_tasks(
            machine, permutations, sum(end - start for start, end in permuting.values()), cycles, policy
        )
    known = sparse_range_trace_tasks(_result(device, total), _words(machine, found, state)) if short else None
    found += ((int(number), trace_task) for number, trace_task in known or fixed_trace_tasks(total))
    return sorted(found, key=lambda numbered: numbered[0])


def _words(machine: Machine, tables: Sequence[Numbered], state: Sequence[_Other]) -> int:
    """Return the committed cells a row of these tables and of powers, all together."""
    airs = {number: air for number, air, _ in state}
    numbers = [*(number for number, _ in tables), TableNumber.POWERS]
    return sum(cells_per_row((airs.get(number) or machine.air(number, 0, 0)).describe()) for number in numbers)


def _result(device: Device, trace_task: TraceTask) -> np.ndarray:
    """Return the result of a trace task, on the host."""
    found = make(device, trace_task, {})
    with device.task():
        return device.fetch(found)


def _chip_tables(
    machine: Machine, shares: Mapping[str, tuple[int, int]], cycles: int, policy: LayoutPolicy
) -> tuple[list[_Calling], list[tuple[int, str, ChipTrace]]]:
    """Return the chips of calls of several rows, and the tables of all other chips with their numbers and names.

    Args:
        machine: The program.
        shares: Start and end of each chip's cycles in the order.
        cycles: The length of the whole run.
        policy: The layout policy.
    """
    calling: list[_Calling] = []
    tables: list[tuple[int, str, ChipTrace]] = []
    shared: dict[int, list[tuple[str, int, int]]] = {number: [] for number in SHARED}
    for chip, (first, last) in shares.items():
        number = table_for(chip, last - first, cycles, policy)
        if number in SHARED:
            shared[number].append((chip, first, last))
            continue
        step = machine.air(number, 0, 0)
        if isinstance(step, CallTable):
            calling.append((number, step, (first, last)))
            continue
        assert isinstance(step, Step)
        air = step.describe()
        for height, low, high in packing(number, cells_per_row(air), cycles, policy).shares(last - first):
            tables.append(
                (number, step.name, ChipTrace(air.main_width, height, (ChipPart(step, first + low, first + high),)))
            )
    for number, chips in shared.items():
        if chips:
            mixed = machine.air(number, 0, 0)
            assert isinstance(mixed, Mixed)
            tables += ((number, mixed.name, table) for table in _shared_tables(number, mixed, chips, cycles, policy))
    return calling, tables


def _shared_tables(
    number: int, mixed: Mixed, chips: Sequence[tuple[str, int, int]], cycles: int, policy: LayoutPolicy
) -> Iterator[ChipTrace]:
    """Yield the shared tables of these chips, whose cycles follow each other chip by chip.

    ``chips``: each with start and end in the order; ``cycles``: length of the whole run.
    """
    air = mixed.describe()
    ends = np.cumsum([0, *(last - first for _, first, last in chips)]).tolist()
    for height, first, last in packing(number, cells_per_row(air), cycles, policy).shares(ends[-1]):
        parts = []
        for (chip, start, _), (begin, end) in zip(chips, pairwise(ends), strict=True):
            low, high = max(begin, first), min(end, last)
            if low < high:
                cut = start + low - begin, start + high - begin
                parts.append(ChipPart(chip_table(chip), *cut, low - first, mixed.columns_of[chip]))
        yield ChipTrace(air.main_width, height, tuple(parts))


def _call_trace_tasks(
    number: int, step: CallTable, run: TraceTask, start: int, end: int, cycles: int, policy: LayoutPolicy
) -> Iterator[TraceTask]:
    """Yield the trace tasks of a chip of calls, for the cycles start..end of a run of ``cycles`` cycles."""
    air = step.describe()
    for height, first, last in packing(number, cells_per_row(air), cycles, policy).shares(end - start):
        fixed = {"step": step, "height": height, "first": start + first, "last": start + last}
        yield TraceTask(step.name, call_trace, fixed, (run,), (air.main_width, height))


def _bump_trace_tasks(
    bump: Air, late: Sequence[Late], run: TraceTask, cycles: int, policy: LayoutPolicy
) -> Iterator[TraceTask]:
    """Yield the trace tasks of the tables of all bumps, in order; ``cycles``: length of the whole run."""
    air = bump.describe()
    made = TraceTask("bumps", bumps, {"late": late}, (run,))
    count = sum(some.count for some in late)
    for height, first, last in packing(TableNumber.BUMP, cells_per_row(air), cycles, policy).shares(count):
        fixed = {"first": first, "last": last, "height": height}
        yield TraceTask("bump", bump_trace, fixed, (made,), (air.main_width, height))
