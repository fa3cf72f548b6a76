"""The groups and steps of a program, and the cache of its steps."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from graphprover.vm.kernels.tape import NO_STEP
from graphprover.vm.program.elf import load_elf
from graphprover.vm.program.isa import Op
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import IN_PLACE, NARROW
from graphprover.vm.statement.version import CHIP_NUMBERS
from graphprover.vm.traces import partition
from graphprover.vm.traces.partition import MOST_STEPS, groups_of, steps_of
from graphprover.vm.traces.ways import CALL_WAYS, WAYS, entries_by_way, kinds
from tests.vm.assemble import image, leave, li
from tests.vm.programs import everything

GUESTS = Path(__file__).parents[3] / "examples/guests"


def test_steps_are_cached_by_program_and_dropped_chips(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, other = Machine(image(li(5, 7) + leave())), Machine(image(li(5, 1 << 20) + leave()))
    made = partition._make_steps
    calls: list[tuple[Machine, frozenset[int]]] = []

    def counted(machine: Machine, dropped: frozenset[int]) -> np.ndarray:
        calls.append((machine, dropped))
        return made(machine, dropped)

    monkeypatch.setattr(partition, "_make_steps", counted)
    chips = sorted({int(chip) for chip in groups_of(machine).chip})
    asked = [frozenset[int](), *({chip} for chip in chips[:2])]
    for _ in range(2):
        for dropped in map(frozenset, asked):
            assert np.array_equal(steps_of(machine, dropped), made(machine, dropped))
        assert np.array_equal(steps_of(other), made(other, frozenset()))
    assert len(calls) == len(asked) + 1
    for number in range(MOST_STEPS):
        steps_of(machine, frozenset({100 + number}))
    calls.clear()
    steps_of(machine)
    assert calls == [(machine, frozenset())]


@pytest.mark.parametrize("dropped", [(), (IN_PLACE,), (IN_PLACE, NARROW)])
@pytest.mark.parametrize("guest", ["interpreter", "sha256", "everything"])
def test_steps_of_forms_are_the_steps_of_each_instruction(guest: str, dropped: tuple[str, ...]) -> None:
    machine = Machine(everything() if guest == "everything" else load_elf((GUESTS / f"{guest}.elf").read_bytes()))
    program, chips, groups = machine.program_entries, machine.chip_of_entry, groups_of(machine)
    outcomes = [tuple(chips[start:end]) for start, end in pairwise(program.first)]
    appeared = {of: number for number, of in enumerate(dict.fromkeys(outcomes))}
    keys = [(chip, appeared[of], outcome) for of in outcomes for outcome, chip in enumerate(of)]
    numbers = {key: number for number, key in enumerate(sorted(set(keys)))}
    assert groups.of(np.arange(len(chips))).tolist() == [numbers[key] for key in keys]
    assert groups.chip.tolist() == [chip for chip, *_ in numbers]
    without = {number for name, number in CHIP_NUMBERS.items() if name.endswith(dropped)}
    excluded = np.isin(np.arange(max(CHIP_NUMBERS.values()) + 1), list(without))
    entries = entries_by_way(kinds(machine.instructions.op), program.first, chips, excluded)
    steps, calls = steps_of(machine, frozenset(without)), machine.instructions.op == Op.ECALL
    behind = WAYS * len(calls)
    assert len(steps) == behind + CALL_WAYS * calls.sum() and calls.any()
    own, of_calls = steps[:behind].reshape(-1, WAYS), steps[behind:].reshape(-1, CALL_WAYS)
    leading = behind + CALL_WAYS * np.arange(len(of_calls))
    assert (own[calls] == leading[:, None]).all()
    for found, expected in ((own[~calls], entries[~calls, :WAYS]), (of_calls, entries[calls, :CALL_WAYS])):
        proved = expected >= 0
        assert proved.any() and (found[~proved] == NO_STEP).all()
        assert (found[proved] & np.uint64(2**32 - 1) == expected[proved]).all()
        assert (found[proved] >> np.uint64(32) == groups.of(expected[proved])).all()
