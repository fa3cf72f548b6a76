"""The statement about one run, by itself or in shards: which tables it needs, and how a device makes their traces."""

from collections.abc import Iterator, Sequence
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
from graphprover.vm.executor.execute import Execution
from graphprover.vm.executor.record import Record
from graphprover.vm.program.io import region
from graphprover.vm.statement.claim import MAX_PROVED_OUTPUT, MAX_STATED_INPUT
from graphprover.vm.statement.shape import (
    KECCAK_CALL,
    MIN_ROWS,
    LayoutPolicy,
    may_have_sparse_range,
    packing,
    policy_at,
    rows_for,
    table_for,
)
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import SHARED, TableNumber, name_of
from graphprover.vm.tables.chips import chip_table
from graphprover.vm.tables.limbs import limbs
from graphprover.vm.tables.mixed import Mixed
from graphprover.vm.tables.step import Step
from graphprover.vm.traces.bumps import bump_trace, bumps
from graphprover.vm.traces.chips import chip_trace
from graphprover.vm.traces.counts import count_trace_task, fixed_trace_tasks, program_trace, sparse_range_trace_tasks
from graphprover.vm.traces.keccak import calls_of, keccak_trace_tasks
from graphprover.vm.traces.mixed import Share, SharingChip, count_sharing, mixed_trace, sharing_traces
from graphprover.vm.traces.partition import Late, Unprovable, partition
from graphprover.vm.traces.run import load_run, load_tape
from graphprover.vm.traces.state import boundary, output_words, state_trace_tasks

__all__ = ["Unprovable", "shards_of_run", "statement_of_run"]

_Numbered = tuple[int, TraceTask]  # a table's number and its trace
_Other = tuple[int, Air, TraceTask]  # the same of one that is no chip's, which looks up numbers


