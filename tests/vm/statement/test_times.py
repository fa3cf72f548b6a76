"""Time cannot run in a circle: all tables of bumps together stay far below p."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graphprover import VerificationError, check, prove
from graphprover.air import TableBuilder
from graphprover.field import P
from graphprover.proof.proof import Proof
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement, Table, with_traces
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.isa import A0, A7, Instruction, Op
from graphprover.vm.statement import shape
from graphprover.vm.statement import statement as program_statement
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import EXIT, TableNumber
from graphprover.vm.statement.times import check_times
from graphprover.vm.tables import bump
from graphprover.vm.tables.bump import Bump
from graphprover.vm.tables.buses import REGISTER_BASE, VM, Tag, message
from graphprover.vm.tables.step import paired
from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
from graphprover.vm.traces.run_statement import shards_of_run, statement_of_run
from tests.vm.assemble import image, li
from tests.vm.programs import cells_of_chip

SCALE = 1 << 20  # of the steps of a bump, so that 2^12 of them lead around p instead of 2^32
PROGRAM = [*li(A7, 93), Instruction(Op.ECALL)]  # ends with exit code 0, which a0 holds from the start
FALSE_CODE = 42


class LongBump(Bump):
    """A bump whose steps are SCALE times as long."""

    def define(self, t: TableBuilder) -> None:
        for on, at, time, lo, hi, low, high in zip(t.on, t.at, t.t, t.lo, t.hi, t.step_low, t.step_high, strict=True):
            t.every_row(paired(on), "a lane is used or not")
            t.receive(VM, message(Tag.ACCESS, at, time, lo, hi), on, weight=1)
            t.send(VM, message(Tag.ACCESS, at, time + SCALE * (1 + low + (1 << 16) * high), lo, hi), on, weight=1)
            t.lookup(VM, message(Tag.HALF, low), on, weight=1)
            t.lookup(VM, message(Tag.HALF, high), on, weight=1)


@pytest.fixture
def long_steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use long bumps in prover and verifier, and a full range table, from which forged bumps may ask for any number."""
    with monkeypatch.context() as patch:
        patch.setattr(shape, "SPARSE_CYCLES", 0)
        patch.setitem(program_statement._AIRS, TableNumber.BUMP, LongBump)
        patch.setattr(bump, "REACH", SCALE * bump.REACH)
        program_statement._same_for_all.cache_clear()
        yield
    program_statement._same_for_all.cache_clear()


