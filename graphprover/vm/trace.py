"""From an execution to a statement about it: which tables there are, and how a device makes the trace of each."""

from collections.abc import Iterator, Sequence

import numpy as np

from graphprover.device import Array, Device
from graphprover.recipe import Recipe
from graphprover.statement import Statement, Table
from graphprover.vm.bumps import Late, bump_trace, late_accesses, some
from graphprover.vm.claim import MAX_PROVED_OUTPUT, MAX_STATED_INPUT
from graphprover.vm.execute import Execution
from graphprover.vm.io import region
from graphprover.vm.lookup_counts import count_recipes
from graphprover.vm.machine import Machine, cells_per_row
from graphprover.vm.partition import Unprovable, partition
from graphprover.vm.parts import Part
from graphprover.vm.rows import HOST, Rows, Run, load_run, run_of, write_step
from graphprover.vm.shape import MIN_ROWS, Place, lanes_for, packing, rows_for
from graphprover.vm.state_traces import output_words, state_recipes
from graphprover.vm.tables.keccak_f import even_trace
from graphprover.vm.tables.keccak_f import trace as keccak_f_trace
from graphprover.vm.tables.step import ONES, Step

__all__ = ["Unprovable", "statement"]


def statement(machine: Machine, execution: Execution, label: str = "", *, state_input: bool = False) -> Statement:
    """The statement about an execution, with recipes for its traces; with ``state_input`` it says on which input.

    Raises Unprovable.
    """
    record = execution.record
    if record is None:
        raise ValueError("an execution without a record cannot be proved")
    if state_input and len(execution.input) > MAX_STATED_INPUT:
        raise Unprovable(f"an input of {len(execution.input):,} bytes: a proof states {MAX_STATED_INPUT:,} at most")
    if len(execution.output) > MAX_PROVED_OUTPUT:
        most = f"a proof states {MAX_PROVED_OUTPUT:,} at most: put out a hash"
        raise Unprovable(f"an output of {len(execution.output):,} bytes: {most}")
    stated = region(execution.input) if state_input else np.zeros(0, dtype=np.uint64)
    words = output_words(execution, record.memory)
    sizes = len(words), len(stated)
    parted = partition(machine, record)
    here = run_of(machine, record, parted.order, parted.entries)
    run = Recipe("record", load_run, {"run": here})

    steps: list[tuple[Place, Recipe]] = []
    late: list[Late] = []
    places = {Place(family, lanes_for(last - first)): (first, last) for family, (first, last) in parted.shares.items()}
    for place, (first, last) in sorted(places.items(), key=lambda each: each[0].code):
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
    code = execution.exit_code
    public = [execution.cycles, code & ONES, code >> 32, *codes]
    public_words: dict[int, list[int]] = {
        part: [half for word in each.tolist() for half in (word & ONES, word >> 32)]
        for part, each in ((Part.OUTPUT, words), (Part.STATED_INPUT, stated))
    }
    first_row = np.zeros((1, MIN_ROWS), dtype=np.uint64)
    first_row[0, 0] = 1
    mains = [first_row, *(trace for _, trace in traces), *(recipe for _, recipe in steps)]
    try:
        airs = machine.tables(execution.cycles, codes, [main.shape[1] for main in mains], *sizes)
    except ValueError as error:
        raise Unprovable(f"this run has no proof: {error}") from error
    values = [public, *(public_words.get(code, ()) for code in codes)]
    return Statement([Table(*table) for table in zip(airs, values, mains, strict=True)], label)


def _step(machine: Machine, place: Place) -> Step:
    step = machine.air(place.code, 0, 0)
    assert isinstance(step, Step)
    return step


def _family_recipes(machine: Machine, place: Place, run: Recipe, start: int, end: int) -> Iterator[Recipe]:
    """The tables of one family, which proves the cycles start..end."""
    step = _step(machine, place)
    air = step.describe()
    for height, first, last in packing(place.code, cells_per_row(air)).shares(end - start):
        fixed = {"step": step, "height": height, "first": start + first, "last": start + last}
        yield Recipe(place.family, family_trace, fixed, (run,), (air.main_width, height))


def _bump_recipes(machine: Machine, late: Sequence[Late], run: Recipe) -> Iterator[Recipe]:
    """The tables of all bumps, in order."""
    air = machine.air(Part.BUMP, 0, 0).describe()
    count = sum(len(each.places) for each in late)
    for height, first, last in packing(Part.BUMP, cells_per_row(air)).shares(count):
        fixed = {"late": some(late, first, last), "height": height}
        yield Recipe("bump", bump_trace, fixed, (run,), (air.main_width, height))


def _keccak_traces(machine: Machine, run: Run, start: int, end: int) -> Iterator[tuple[int, np.ndarray]]:
    """The traces of the permutation, whose calls are numbered by clocks, and of even numbers.

    They are made here and now, because how many even numbers there are shows in the former only.
    """
    cells = cells_per_row(machine.air(Part.KECCAK_F, 0, 0).describe())
    traces = []
    for height, first, last in packing(Part.KECCAK_F, cells).shares(end - start):
        chosen = slice(start + first, start + last)
        rows = Rows(HOST, run, run.order[chosen], run.entries[chosen])
        traces.append(keccak_f_trace(rows.clk, rows.words("old"), height))
    yield from ((Part.KECCAK_F, trace) for trace in traces)
    yield Part.EVEN, even_trace(traces, MIN_ROWS)


def family_trace(device: Device, run: Run, *, step: Step, height: int, first: int, last: int) -> Array:
    """The trace of a family that proves the cycles first..last of the run's order."""
    trace = device.arrays.zeros((step.describe().main_width, height), dtype=np.uint64)
    write_step(device, run, step, trace, run.order[first:last], run.entries[first:last])
    return trace


def program_trace(device: Device, *, entries: np.ndarray, rows: int) -> Array:
    """The trace of the program table: how often each of its rows is met."""
    return device.load(np.bincount(entries, minlength=rows).astype(np.uint64).reshape(1, rows))