def statement_of_run(
    machine: Machine,
    execution: Execution,
    label: str = "",
    *,
    state_input: bool = False,
    device: Device | None = None,
    rate: int | None = None,
) -> Statement:
    """The statement about an execution, with trace tasks for its traces; with ``state_input`` it says on which input.

    ``device``: what replays the run for the heights of its tables, by default the CPU. ``rate``: of the proof, where
    one is asked for (`shape.policy_at`). Raises ValueError for an execution without a record, Unprovable for one that
    has no proof.
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
    """The same in shards, one for each of the run's cycle ranges, which `cycle_ranges.cycle_ranges_of` gives.

    Raises ValueError, too, where these are not the whole run in order, or fewer than two.
    """
    check_count(len(cycle_ranges))
    bounds = [0, *(cycle_range.stop for cycle_range in cycle_ranges)]
    in_order = [range(start, end) for start, end in pairwise(bounds) if start < end]
    if list(cycle_ranges) != in_order or bounds[-1] != execution.cycles:
        raise ValueError(
            f"not the cycle ranges of a run of {execution.cycles:,} cycles, one behind the other: {cycle_ranges}"
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
    """The tables of each cycle range, with trace tasks for their traces, and the numbers of all but the boundary, the
    first.
    """
    record = execution.record
    if record is None:
        raise ValueError("an execution without a record cannot be proved")
    if state_input and len(execution.input) > MAX_STATED_INPUT:
        raise Unprovable(f"an input of {len(execution.input):,} bytes: a proof states {MAX_STATED_INPUT:,} at most")
    if len(execution.output) > MAX_PROVED_OUTPUT:
        most = f"a proof states {MAX_PROVED_OUTPUT:,} at most: put out a hash"
        raise Unprovable(f"an output of {len(execution.output):,} bytes: {most}")
    output = output_words(execution, record.memory)
    stated = region(execution.input) if state_input else np.zeros(0, dtype=np.uint64)

    state = [
        (number, machine.air(number, 0, len(output), len(stated)), trace_task)
        for number, trace_task in state_trace_tasks(machine, record.registers, record.memory, len(output), stated)
    ]
    device, policy = device or CpuDevice(), policy_at(rate)
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
    """Words as public values."""
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
    """The tables beside the boundary that a cycle range of the run needs, in order of their numbers.

    ``state``: the tables of registers and memory, which one cycle range has; ``short``: whether it may have few
    numbers.
    """
    tape = TraceTask("record", load_tape, {"machine": machine, "record": record, "cycle_range": cycle_range})
    with device.task():
        loaded = load_tape(device, machine=machine, record=record, cycle_range=cycle_range)
        parted = partition(machine, device, loaded, record.cycles, policy)
    run = TraceTask("replay", load_run, {"machine": machine, "partition": parted}, (tape,))

    chips: list[tuple[int, Step, TraceTask]] = []
    shared: dict[int, list[SharingChip]] = {number: [] for number in SHARED}
    for chip, (first, last) in parted.shares.items():
        number = table_for(chip, last - first, record.cycles, policy)
        if number in SHARED:
            shared[number].append(SharingChip(chip_table(chip), first, last))
        else:
            step = machine.air(number, 0, 0)
            assert isinstance(step, Step)
            chips += (
                (number, step, trace_task) for trace_task in _chip_trace_tasks(number, step, run, first, last, policy)
            )

    rows = rows_for(machine.entries.shape[1])
    program = TraceTask("program", program_trace, {"rows": rows}, (run,), shape=(1, rows))
    bump = machine.air(TableNumber.BUMP, 0, 0)
    others: list[_Other] = [(TableNumber.PROGRAM, machine.program(), program), *state]
    others += ((TableNumber.BUMP, bump, trace_task) for trace_task in _bump_trace_tasks(bump, parted.late, run, policy))

    looking = [(trace_task, step.describe()) for _, step, trace_task in chips]
    looking += [(trace_task, air.describe()) for _, air, trace_task in others]
    counts = []
    found: list[_Numbered] = [(int(number), trace_task) for number, _, trace_task in others]
    for number, few in shared.items():
        if few:
            own = TraceTask(f"few.{name_of(number)}", sharing_traces, {"chips": few}, (run,))
            airs = [one.step.describe() for one in few]
            counts.append(TraceTask(f"counts.{name_of(number)}", count_sharing, {"airs": airs}, (own,)))
            found += ((number, trace_task) for trace_task in _mixed_trace_tasks(machine, number, few, own, policy))
    if KECCAK_CALL in parted.shares:
        start, end = parted.shares[KECCAK_CALL]
        calls = TraceTask("calls", calls_of, {"start": start, "end": end}, (run,))
        found += keccak_trace_tasks(machine, calls, end - start, policy)
    found += [(number, trace_task) for number, _, trace_task in chips]
    total = count_trace_task(looking, counts)
    known = sparse_range_trace_tasks(_made(device, total), _words(machine, found, state)) if short else None
    found += ((int(number), trace_task) for number, trace_task in known or fixed_trace_tasks(total))
    return sorted(found, key=lambda numbered: numbered[0])


def _words(machine: Machine, tables: Sequence[_Numbered], state: Sequence[_Other]) -> int:
    """Committed cells of a row of these tables and of powers, all together."""
    airs = {number: air for number, air, _ in state}
    numbers = [*(number for number, _ in tables), TableNumber.POWERS]
    return sum(cells_per_row((airs.get(number) or machine.air(number, 0, 0)).describe()) for number in numbers)


def _made(device: Device, trace_task: TraceTask) -> np.ndarray:
    """What a trace task gives, on the host."""
    found = make(device, trace_task, {})
    with device.task():
        return device.fetch(found)


def _chip_trace_tasks(
    number: int, step: Step, run: TraceTask, start: int, end: int, policy: LayoutPolicy
) -> Iterator[TraceTask]:
    """The tables of one chip, which proves the cycles start..end."""
    air = step.describe()
    for height, first, last in packing(number, cells_per_row(air), policy).shares(end - start):
        fixed = {"step": step, "height": height, "first": start + first, "last": start + last}
        yield TraceTask(step.name, chip_trace, fixed, (run,), (air.main_width, height))


def _mixed_trace_tasks(
    machine: Machine, number: int, chips: Sequence[SharingChip], own: TraceTask, policy: LayoutPolicy
) -> Iterator[TraceTask]:
    """The tables that these chips share, whose instructions stand in them one chip behind the other.

    ``own`` gives the chips' traces.
    """
    mixed = machine.air(number, 0, 0)
    assert isinstance(mixed, Mixed)
    air = mixed.describe()
    ends = np.cumsum([0, *(few.last - few.first for few in chips)]).tolist()
    for height, first, last in packing(number, cells_per_row(air), policy).shares(ends[-1]):
        shares = []
        for i, (start, end) in enumerate(pairwise(ends)):
            low, high = max(start, first), min(end, last)
            if low < high:
                columns = mixed.columns_of[chips[i].step.name]
                shares.append(Share(i, columns, low - start, low - first, high - low))
        fixed = {"shares": shares, "width": air.main_width, "height": height}
        yield TraceTask(air.name, mixed_trace, fixed, (own,), (air.main_width, height))


def _bump_trace_tasks(bump: Air, late: Sequence[Late], run: TraceTask, policy: LayoutPolicy) -> Iterator[TraceTask]:
    """The tables of all bumps, in order."""
    air = bump.describe()
    made = TraceTask("bumps", bumps, {"late": late}, (run,))
    count = sum(some.count for some in late)
    for height, first, last in packing(TableNumber.BUMP, cells_per_row(air), policy).shares(count):
        fixed = {"first": first, "last": last, "height": height}
        yield TraceTask("bump", bump_trace, fixed, (made,), (air.main_width, height))
