"""Cycle ranges of a run, and the records and traces that they share with the whole run."""

import numpy as np
import pytest

from graphprover import check
from graphprover.device import CpuDevice
from graphprover.statement.statement import Statement, with_traces
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.program.elf import Image
from graphprover.vm.program.io import INPUT_BASE, OUTPUT_BASE
from graphprover.vm.program.isa import Instruction, Op
from graphprover.vm.statement.statement import Machine
from graphprover.vm.tables.clock import FAR
from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
from graphprover.vm.traces.run_statement import shards_of_run, statement_of_run
from tests.slow import slow_after
from tests.strict_device import StrictDevice
from tests.vm.assemble import image, leave, li
from tests.vm.in_time import in_time
from tests.vm.programs import X, Y, everything


def test_cycle_ranges_are_the_whole_run_in_order() -> None:
    assert cycle_ranges_of(10) == cycle_ranges_of(10, shards=1) == cycle_ranges_of(10, length=10) == [range(10)]
    assert cycle_ranges_of(10, shards=3) == [range(3), range(3, 6), range(6, 10)]
    assert cycle_ranges_of(10, length=4) == [range(4), range(4, 8), range(8, 10)]
    assert cycle_ranges_of(3, shards=3) == cycle_ranges_of(3, length=1) == [range(1), range(1, 2), range(2, 3)]
    for shards, length in ((0, None), (11, None), (None, 0), (2, 5)):
        with pytest.raises(ValueError, match=r"not both|a cycle range|a run of"):
            cycle_ranges_of(10, shards, length)


def far_accesses() -> Image:
    """Return a program that writes words and registers, waits longer than a lookup reaches, then reads them."""
    wait = [*li(X, FAR // 4), Instruction(Op.ADDI, X, X, imm=-1), Instruction(Op.BNE, rs1=X, imm=-4)]
    before = [*li(Y, OUTPUT_BASE), *li(20, 8), Instruction(Op.SD, rs1=Y, rs2=20), *li(21, INPUT_BASE)]
    after = [Instruction(Op.LD, 22, Y), Instruction(Op.LD, 23, 21, imm=5), Instruction(Op.ADD, 20, 20, 22)]
    return image([*before, *wait, *after, *li(21, 0), *leave(20)])


def run_of(program: Image) -> tuple[Machine, Execution]:
    return Machine(program), execute(program, b"some input", record=True)


@pytest.mark.parametrize("count", slow_after(1, [3, 2, 7]))
@pytest.mark.parametrize("program", [everything(2), far_accesses()], ids=["everything", "far"])
def test_shards_balance_together(program: Image, count: int) -> None:
    """Balance the tables of all shards together, without their heads; no shard balances by itself."""
    machine, run = run_of(program)
    shards = shards_of_run(machine, run, cycle_ranges_of(run.cycles, count), commit_input=count == 3)
    made = [with_traces(shard) for shard in shards.statements]
    assert not check(Statement([table for shard in made for table in shard.tables[1:]]))
    assert all(check(Statement(shard.tables[1:])) for shard in made)


def test_late_accesses_are_bumped_where_they_are() -> None:
    """Bump in the range of the late access: reads after the loop, 2/3 of the run, find words of the first range."""
    machine, run = run_of(far_accesses())
    last = run.cycles - 20
    shards = shards_of_run(machine, run, [range(20), range(20, last), range(last, run.cycles)])
    bumps = [[table for table in shard.tables if table.air.name == "bump"] for shard in shards.statements]
    assert list(map(len, bumps)) == [0, 0, 1]
    ((table,),) = [found for found in bumps if found]
    used = np.asarray(with_traces(Statement([table])).tables[0].main)[0].sum()
    whole = next(table for table in statement_of_run(machine, run).tables if table.air.name == "bump")
    assert used == np.asarray(with_traces(Statement([whole])).tables[0].main)[0].sum() > 3


@pytest.mark.parametrize("program", [everything(2), far_accesses()], ids=["everything", "far"])
def test_any_device_makes_them(program: Image) -> None:
    machine, run = run_of(program)
    for shard in shards_of_run(machine, run, cycle_ranges_of(run.cycles, 3)).statements:
        here = with_traces(shard, CpuDevice(1))
        for device in (CpuDevice(3), StrictDevice()):
            for there, table in zip(with_traces(shard, device).tables, here.tables, strict=True):
                np.testing.assert_array_equal(np.asarray(there.main), table.main, err_msg=table.air.name)


@pytest.mark.parametrize("program", [everything(2), far_accesses()], ids=["everything", "far"])
def test_cycle_ranges_are_replayed_as_the_whole_run(program: Image) -> None:
    """Begin and end cycle ranges inside of intervals."""
    machine, run = run_of(program)
    whole = in_time(machine, run)
    for cycle_range in cycle_ranges_of(run.cycles, 7):
        part = in_time(machine, run, cycle_range)
        own = slice(cycle_range.start, cycle_range.stop)
        for name in ("entry", "a", "b", "c", "d", "t_a", "t_b", "t_d"):
            expected = getattr(whole.cycles, name)[own]
            np.testing.assert_array_equal(getattr(part.cycles, name), expected, err_msg=name)
        np.testing.assert_array_equal(part.cycles.order, np.arange(len(cycle_range)))
        used = whole.cycles.at[own] > 0
        for name in ("old", "time"):
            there = getattr(part, name)[part.cycles.at[used]]
            np.testing.assert_array_equal(there, getattr(whole, name)[whole.cycles.at[own][used]], err_msg=name)


def test_cycle_ranges_that_are_not_the_run() -> None:
    machine, run = run_of(everything(1))
    end = run.cycles
    for cycle_ranges in (
        [range(end)],
        [range(5), range(5, end - 1)],
        [range(5), range(6, end)],
        [range(6), range(5, end)],
        [range(5, end), range(5)],
        [range(0, end, 2), range(end, end)],
        [range(end), range(end, end)],
        [],
    ):
        with pytest.raises(ValueError, match=r"these cycle ranges|2 to 1024 shards"):
            shards_of_run(machine, run, cycle_ranges)