def circle(count: int = 1) -> Statement | ShardedStatement:
    """Return the run of PROGRAM whose exit reads FALSE_CODE from a0: an access that follows itself, around p.

    The run has one or two shards (``count``), each with the same number of the bumps.
    """
    program = Machine(image(PROGRAM))
    run = execute(program.image, record=True)
    if count == 1:
        whole = statement_of_run(program, run)
        honest, numbers = [whole.tables], [list(whole.tables[0].public_values or ())[3:]]
        numbers[0].insert(0, 0)
    else:
        shards = shards_of_run(program, run, cycle_ranges_of(run.cycles, count))
        honest, numbers = [shard.tables[1:] for shard in shards.statements], [list(share) for share in shards.shares]
    made = [with_traces(Statement(tables)).tables for tables in honest]
    tables = [dict(zip(*named, strict=True)) for named in zip(numbers, made, strict=True)]

    def edited(shard: int, number: int) -> Any:
        table = tables[shard][number]
        main = np.array(table.main, dtype=np.uint64)
        tables[shard][number] = replace(table, main=main)
        return table.air.view(main)

    exit_at, before = 9, 8  # when the second cycle reads a0, and when it claims that the access before was
    edited(-1, TableNumber.COMMON)
    halt = cells_of_chip(tables[-1][TableNumber.COMMON], EXIT)
    assert halt.b_at[0, 0] == REGISTER_BASE + A0 and halt.b_t[0, 0] == 0
    halt.b_t[0, 0], halt.b_lo[0, 0] = before, FALSE_CODE
    registers = edited(0, TableNumber.REGISTERS)
    assert registers.t[A0] == exit_at
    registers.t[A0] = 0
    counted = edited(-1, TableNumber.NUMBERS)
    counted.half[exit_at - 1] -= 1
    counted.half[0] += 1

    step = (1 << 32) - 1
    lanes = (P - 1) // (SCALE * step)
    assert lanes * SCALE * step == P - 1
    times = [(exit_at + i * SCALE * step) % P for i in range(lanes)]
    assert (times[-1] + SCALE * step) % P == before
    own = lanes // count
    for shard in range(count):
        air = LongBump()
        trace, c = air.zeros(own // bump.BUMP_LANES)
        c.on[:], c.at[:], c.lo[:] = 1, REGISTER_BASE + A0, FALSE_CODE
        c.t[:] = np.array(times[shard * own : (shard + 1) * own], dtype=np.uint64).reshape(-1, bump.BUMP_LANES).T
        c.step_low[:], c.step_high[:] = (step - 1) & 0xFFFF, (step - 1) >> 16
        tables[shard][TableNumber.BUMP] = Table(air, (), trace)
        counted = edited(shard, TableNumber.NUMBERS)
        for half in ((step - 1) & 0xFFFF, (step - 1) >> 16):
            counted.half[half] += own

    boundary, *others = sorted(tables[0])
    first = (run.cycles, FALSE_CODE, 0, *others)
    tables[0][boundary] = Table(program.air(0, 1 + len(others), 0), first, tables[0][boundary].main)
    ordered = [[own[number] for number in sorted(own)] for own in tables]
    if count == 1:
        return Statement(ordered[0])
    return program.in_shards(ordered, [others, *(sorted(own) for own in tables[1:])], "")


@pytest.mark.parametrize("count", [1, 2])
def test_a_circle_around_p_is_refused(long_steps: None, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Refuse a false exit code in a proof that is otherwise correct, in one shard or with half in each of two."""
    program, false = Machine(image(PROGRAM)), circle(count)
    whole = false if count == 1 else Statement([table for shard in false.statements for table in shard.tables[1:]])
    assert execute(program.image).exit_code == 0 and not check(whole)
    proof = prove(false, security=80)
    with monkeypatch.context() as patch:
        patch.setattr(program_statement, "check_times", lambda tables: None)
        verdict = program.verify(proof, security=80, exit_code=FALSE_CODE)
        assert verdict.claim and verdict.claim.exit_code == FALSE_CODE
    with pytest.raises(VerificationError, match="could wrap around p"):
        program.statement_of(proof)


def with_bumps(proof: Proof, *log_rows: int) -> Proof:
    """Replace the tables of bumps in the proof's header."""
    numbers = proof.public_values[0][3:]
    rest = [
        table for table in zip(numbers, proof.log_heights[1:], proof.public_values[1:], strict=True) if table[0] != 8
    ]
    added = [(int(TableNumber.BUMP), log, ()) for log in log_rows]
    numbers, heights, values = zip(*sorted([*rest, *added], key=lambda table: table[0]), strict=True)
    first = (*proof.public_values[0][:3], *numbers)
    long = bytes(1 << 22)  # enough for the openings of all of them
    return replace(proof, log_heights=(proof.log_heights[0], *heights), public_values=(first, *values), payload=long)


def test_all_bumps_together_are_bounded() -> None:
    """Refuse 64 tables of 2^26 rows, which could hold a circle, and 8, which exceed the bound with the other tables."""
    program = Machine(image(PROGRAM))
    honest = statement_of_run(program, execute(program.image, record=True))
    proof = prove(honest, security=80)
    for log_rows in ([26] * 64, [26] * 8, [25] * 16):
        with pytest.raises(VerificationError, match="could wrap around p"):
            program.statement_of(with_bumps(proof, *log_rows))
    for log_rows in ([26] * 7, [25, 24], [20, 19, 18]):
        assert len(program.statement_of(with_bumps(proof, *log_rows)).tables) == len(honest.tables) + len(log_rows)


def test_bumps_of_all_shards_together_are_bounded() -> None:
    """Refuse in two shards the number of tables that is too large for one."""
    program = Machine(image(PROGRAM))
    run = execute(program.image, record=True)
    honest = shards_of_run(program, run, cycle_ranges_of(run.cycles, 2))
    numbers = [[number for number in share if number] for share in honest.shares]
    heights = [
        [table.main.shape[1] for table in shard.tables[1:] if table.main is not None] for shard in honest.statements
    ]

    def with_tables(*counts: int) -> tuple[list[list[int]], list[list[int]]]:
        """Return these numbers of tables of bumps in each shard, of the most rows."""
        named, tall = [list(own) for own in numbers], [list(own) for own in heights]
        for shard, count in enumerate(counts):
            at = sum(number < TableNumber.BUMP for number in named[shard])
            named[shard][at:at] = [int(TableNumber.BUMP)] * count
            tall[shard][at + (not shard) : at + (not shard)] = [1 << 26] * count
        return named, tall

    for counts in ((7, 0), (0, 7), (4, 3), (3, 4)):
        program.tables(run.cycles, *with_tables(*counts), 0, 0)
    with pytest.raises(ValueError, match="could wrap around p"):
        program.tables(run.cycles, *with_tables(4, 4), 0, 0)


def test_times_count_over_all_tables() -> None:
    rows = 1 << 26
    check_times([(Bump(), rows)])
    check_times([(Bump(), rows)] * 8)
    with pytest.raises(ValueError, match="wrap around"):
        check_times([*[(Bump(), rows)] * 8, (Bump(), 64)])
