"""The groups and steps of a program, and the facts that runs of one program share."""

import struct
import tracemalloc
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.vm.executor import predecode
from graphprover.vm.executor.execute import execute
from graphprover.vm.kernels.tape import NO_STEP
from graphprover.vm.program import elf as elf_module
from graphprover.vm.program.elf import Image, load_elf
from graphprover.vm.program.io import INPUT_BASE
from graphprover.vm.program.isa import Instruction, Op
from graphprover.vm.statement import statement
from graphprover.vm.statement.shape import SPARSE_CYCLES, policy_at
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import IN_PLACE, NARROW
from graphprover.vm.statement.version import CHIP_NUMBERS
from graphprover.vm.tables import entries
from graphprover.vm.traces import partition
from graphprover.vm.traces.partition import Partition, groups_of
from graphprover.vm.traces.run import load_tape
from graphprover.vm.traces.run_statement import statement_of_run
from graphprover.vm.traces.ways import CALL_WAYS, MOST_WAYS, WAYS, _fits, kinds
from tests.vm.assemble import CODE, Segment, X, elf, leave, li, words
from tests.vm.programs import everything

GUESTS = Path(__file__).parents[3] / "examples/guests"
DEVICE = CpuDevice(1)
NAMES = {number: name for name, number in CHIP_NUMBERS.items()}


def loop(more: int = 0) -> Image:
    """Return a program that turns as often as its input says, before ``more`` instructions that never run."""
    turn = [
        Instruction(Op.ADD, 7, 7, 6),
        Instruction(Op.XORI, 8, 7, imm=-5),
        Instruction(Op.SLL, 9, 8, 6),
        Instruction(Op.ADDI, 6, 6, imm=-1),
    ]
    again = Instruction(Op.BNE, rs1=6, imm=-4 * len(turn))
    code = [*li(5, INPUT_BASE), Instruction(Op.LD, 6, 5, imm=8), *turn, again, *leave()]
    return load_elf(elf([Segment(CODE, words(code) + more * words([Instruction(Op.OR, 10, 11, 12)]), X)]))


def turns(count: int) -> bytes:
    """Return the input of `loop`."""
    return struct.pack("<Q", count)


def partition_of(machine: Machine, data: bytes) -> Partition:
    """Return the partition of a run."""
    record = execute(machine.image, data, record=True).record
    assert record is not None
    with DEVICE.task():
        tape = load_tape(DEVICE, machine=machine, record=record, cycle_range=range(record.cycles))
        return partition.partition(machine, DEVICE, tape, record.cycles, policy_at(None))


def test_runs_share_the_facts_about_their_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each fact once, although the runs drop different chips."""
    made: Counter[str] = Counter()
    places = (
        (elf_module, "decode_all"),
        (statement, "program_entries"),
        (partition, "_make_groups"),
        (partition, "outcomes_by_way"),
        (predecode, "registers_accessed"),
        (entries, "registers_accessed"),
    )
    for module, name in places:
        count_calls(monkeypatch, made, module, name)
    machine = Machine(loop())
    runs = [partition_of(machine, turns(count)) for count in (10, 3_000, 10)]
    assert len({one.redirects.tobytes() for one in runs}) == 2
    statement_of_run(machine, execute(machine.image, turns(20), record=True))
    assert made == {f"{module.__name__}.{name}": 1 for module, name in places}
    groups_of(Machine(machine.image))
    assert made["graphprover.vm.traces.partition._make_groups"] == 2


def count_calls(monkeypatch: pytest.MonkeyPatch, calls: Counter[str], module: Any, name: str) -> None:
    """Count the calls of a module's function by its full name."""
    function = getattr(module, name)

    def counted(*arguments: Any, **named: Any) -> Any:
        calls[f"{module.__name__}.{name}"] += 1
        return function(*arguments, **named)

    monkeypatch.setattr(module, name, counted)


def test_a_later_census_takes_no_memory_for_the_program() -> None:
    """Compare the memory with a byte for each instruction, of which few run: every array of the program has more."""
    more = 1 << 20
    machine, data = Machine(loop(more)), turns(SPARSE_CYCLES // 5)
    run = execute(machine.image, data, record=True)
    assert run.cycles > SPARSE_CYCLES
    statement_of_run(machine, run, device=DEVICE)
    tracemalloc.start()
    try:
        statement_of_run(machine, run, device=DEVICE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < more


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
    without = frozenset(number for number, name in NAMES.items() if name.endswith(dropped))
    expected_entries, calls = entries_by_way(machine, without), machine.instructions.op == Op.ECALL
    behind = WAYS * len(calls)
    assert len(groups.steps) == behind + CALL_WAYS * calls.sum() and calls.any()
    own, of_calls = groups.steps[:behind].reshape(-1, WAYS), groups.steps[behind:].reshape(-1, CALL_WAYS)
    leading = behind + CALL_WAYS * np.arange(len(of_calls))
    assert (own[calls] == leading[:, None]).all()
    for steps, expected in ((own[~calls], expected_entries[~calls, :WAYS]), (of_calls, expected_entries[calls])):
        proved = expected >= 0
        assert proved.any() and (steps[~proved] == NO_STEP).all()
        found = steps[proved] + groups.redirects(without)[(steps[proved] >> np.uint64(32)).astype(np.int64)]
        assert (found & np.uint64(2**32 - 1) == expected[proved]).all()
        assert (found >> np.uint64(32) == groups.of(expected[proved])).all()


def entries_by_way(machine: Machine, without: frozenset[int]) -> np.ndarray:
    """Return for each instruction and way the first entry that proves it, or -1, without chips of these numbers."""
    chips, kind = machine.chip_of_entry.tolist(), kinds(machine.instructions.op).tolist()
    found = np.full((len(kind), MOST_WAYS), -1)
    for i, (start, end) in enumerate(pairwise(machine.program_entries.first.tolist())):
        for entry in reversed(range(start, end)):
            if chips[entry] not in without:
                found[i, _fits(NAMES[chips[entry]], kind[i])] = entry
    return found
