"""The program table built in one pass, against the outcomes of each instruction."""

from pathlib import Path

import numpy as np
import pytest

from graphprover.field import P
from graphprover.vm.program.elf import Image, load_elf
from graphprover.vm.program.isa import Instruction, Op
from graphprover.vm.statement.statement import Machine
from graphprover.vm.tables.chips import CHIP_NUMBERS
from graphprover.vm.tables.program import FIELDS
from tests.slow import slow_after
from tests.vm.assemble import image, leave
from tests.vm.outcomes import outcomes_of
from tests.vm.programs import everything

GUESTS = sorted((Path(__file__).parents[3] / "examples/guests").glob("*.elf"))
LARGE = [path.name for path in GUESTS if path.stat().st_size > 500_000]
SMALL = [path.name for path in GUESTS if path.name not in LARGE]


def edges() -> Image:
    """Return every operation on equal, missing and x0 registers, with the largest and smallest immediates."""
    code: list[Instruction | int] = [0, 0xFFFFFFFF]
    for op in Op:
        low, high = op.format.immediate.low, op.format.immediate.high
        for rd, rs1, rs2 in ((0, 0, 0), (0, 1, 2), (1, 1, 1), (1, 1, 2), (1, 2, 1), (1, 2, 2), (1, 0, 2), (1, 2, 0)):
            for imm in {low, high - high % op.format.immediate.step, 0}:
                form = op.format
                code.append(Instruction(op, rd * form.rd, rs1 * form.rs1, rs2 * form.rs2, imm=imm))
    return image([*code, *leave()])


@pytest.mark.parametrize("which", slow_after(2 + len(SMALL), ["everything", "edges", *SMALL, *LARGE]))
def test_entries_are_the_outcomes_in_order(which: str) -> None:
    programs = {"everything": everything, "edges": edges}
    files = {path.name: path for path in GUESTS}
    machine = Machine(load_elf(files[which].read_bytes()) if which in files else programs[which]())
    rows = [
        (CHIP_NUMBERS[outcome.chip], *(getattr(outcome, name) % P for name in FIELDS[1:]))
        for outcomes in outcomes_of(machine)
        for outcome in outcomes
    ]
    assert len(rows) > 100
    assert machine.entries.dtype == np.uint64
    assert machine.entries.T.tolist() == [list(row) for row in rows]
