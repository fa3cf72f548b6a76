"""The statement about one run, in one shard or several: its tables, and the tasks that make their traces.

A short run may have a sparse range table (`shape.may_have_sparse_range`), and its height takes the run's lookups. So
planning a short run makes its traces on the device, counts, and drops them; proving makes them in the same tasks as any
run's. On a CPU this takes about 2 % of the proof's time. Keeping the traces instead would hold up to 31
MB for each planned statement, copy them from and to a GPU, and change the tasks, memory and reports of short runs.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from graphprover.air import Air, AirDescription
from graphprover.device import Device
from graphprover.device.cpu import CpuDevice
from graphprover.protocol.joint import check_count
from graphprover.statement.cells import cells_per_row
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement, Table
from graphprover.statement.trace_task import TraceTask, make
from graphprover.vm.executor.execute import Execution
from graphprover.vm.executor.record import Record
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
from graphprover.vm.statement.table_numbers import PERMUTING, SHARED, TableNumber, name_of
from graphprover.vm.tables.call import CallTable
from graphprover.vm.tables.chips import chip_table
from graphprover.vm.tables.limbs import limbs
from graphprover.vm.tables.mixed import Mixed
from graphprover.vm.tables.step import Step
from graphprover.vm.traces.bumps import bump_trace, bumps
from graphprover.vm.traces.calls import call_trace
from graphprover.vm.traces.chips import chip_trace
from graphprover.vm.traces.counts import count_trace_task, fixed_trace_tasks, program_trace, sparse_range_trace_tasks
from graphprover.vm.traces.keccak import calls_of, keccak_trace_tasks
from graphprover.vm.traces.mixed import Share, SharingChip, mixed_trace, sharing_traces
from graphprover.vm.traces.partition import Late, Unprovable, partition
from graphprover.vm.traces.run import load_run, load_tape
from graphprover.vm.traces.state import boundary, output_words, state_trace_tasks

__all__ = ["Unprovable", "shards_of_run", "statement_of_run"]

_Numbered = tuple[int, TraceTask]  # a table's number and its trace
_Other = tuple[int, Air, TraceTask]  # a table that is no chip's, with its lookups


def statement_of_run(
    machine: Machine,
    execution: Execution,
    label: str = "",
    *,
    state_input: bool = False,
    device: Device | None = None,
    rate: int | None = None,
) -> Statement:
    """Return the statement about an execution, with trace tasks for its traces.

    Args:
        machine: The program.
        execution: Its run, with a record.
        label: The proofs' label.
        state_input: State the input as public values.
        device: Replays the run to find its tables' heights; by default the CPU.
        rate: The user's rate 1/``rate``, if any; it selects the layout policy (`shape.policy_at`).

    Raises:
        ValueError: For an execution without a record; with ``state_input`` for one with a random seed.
        Unprovable: For an execution that has no proof.
    """
    (tables,), _ = _tables(machine, execution, [range(execution.cycles)], state_input, device, rate)
    return Statement(tables, label)


def shards_of_run(
    machine: Machine,
    execution: Execution,
    cycle_ranges: Sequence[range],
    label: str = "",
    *,
    state_input: bool = False,
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
    return machine.in_shards(*_tables(machine, execution, cycle_ranges, state_input, device, rate), label)


def _tables(
    machine: Machine,
    execution: Execution,
    cycle_ranges: Sequence[range],
    state_input: bool,
    device: Device | None,
    rate: int | None,
) -> tuple[list[list[Table]], list[list[int]]]:
    """Return the tables of each cycle range with their trace tasks, and their numbers without the boundary."""
    record = execution.record
    if record is None:
        raise ValueError("an execution without a record cannot be proved")
    if state_input and execution.random_seed:
        raise ValueError("a proof that states its input is of a run with the random seed 0")
    if state_input and len(execution.input) > MAX_STATED_INPUT:
        raise Unprovable(f"an input of {len(execution.input):,} bytes: a proof states at most {MAX_STATED_INPUT:,}")
    if len(execution.output) > MAX_PROVED_OUTPUT:
        most = f"a proof states at most {MAX_PROVED_OUTPUT:,}; output a hash instead"
        raise Unprovable(f"an output of {len(execution.output):,} bytes: {most}")
    output = output_words(execution, record.memory)
    stated = region(execution.input) if state_input else np.zeros(0, dtype=np.uint64)

    device, policy = device or CpuDevice(), policy_at(rate)
    state = [
        (number, machine.air(number, 0, len(output), len(stated)), trace_task)
        for number, trace_task in state_trace_tasks(
            machine, record.registers, record.memory, len(output), stated, policy.low_heights(record.cycles)
        )
    ]
    short = may_have_sparse_range(execution.cycles, len(cycle_ranges))
    traces = [
        _traces(machine, record, cycle_range, device, [] if i else state, short, policy)
        for i, cycle_range in enumerate(cycle_ranges)
    ]
    numbers = [[number for number, _ in shard] for shard in traces]
    mains = [[trace_task for _, trace_task in shard] for shard in traces]
    words: dict[int, list[int]] = {TableNumber.OUTPUT: _public(output), TableNumber.STATED_INPUT: _public(stated)}
    values = [[words.get(number, []) for number in shard] for shard in numbers]
    mains[0].insert(0, TraceTask("boundary", boundary, shape=(1, MIN_ROWS)))
    values[0].insert(0, [execution.cycles, *limbs(execution.exit_code), *numbers[0]])
    heights = [[main.shape[1] for main in shard] for shard in mains]
    try:
        airs = machine.tables(execution.cycles, numbers, heights, len(output), len(stated))
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
) -> list[_Numbered]:
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
    chips: list[tuple[int, Step, TraceTask]] = []
    shared: dict[int, list[SharingChip]] = {number: [] for number in SHARED}
    for chip, (first, last) in parted.shares.items():
        number = table_for(chip, last - first, cycles, policy)
        if number in SHARED:
            shared[number].append(SharingChip(chip_table(chip), first, last))
        else:
            step = machine.air(number, 0, 0)
            assert isinstance(step, Step)
            own_tasks = _chip_trace_tasks(number, step, run, first, last, cycles, policy)
            chips += ((number, step, trace_task) for trace_task in own_tasks)

    rows = rows_for(machine.entries.shape[1])
    program = TraceTask("program", program_trace, {"rows": rows}, (run,), shape=(1, rows))
    bump = machine.air(TableNumber.BUMP, 0, 0)
    others: list[_Other] = [(TableNumber.PROGRAM, machine.program(), program), *state]
    bump_tasks = _bump_trace_tasks(bump, parted.late, run, cycles, policy)
    others += ((TableNumber.BUMP, bump, trace_task) for trace_task in bump_tasks)

    looking = [(trace_task, step.describe()) for _, step, trace_task in chips]
    looking += [(trace_task, air.describe()) for _, air, trace_task in others]
    counted: list[tuple[TraceTask, list[AirDescription]]] = []
    found: list[_Numbered] = [(int(number), trace_task) for number, _, trace_task in others]
    for number, sharing in shared.items():
        if sharing:
            own = TraceTask(f"chips.{name_of(number)}", sharing_traces, {"chips": sharing}, (run,))
            counted.append((own, [one.step.describe() for one in sharing]))
            mixed_tasks = _mixed_trace_tasks(machine, number, sharing, own, cycles, policy)
            found += ((number, trace_task) for trace_task in mixed_tasks)
    permuting = {chip: parted.shares[chip] for chip in PERMUTING if chip in parted.shares}
    if permuting:
        calls = TraceTask("calls", calls_of, {"shares": permuting}, (run,))
        found += keccak_trace_tasks(
            machine, calls, sum(end - start for start, end in permuting.values()), cycles, policy
        )
    found += [(number, trace_task) for number, _, trace_task in chips]
    total = count_trace_task(looking, counted)
    known = sparse_range_trace_tasks(_result(device, total), _words(machine, found, state)) if short else None
    found += ((int(number), trace_task) for number, trace_task in known or fixed_trace_tasks(total))
    return sorted(found, key=lambda numbered: numbered[0])


def _words(machine: Machine, tables: Sequence[_Numbered], state: Sequence[_Other]) -> int:
    """Return the committed cells a row of these tables and of powers, all together."""
    airs = {number: air for number, air, _ in state}
    numbers = [*(number for number, _ in tables), TableNumber.POWERS]
    return sum(cells_per_row((airs.get(number) or machine.air(number, 0, 0)).describe()) for number in numbers)


def _result(device: Device, trace_task: TraceTask) -> np.ndarray:
    """Return the result of a trace task, on the host."""
    found = make(device, trace_task, {})
    with device.task():
        return device.fetch(found)


def _chip_trace_tasks(
    number: int, step: Step, run: TraceTask, start: int, end: int, cycles: int, policy: LayoutPolicy
) -> Iterator[TraceTask]:
    """Yield the trace tasks of a chip's tables, for the cycles start..end of a run of ``cycles`` cycles."""
    air = step.describe()
    for height, first, last in packing(number, cells_per_row(air), cycles, policy).shares(end - start):
        fixed = {"step": step, "height": height, "first": start + first, "last": start + last}
        make_trace = call_trace if isinstance(step, CallTable) else chip_trace
        yield TraceTask(step.name, make_trace, fixed, (run,), (air.main_width, height))


def _mixed_trace_tasks(
    machine: Machine, number: int, chips: Sequence[SharingChip], own: TraceTask, cycles: int, policy: LayoutPolicy
) -> Iterator[TraceTask]:
    """Yield the trace tasks of a shared table of these chips, whose instructions follow each other chip by chip.

    ``own``: the task of the chips' traces; ``cycles``: length of the whole run.
    """
    mixed = machine.air(number, 0, 0)
    assert isinstance(mixed, Mixed)
    air = mixed.describe()
    ends = np.cumsum([0, *(chip.last - chip.first for chip in chips)]).tolist()
    for height, first, last in packing(number, cells_per_row(air), cycles, policy).shares(ends[-1]):
        shares = []
        for i, (start, end) in enumerate(pairwise(ends)):
            low, high = max(start, first), min(end, last)
            if low < high:
                columns = mixed.columns_of[chips[i].step.name]
                shares.append(Share(i, columns, low - start, low - first, high - low))
        fixed = {"shares": shares, "width": air.main_width, "height": height}
        yield TraceTask(air.name, mixed_trace, fixed, (own,), (air.main_width, height))


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
