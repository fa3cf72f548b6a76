"""A run and its counts: the ``Profile``."""

from dataclasses import dataclass
from typing import Unpack

import numpy as np

from graphprover.statement.cost import Cost, cost_of_counts
from graphprover.vm.executor.execute import Execution, execute_counting
from graphprover.vm.executor.run_options import RunOptions
from graphprover.vm.profile.calls import follow, given, paths
from graphprover.vm.profile.cells import BUMP, Use, tables_of
from graphprover.vm.profile.counters import Counters, in_place_chips, start
from graphprover.vm.profile.facts import facts_of
from graphprover.vm.program.elf import Image
from graphprover.vm.statement.shape import policy_at, table_for
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import PERMUTING, name_of
from graphprover.vm.statement.table_rules import ROWS_OF_CALL
from graphprover.vm.statement.version import CHIP_NUMBERS
from graphprover.vm.traces.partition import dropped_chips, groups_of

MAX_COUNTERS = 1 << 25  # of call paths as they appear; behind them is one for each entry of the program


@dataclass(frozen=True, eq=False)
class Samples:
    """The cost of instructions: int64 arrays of one length, an element for each instruction, call path and table."""

    node: np.ndarray  # the call path
    instruction: np.ndarray  # its index in the code
    table: np.ndarray  # the index in ``Profile.tables`` of the chip, or of a table that the chip uses
    cycles: np.ndarray  # executions, with the chip's table; 0 with others
    cells: np.ndarray  # committed


@dataclass(frozen=True, eq=False)
class Profile:
    """The cycles of a run and the cells of its proof, by call path, instruction and table.

    The samples have ``execution.cycles`` cycles in all, and the ``drawn`` cells of each table.
    """

    execution: Execution
    functions: tuple[str, ...]  # names, by rising address
    node_function: np.ndarray  # int64 (nodes,), the last function of a call path; -1: see ``calls``
    node_parent: np.ndarray  # int64 (nodes,), the path without it; the first node is its own parent
    samples: Samples
    tables: tuple[Use, ...]  # all tables of the statement, chips first

    @property
    def cells(self) -> int:
        """Return the committed cells of a proof of the run."""
        return sum(use.cells for use in self.tables)

    @property
    def cost(self) -> Cost:
        """Return the cost of a proof of the run."""
        words = sum(use.words for use in self.tables)
        return cost_of_counts(cells=self.cells, cycles=self.execution.cycles, words=words, tables=len(self.tables))


def profile(program: Image | Machine, data: bytes = b"", **options: Unpack[RunOptions]) -> Profile:
    """Run ``program`` on ``data`` and count; raise the errors of ``execute``.

    Runs without a proof have cells, too. Profiles of one machine share the facts about its program, which each profile
    of an image makes.
    """
    machine = program if isinstance(program, Machine) else Machine(program)
    chips, of, facts = machine.chip_of_entry, machine.program_entries.instruction, facts_of(machine)
    calls = follow(facts.function, facts.first, facts.slot, MAX_COUNTERS + len(of))
    made: list[Counters] = []

    def begin(words: int) -> Counters:
        made.append(start(calls, facts.steps, facts.in_place, MAX_COUNTERS, words))
        return made[0]

    execution, memory = execute_counting(machine.image, data, begin, **options)
    node, entry, cycles, late = _used(machine, made[0])
    chip, instruction = chips[entry], of[entry]

    names = {number: name for name, number in CHIP_NUMBERS.items()}
    executed = {names[number]: int(cycles[chip == number].sum()) for number in np.unique(chip).tolist()}
    proving = {
        CHIP_NUMBERS[name]: name_of(table_for(name, count, execution.cycles, policy_at(None)))
        for name, count in executed.items()
    }
    uses = tables_of(machine, execution, memory, executed, int(late.sum()))
    columns = []
    for table, use in enumerate(uses):
        if use.name in proving.values():
            some = np.isin(chip, [number for number, name in proving.items() if name == use.name])
            draws = counted = cycles[some]
        elif use.name in (BUMP, *map(name_of, ROWS_OF_CALL)):
            some = late > 0 if use.name == BUMP else np.isin(chip, [CHIP_NUMBERS[one] for one in PERMUTING])
            draws = late[some] if use.name == BUMP else cycles[some]
            counted = np.zeros_like(draws)
        else:
            continue
        columns.append((node[some], instruction[some], np.full(len(draws), table), counted, use.shares(draws)))
    samples = Samples(*(np.concatenate(column) for column in zip(*columns, strict=True)))
    return Profile(execution, facts.names, *paths(calls), samples, tuple(uses))


def _used(machine: Machine, counters: Counters) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return node, entry, executions and late accesses of all counts, int64.

    An entry of a chip that is dropped becomes the next that is not.
    """
    chips, groups, in_place = machine.chip_of_entry, groups_of(machine), in_place_chips()
    *starts, end = given(counters.calls)
    (at,) = (counters.counts[:end] | counters.late[:end]).nonzero()
    node = np.searchsorted(starts, at, side="right") - 1
    entry = at - counters.calls.node_base[node]
    cycles, late = counters.counts[at], counters.late[at]
    totals = np.bincount(groups.of(entry), weights=cycles, minlength=len(groups.chip)).astype(np.int64)
    dropped = np.zeros_like(in_place)
    dropped[list(dropped_chips(groups, totals, int(totals.sum()), policy_at(None)))] = True
    late_at_d = (cycles == 0) & (entry > 0) & in_place[chips[entry - 1]]
    entry = np.where(late_at_d, entry - 1, entry)
    late = np.where(late_at_d & dropped[chips[entry]], 0, late)
    while (gone := dropped[chips[entry]]).any():
        entry = entry + gone
    return node, entry, cycles, late
