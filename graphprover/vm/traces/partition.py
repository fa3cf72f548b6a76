"""Assigns every cycle to a chip, before any trace is made: the counts decide the tables and their heights.

A cycle looks up an entry of the program table: its instruction, as one chip proves it. The entry follows from the
instruction and from the way it went (`graphprover.vm.traces.ways`). A group is all entries of one chip whose
instructions have the same outcomes, at the same place among them. A cycle range is ordered by group and then by time;
the groups of a chip are neighbours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from graphprover.device import Array, Device
from graphprover.runtime.once import once
from graphprover.vm.executor.record import INTERVAL, LOG_INTERVAL
from graphprover.vm.kernels import census, replay
from graphprover.vm.kernels.tape import ACCESSES, NO_STEP, Tape, empty_cycles
from graphprover.vm.program.isa import Op, disassemble
from graphprover.vm.statement.shape import LayoutPolicy, least_for
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import IN_PLACE, NARROW
from graphprover.vm.statement.version import CHIP_NUMBERS
from graphprover.vm.tables.chips import chip_table
from graphprover.vm.tables.entries import Entries
from graphprover.vm.traces.accesses import Access, accesses_of
from graphprover.vm.traces.ways import laid_out, outcomes_by_way

_NAMES = {number: name for name, number in CHIP_NUMBERS.items()}


class Unprovable(ValueError):
    """Raised for a run with an instruction that executed, but that no chip can prove."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of a program's entries, by the number of their chip, then by instruction."""

    program: Entries
    starts: np.ndarray  # int64 (forms,), where each form's outcomes begin among those of all forms
    of_outcome: np.ndarray  # int64, the group of each outcome of each form
    steps: np.ndarray  # uint64, read-only, see kernels/tape.py: for each way the first entry that proves it
    chip: np.ndarray  # int64 (groups,), the group's chip number
    outcome: np.ndarray  # int64 (groups,), the place of the group's entries among an instruction's entries
    other: np.ndarray  # int64 (groups,), the next of the same outcomes: after IN_PLACE or NARROW it proves the same

    def of(self, entries: np.ndarray) -> np.ndarray:
        """Return the groups of these entries, int64."""
        instruction = self.program.instruction[entries]
        return self.of_outcome[self.starts[self.program.form[instruction]] + entries - self.program.first[instruction]]

    def heirs(self, dropped: frozenset[int]) -> np.ndarray:
        """Return for each group the one that proves its cycles, int64 (groups,), without chips of these numbers."""
        is_dropped = np.zeros(1 + self.chip.max(), dtype=bool)
        is_dropped[list(dropped)] = True
        gone, found = is_dropped[self.chip], np.arange(len(self.other))
        while (left := gone[found]).any():
            found[left] = self.other[found[left]]
        return found

    def redirects(self, dropped: frozenset[int]) -> np.ndarray:
        """Return what redirects each group's steps to its heir: uint64 (groups,), see kernels/tape.py."""
        own, heirs = np.arange(len(self.other)), self.heirs(dropped)
        # An instruction's entries are in the order of its outcomes, each one behind its predecessor.
        return ((heirs - own << 32) + self.outcome[heirs] - self.outcome[own]).astype(np.uint64)


@dataclass(frozen=True)
class Late:
    """Late accesses of a chip."""

    access: Access
    first: int  # the chip's cycles in the order
    last: int
    count: int


@dataclass(frozen=True, eq=False)
class Partition:
    """The cycles of a cycle range, chip by chip."""

    redirects: np.ndarray  # uint64 (groups,), see kernels/tape.py
    shares: Mapping[str, tuple[int, int]]  # start and end in the order of each chip that proves cycles
    late: tuple[Late, ...]  # by chip, then by access


@dataclass(frozen=True, eq=False)
class Counted:
    """A device's counts of a cycle range."""

    steps: Array  # of the program
    redirects: Array
    places: Array  # uint32 (groups, intervals): cycles before the group's in an interval
    ends: Array  # uint32 (groups, intervals): the same with the group's cycles
    late: Array  # uint64 (groups, ACCESSES): late accesses
    refused: Array  # uint64 (2,): the first cycles that no table proves


def count(device: Device, tape: Tape, steps: np.ndarray, redirects: np.ndarray) -> Counted:
    """Replay a cycle range for its counts."""
    arrays, groups = device.arrays, len(redirects)
    shape = groups, len(tape.index)
    added, refused = device.load_all([redirects, np.full(2, NO_STEP, dtype=np.uint64)])
    there = device.constant(steps), added
    counts, late = arrays.zeros(shape, dtype=np.uint32), arrays.zeros((groups, ACCESSES), dtype=np.uint64)
    census(device, tape, *there, counts, late, refused)
    sums = arrays.zeros(counts.size + 1, dtype=np.uint32)
    arrays.cumsum(counts.ravel(), dtype=np.uint32, out=sums[1:])
    return Counted(*there, sums[:-1].reshape(shape), sums[1:].reshape(shape), late, refused)


def partition(machine: Machine, device: Device, tape: Tape, cycles: int, policy: LayoutPolicy) -> Partition:
    """Assign every cycle of a cycle range to the cheapest chip that can prove it; raise Unprovable.

    ``cycles``: length of the whole run.
    """
    groups = groups_of(machine)
    with device.task():
        counted = count(device, tape, groups.steps, groups.redirects(frozenset()))
        ends = device.fetch(counted.ends[:, -1])
        refused, late = device.fetch(counted.refused), device.fetch(counted.late)
    _check(machine, device, tape, refused)
    totals = np.diff(ends, prepend=np.uint32(0)).astype(np.int64)
    dropped = dropped_chips(groups, totals, cycles, policy)
    heirs = groups.heirs(dropped)
    totals, late = (_inherited(values, heirs) for values in (totals, late.astype(np.int64)))
    return Partition(groups.redirects(dropped), *_chips(groups.chip, totals, late))


