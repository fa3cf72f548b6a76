"""From an execution to a statement about it: which tables there are, and how a device makes the trace of each."""

from collections.abc import Iterator, Sequence

import numpy as np

from graphprover.device import Array, Device
from graphprover.recipe import Recipe
from graphprover.statement import Statement, Table
from graphprover.vm.bumps import Late, bump_trace, late_accesses, some
from graphprover.vm.claim import MAX_STATED_INPUT
from graphprover.vm.execute import Execution
from graphprover.vm.io import region
from graphprover.vm.lookup_counts import count_recipes
from graphprover.vm.machine import MIN_ROWS, Machine, Part, Place, cells_per_row, rows_for
from graphprover.vm.partition import Unprovable, lanes_for, partition
from graphprover.vm.rows import HOST, Rows, Run, load_run, run_of, write_step
from graphprover.vm.state_traces import output_words, state_recipes
from graphprover.vm.tables.bump import LANES as BUMP_LANES
from graphprover.vm.tables.keccak_f import ROUNDS, even_trace
from graphprover.vm.tables.keccak_f import trace as keccak_f_trace
from graphprover.vm.tables.step import ONES, Step

__all__ = ["Unprovable", "statement"]

SPLIT_CELLS = 1 << 20  # idle cells from which on a table is split into two


def statement(machine: Machine, execution: Execution, label: str = "", *, state_input: bool = False) -> Statement:
    """The statement about an execution, with recipes for its traces; with ``state_input`` it says on which input.

    Raises Unprovable.
    """
    record = execution.record
    if record is None:
        raise ValueError("an execution without a record cannot be proved")
    if state_input and len(execution.input) > MAX_STATED_INPUT:
        raise Unprovable(f"an input of {len(execution.input):,} bytes: a proof states {MAX_STATED_INPUT:,} at most")
    stated = region(execution.input) if state_input else np.zeros(0, dtype=np.uint64)
    words = output_words(execution, record.memory)
    sizes = len(words), len(stated)
    parted = partition(machine, record)
    here = run_of(machine, record, parted.order, parted.entries)
    run = Recipe("record", load_run, {"run": here})

    steps: list[tuple[Place, Recipe]] = []
    late: list[Late] = []
    for family, (first, last) in parted.shares.items():
        place = Place(family, lanes_for(last - first))
        steps += [(place, recipe) for recipe in _family_recipes(machine, place, run, first, last)]
        late += late_accesses(here, _step(machine, place), first, last)

    rows = rows_for(machine.entries.shape[1])
    tables: list[tuple[int, Recipe]] = [
        (Part.PROGRAM, Recipe("program", program_trace, {"entries": parted.entries, "rows": rows}, shape=(1, rows)))
    ]
    tables += state_recipes(machine, record.registers, record.memory, len(words), stated)
    tables += ((Part.BUMP, recipe) for recipe in _bump_recipes(machine, late, run))
    looking = [(recipe, _step(machine, place).describe()) for place, recipe in steps]
    looking += [(recipe, machine.air(part, 0, *sizes).describe()) for part, recipe in tables]
    tables += count_recipes(looking).items()

    traces: list[tuple[int, Recipe | np.ndarray]] = [*tables]
    if "keccak_call" in parted.shares:
        traces += _keccak_traces(machine, here, *parted.shares["keccak_call"])
    traces.sort(key=lambda each: each[0])
    codes = [*(int(part) for part, _ in traces), *(place.code for place, _ in steps)]
    first_row = np.zeros((1, MIN_ROWS), dtype=np.uint64)
    first_row[0, 0] = 1
    code = execution.exit_code
    public = [execution.cycles, code & ONES, code >> 32, *codes]
    public_words = {
        part: [half for word in each.tolist() for half in (word & ONES, word >> 32)]
        for part, each in ((Part.OUTPUT, words), (Part.STATED_INPUT, stated))
    }
    made = [Table(machine.air(0, 1 + len(codes), *sizes), public, first_row)]
    made += [Table(machine.air(part, 0, *sizes), public_words.get(Part(part), ()), trace) for part, trace in traces]
    made += [Table(_step(machine, place), (), recipe) for place, recipe in steps]
    return Statement(made, label)


def _step(machine: Machine, place: Place) -> Step:
    step = machine.air(place.code, 0, 0)
    assert isinstance(step, Step)
    return step


def _height(rows: int, width: int) -> int:
    """The height of a table for so many rows, or of the first where there are to be several: see SPLIT_CELLS."""
    height = rows_for(rows)
    return height // 2 if (height - rows) * width > SPLIT_CELLS else height


def _heights(count: int, lanes: int, width: int) -> Iterator[tuple[int, int, int]]:
    """Height, first and last of the tables for so many lanes."""
    first = 0
    while first < count:
        height = _height(-(-(count - first) // lanes), width)
        last = min(first + height * lanes, count)
        yield height, first, last
        first = last


def _family_recipes(machine: Machine, place: Place, run: Recipe, start: int, end: int) -> Iterator[Recipe]:
    """The tables of one family, which proves the cycles start..end."""
    step = _step(machine, place)
    air = step.describe()
    for height, first, last in _heights(end - start, place.lanes, cells_per_row(air)):
        fixed = {"step": step, "height": height, "first": start + first, "last": start + last}
        yield Recipe(place.family, family_trace, fixed, (run,), (air.main_width, height))


def _bump_recipes(machine: Machine, late: Sequence[Late], run: Recipe) -> Iterator[Recipe]:
    """The tables of all bumps, in order."""
    air = machine.air(Part.BUMP, 0, 0).describe()
    count = sum(len(each.places) for each in late)
    for height, first, last in _heights(count, BUMP_LANES, cells_per_row(air)):
        fixed = {"late": some(late, first, last), "height": height}
        yield Recipe("bump", bump_trace, fixed, (run,), (air.main_width, height))


def _keccak_traces(machine: Machine, run: Run, first: int, last: int) -> Iterator[tuple[int, np.ndarray]]:
    """The traces of the permutation, whose calls are numbered by clocks, and of even numbers.

    They are made here and now, because how many even numbers there are shows in the former only.
    """
    width = cells_per_row(machine.air(Part.KECCAK_F, 0, 0).describe())
    traces = []
    while first < last:
        height = _height(ROUNDS * (last - first), width)
        end = min(first + height // ROUNDS, last)
        rows = Rows(HOST, run, run.order[first:end], run.entries[first:end])
        traces.append(keccak_f_trace(rows.clk, rows.words("old"), height))
        first = end
    yield from ((Part.KECCAK_F, trace) for trace in traces)
    yield Part.EVEN, even_trace(traces, MIN_ROWS)


def family_trace(device: Device, run: Run, *, step: Step, height: int, first: int, last: int) -> Array:
    """The trace of a family that proves the cycles first..last of the run's order."""
    maker = device.maker
    trace = maker.arrays.zeros((step.describe().main_width, height), dtype=np.uint64)
    write_step(maker, run, step, trace, run.order[first:last], run.entries[first:last])
    return device.load(trace)


def program_trace(device: Device, *, entries: np.ndarray, rows: int) -> Array:
    """The trace of the program table: how often each of its rows is met."""
    return device.load(np.bincount(entries, minlength=rows).astype(np.uint64).reshape(1, rows))
