"""The statement about one run, by itself or in pieces: which tables it needs, and how a device makes their traces."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from graphprover.air import Air
from graphprover.device import Device
from graphprover.device.cpu import CpuDevice
from graphprover.protocol.joint import check_count
from graphprover.statement.cells import cells_per_row
from graphprover.statement.shards import Pieces
from graphprover.statement.statement import Statement, Table
from graphprover.statement.trace_task import Recipe, make
from graphprover.vm.executor.execute import Execution
from graphprover.vm.executor.record import Record
from graphprover.vm.program.io import region
from graphprover.vm.statement.claim import MAX_PROVED_OUTPUT, MAX_STATED_INPUT
from graphprover.vm.statement.shape import (
    KECCAK_CALL,
    MIN_ROWS,
    Price,
    may_have_few,
    packing,
    price_at,
    rows_for,
    table_for,
)
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import SHARED, TableNumber, name_of
from graphprover.vm.tables.chips import family_table
from graphprover.vm.tables.limbs import limbs
from graphprover.vm.tables.mixed import Mixed
from graphprover.vm.tables.step import Step
from graphprover.vm.traces.bumps import bump_trace, bumps
from graphprover.vm.traces.chips import family_trace
from graphprover.vm.traces.counts import count_recipe, few_recipes, fixed_recipes, program_trace
from graphprover.vm.traces.keccak import calls_of, keccak_recipes
from graphprover.vm.traces.mixed import Few, Share, count_few, few_traces, mixed_trace
from graphprover.vm.traces.partition import Late, Unprovable, partition
from graphprover.vm.traces.run import load_run, load_tape
from graphprover.vm.traces.state import boundary, output_words, state_recipes

__all__ = ["Unprovable", "pieces_of_run", "statement_of_run"]

_Numbered = tuple[int, Recipe]  # a table's number and its trace
_Other = tuple[int, Air, Recipe]  # the same of one that is no family's, which looks up numbers


def statement_of_run(
    machine: Machine,
    execution: Execution,
    label: str = "",
    *,
    state_input: bool = False,
    device: Device | None = None,
    rate: int | None = None,
) -> Statement:
    """The statement about an execution, with recipes for its traces; with ``state_input`` it says on which input.

    ``device``: what replays the run for the heights of its tables, by default the CPU. ``rate``: of the proof, where
    one is asked for (`shape.price_at`). Raises ValueError for an execution without a record, Unprovable for one that
    has no proof.
    """
    (tables,), _ = _tables(machine, execution, [range(execution.cycles)], state_input, device, rate)
    return Statement(tables, label)


def pieces_of_run(
    machine: Machine,
    execution: Execution,
    windows: Sequence[range],
    label: str = "",
    *,
    state_input: bool = False,
    device: Device | None = None,
    rate: int | None = None,
) -> Pieces:
    """The same in pieces, one for each of the run's windows, which `windows.windows_of` gives.

    Raises ValueError, too, where these are not the whole run in order, or fewer than two.
    """
    check_count(len(windows))
    bounds = [0, *(window.stop for window in windows)]
    in_order = [range(start, end) for start, end in pairwise(bounds) if start < end]
    if list(windows) != in_order or bounds[-1] != execution.cycles:
        raise ValueError(f"not the windows of a run of {execution.cycles:,} cycles, one behind the other: {windows}")
    return machine.in_pieces(*_tables(machine, execution, windows, state_input, device, rate), label)


def _tables(
    machine: Machine,
    execution: Execution,
    windows: Sequence[range],
    state_input: bool,
    device: Device | None,
    rate: int | None,
) -> tuple[list[list[Table]], list[list[int]]]:
    """The tables of each window, with recipes for their traces, and the numbers of all but the boundary, the first."""
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
        (number, machine.air(number, 0, len(output), len(stated)), recipe)
        for number, recipe in state_recipes(machine, record.registers, record.memory, len(output), stated)
    ]
    device, price = device or CpuDevice(), price_at(rate)
    short = may_have_few(execution.cycles, len(windows))
    traces = [
        _traces(machine, record, window, device, [] if i else state, short, price) for i, window in enumerate(windows)
    ]
    numbers = [[number for number, _ in piece] for piece in traces]
    mains = [[recipe for _, recipe in piece] for piece in traces]
    words: dict[int, list[int]] = {TableNumber.OUTPUT: _public(output), TableNumber.STATED_INPUT: _public(stated)}
    values = [[words.get(number, []) for number in piece] for piece in numbers]
    mains[0].insert(0, Recipe("boundary", boundary, shape=(1, MIN_ROWS)))
    values[0].insert(0, [execution.cycles, *limbs(execution.exit_code), *numbers[0]])
    heights = [[main.shape[1] for main in piece] for piece in mains]
    try:
        airs = machine.tables(execution.cycles, numbers, heights, len(output), len(stated))
    except ValueError as error:
        raise Unprovable(f"this run has no proof: {error}") from error
    pieces = zip(airs, values, mains, strict=True)
    return [[Table(*table) for table in zip(*piece, strict=True)] for piece in pieces], numbers


def _public(words: np.ndarray) -> list[int]:
    """Words as public values."""
    return [limb for word in words.tolist() for limb in limbs(word)]


def _traces(
    machine: Machine,
    record: Record,
    window: range,
    device: Device,
    state: Sequence[_Other],
    short: bool,
    price: Price,
) -> list[_Numbered]:
    """The tables beside the boundary that a window of the run needs, in order of their numbers.

    ``state``: the tables of registers and memory, which one window has; ``short``: whether it may have few numbers.
    """
    tape = Recipe("record", load_tape, {"machine": machine, "record": record, "window": window})
    with device.task():
        loaded = load_tape(device, machine=machine, record=record, window=window)
        parted = partition(machine, device, loaded, record.cycles, price)
    run = Recipe("replay", load_run, {"machine": machine, "partition": parted}, (tape,))

    families: list[tuple[int, Step, Recipe]] = []
    shared: dict[int, list[Few]] = {number: [] for number in SHARED}
    for family, (first, last) in parted.shares.items():
        number = table_for(family, last - first, record.cycles, price)
        if number in SHARED:
            shared[number].append(Few(family_table(family), first, last))
        else:
            step = machine.air(number, 0, 0)
            assert isinstance(step, Step)
            families += ((number, step, recipe) for recipe in _family_recipes(number, step, run, first, last, price))

    rows = rows_for(machine.entries.shape[1])
    program = Recipe("program", program_trace, {"rows": rows}, (run,), shape=(1, rows))
    bump = machine.air(TableNumber.BUMP, 0, 0)
    others: list[_Other] = [(TableNumber.PROGRAM, machine.program(), program), *state]
    others += ((TableNumber.BUMP, bump, recipe) for recipe in _bump_recipes(bump, parted.late, run, price))

    looking = [(recipe, step.describe()) for _, step, recipe in families]
    looking += [(recipe, air.describe()) for _, air, recipe in others]
    counts = []
    found: list[_Numbered] = [(int(number), recipe) for number, _, recipe in others]
    for number, few in shared.items():
        if few:
            own = Recipe(f"few.{name_of(number)}", few_traces, {"families": few}, (run,))
            airs = [one.step.describe() for one in few]
            counts.append(Recipe(f"counts.{name_of(number)}", count_few, {"airs": airs}, (own,)))
            found += ((number, recipe) for recipe in _mixed_recipes(machine, number, few, own, price))
    if KECCAK_CALL in parted.shares:
        start, end = parted.shares[KECCAK_CALL]
        calls = Recipe("calls", calls_of, {"start": start, "end": end}, (run,))
        found += keccak_recipes(machine, calls, end - start, price)
    found += [(number, recipe) for number, _, recipe in families]
    total = count_recipe(looking, counts)
    known = few_recipes(_made(device, total), _words(machine, found, state)) if short else None
    found += ((int(number), recipe) for number, recipe in known or fixed_recipes(total))
    return sorted(found, key=lambda numbered: numbered[0])


def _words(machine: Machine, tables: Sequence[_Numbered], state: Sequence[_Other]) -> int:
    """Committed cells of a row of these tables and of powers, all together."""
    airs = {number: air for number, air, _ in state}
    numbers = [*(number for number, _ in tables), TableNumber.POWERS]
    return sum(cells_per_row((airs.get(number) or machine.air(number, 0, 0)).describe()) for number in numbers)


def _made(device: Device, recipe: Recipe) -> np.ndarray:
    """What a recipe gives, on the host."""
    found = make(device, recipe, {})
    with device.task():
        return device.fetch(found)


def _family_recipes(number: int, step: Step, run: Recipe, start: int, end: int, price: Price) -> Iterator[Recipe]:
    """The tables of one family, which proves the cycles start..end."""
    air = step.describe()
    for height, first, last in packing(number, cells_per_row(air), price).shares(end - start):
        fixed = {"step": step, "height": height, "first": start + first, "last": start + last}
        yield Recipe(step.name, family_trace, fixed, (run,), (air.main_width, height))


def _mixed_recipes(
    machine: Machine, number: int, families: Sequence[Few], own: Recipe, price: Price
) -> Iterator[Recipe]:
    """The tables that these families share, whose instructions stand in them one family behind the other.

    ``own`` gives the families' traces.
    """
    mixed = machine.air(number, 0, 0)
    assert isinstance(mixed, Mixed)
    air = mixed.describe()
    ends = np.cumsum([0, *(few.last - few.first for few in families)]).tolist()
    for height, first, last in packing(number, cells_per_row(air), price).shares(ends[-1]):
        shares = []
        for i, (start, end) in enumerate(pairwise(ends)):
            low, high = max(start, first), min(end, last)
            if low < high:
                columns = mixed.columns_of[families[i].step.name]
                shares.append(Share(i, columns, low - start, low - first, high - low))
        fixed = {"shares": shares, "width": air.main_width, "height": height}
        yield Recipe(air.name, mixed_trace, fixed, (own,), (air.main_width, height))


def _bump_recipes(bump: Air, late: Sequence[Late], run: Recipe, price: Price) -> Iterator[Recipe]:
    """The tables of all bumps, in order."""
    air = bump.describe()
    made = Recipe("bumps", bumps, {"late": late}, (run,))
    count = sum(some.count for some in late)
    for height, first, last in packing(TableNumber.BUMP, cells_per_row(air), price).shares(count):
        fixed = {"first": first, "last": last, "height": height}
        yield Recipe("bump", bump_trace, fixed, (made,), (air.main_width, height))