def dropped_chips(groups: Groups, totals: np.ndarray, cycles: int, policy: LayoutPolicy) -> frozenset[int]:
    """Return the numbers of chips with too few cycles for tables of their own, all of which other chips can prove.

    ``totals``: int64 (groups,), the cycles of each group if no chip is dropped; ``cycles``: length of the run.
    """
    dropped: frozenset[int] = frozenset()
    for ending in (IN_PLACE, NARROW):  # narrow chips also inherit the cycles of dropped in-place ones
        proved = np.bincount(groups.chip, weights=_inherited(totals, groups.heirs(dropped)))
        dropped |= {
            number
            for number in np.unique(groups.chip).tolist()
            if _NAMES[number].endswith(ending) and proved[number] < least_for(_NAMES[number], cycles, policy)
        }
    return dropped


def _inherited(values: np.ndarray, heirs: np.ndarray) -> np.ndarray:
    """Return counts of groups, (groups, ...), with each dropped group's added to its heir's."""
    found = np.zeros_like(values)
    np.add.at(found, heirs, values)
    return found


def _chips(
    chip: np.ndarray, totals: np.ndarray, late: np.ndarray
) -> tuple[dict[str, tuple[int, int]], tuple[Late, ...]]:
    """Return the shares and late accesses of a `Partition`, from rising chip numbers of groups and their counts."""
    numbers, firsts = np.unique(chip, return_index=True)
    cycles, late = np.add.reduceat(totals, firsts), np.add.reduceat(late, firsts)
    shares, found, end = {}, [], 0
    for number, own, of_access in zip(numbers.tolist(), cycles.tolist(), late.tolist(), strict=True):
        if not own:
            continue
        start, end = end, end + own
        shares[_NAMES[number]] = start, end
        for access in accesses_of(chip_table(_NAMES[number])):
            if count := of_access[access.column]:
                found.append(Late(access, start, end, count))
    return shares, tuple(found)


def _check(machine: Machine, device: Device, tape: Tape, refused: np.ndarray) -> None:
    """Raise Unprovable for a cycle that no chip proves, or for an access too late for a single bump."""
    unproved, unreached = refused.tolist()
    if unproved != NO_STEP:
        at = _instruction_of(machine, device, tape, unproved)
        pc = machine.image.code_base + 4 * at
        line = disassemble(int(machine.image.code[at]), pc)
        raise Unprovable(f"cycle {unproved}, pc {pc:#x}: {line}: no chip proves this instruction here")
    if unreached != NO_STEP:
        raise Unprovable(f"cycle {unreached}: a value was not accessed for more than 2^30 cycles")


def _instruction_of(machine: Machine, device: Device, tape: Tape, cycle: int) -> int:
    """Return the index in the code of a cycle's instruction."""
    interval = (cycle - tape.start) >> LOG_INTERVAL
    one = slice(interval, interval + 1)
    snapshot = {name: getattr(tape, name)[one] for name in ("index", "at", "values", "times")}
    alone = replace(tape, **snapshot, start=tape.start + INTERVAL * interval, first=cycle, last=cycle + 1)
    every = np.arange(len(machine.instructions.op), dtype=np.uint64)[:, None]
    number = laid_out(machine.instructions.op == Op.ECALL, lambda chosen, ways: np.repeat(every[chosen], ways, axis=1))
    with device.task():
        cycles = empty_cycles(device, 1, len(tape.old))
        redirects, places = np.zeros(1, dtype=np.uint64), np.zeros((1, 1), dtype=np.uint32)
        replay(device, alone, device.load(number), device.load(redirects), device.load(places), cycles)
        return int(device.fetch(cycles.entry)[0])


@once
def groups_of(machine: Machine) -> Groups:
    """Return the groups of a program's entries."""
    return _make_groups(machine)


def _make_groups(machine: Machine) -> Groups:
    program = machine.program_entries
    alike: dict[tuple[int, ...], int] = {}  # forms with the same chips, numbered by first appearance
    keys = [
        [(chip, alike.setdefault(form.chips, len(alike)), outcome) for outcome, chip in enumerate(form.chips)]
        for form in program.forms
    ]
    numbers = {key: group for group, key in enumerate(sorted({key for of_form in keys for key in of_form}))}
    groups = [[numbers[key] for key in of_form] for of_form in keys]
    other = np.arange(len(numbers))
    for of_form in groups:
        other[of_form[:-1]] = of_form[1:]
    starts = np.cumsum([0, *map(len, groups)])[:-1]
    of_outcome = np.array([*chain(*groups)], dtype=np.int64)
    chip, outcome = (np.array([key[i] for key in numbers], dtype=np.int64) for i in (0, 2))
    steps = _make_steps(program, starts, of_outcome)
    return Groups(program, starts, of_outcome, steps, chip, outcome, other)


def _make_steps(program: Entries, starts: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Choose for each form of instructions, then add each instruction's first entry.

    ``starts`` and ``groups``: as `Groups` has them as ``starts`` and ``of_outcome``.
    """
    outcomes = outcomes_by_way(program.forms)
    proved = outcomes >= 0
    of_form = (groups[starts[:, None] + outcomes] << 32) + outcomes

    def of(chosen: Any, ways: int) -> np.ndarray:
        form = program.form[chosen]
        steps = of_form[:, :ways].take(form, axis=0)
        steps += program.first[:-1][chosen, None]
        np.copyto(steps, -1, where=~proved[:, :ways].take(form, axis=0))
        return steps.view(np.uint64)

    calls = np.array([form.op == Op.ECALL for form in program.forms])
    return laid_out(calls[program.form], of)
