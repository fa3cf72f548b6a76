"""The cached steps of a program."""

import numpy as np
import pytest

from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces import partition
from graphprover.vm.traces.partition import MOST_STEPS, groups_of, steps_of
from tests.vm.assemble import image, leave, li


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
