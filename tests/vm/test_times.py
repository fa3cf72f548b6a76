"""Time cannot run in a circle: bumps of all tables together lead nowhere near p."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graphprover import VerificationError, check, prove, verify
from graphprover.air import TableBuilder
from graphprover.envelope import Proof
from graphprover.field import P
from graphprover.statement import Statement, Table, with_traces
from graphprover.vm import statement as program_statement
from graphprover.vm.buses import REGISTER_BASE, VM, Tag, message
from graphprover.vm.claim import claim_of
from graphprover.vm.execute import execute
from graphprover.vm.isa import A0, A7, Instruction, Op
from graphprover.vm.run_statement import statement_of_run
from graphprover.vm.statement import Machine
from graphprover.vm.table_numbers import TableNumber
from graphprover.vm.tables import bump
from graphprover.vm.tables.bump import Bump
from graphprover.vm.tables.step import paired
from graphprover.vm.times import check_times
from tests.vm.assemble import image, li

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
    """A machine of such bumps, for prover and verifier."""
    with monkeypatch.context() as patch:
        patch.setitem(program_statement._AIRS, TableNumber.BUMP, LongBump)
        patch.setattr(bump, "REACH", SCALE * bump.REACH)
        program_statement._same_for_all.cache_clear()
        yield
    program_statement._same_for_all.cache_clear()


def circle() -> Statement:
    """The run of PROGRAM, but that the exit reads FALSE_CODE from a0: an access that follows itself, around p."""
    program = Machine(image(PROGRAM))
    honest = with_traces(statement_of_run(program, execute(program.image, record=True)))
    numbers = list(honest.tables[0].public_values or ())[3:]
    tables = dict(zip((0, *numbers), honest.tables, strict=True))

    def edited(number: int) -> Any:
        table = tables[number]
        main = np.array(table.main, dtype=np.uint64)
        tables[number] = replace(table, main=main)
        return table.air.view(main)

    exit_at, before = 9, 8  # when the second cycle reads a0, and when it claims that the access before was
    halt = edited(numbers[-1])
    assert halt.b_at[0, 0] == REGISTER_BASE + A0 and halt.b_t[0, 0] == 0
    halt.b_t[0, 0], halt.b_lo[0, 0] = before, FALSE_CODE
    registers = edited(TableNumber.REGISTERS)
    assert registers.t[A0] == exit_at
    registers.t[A0] = 0

    step = (1 << 32) - 1
    lanes = (P - 1) // (SCALE * step)
    assert lanes * SCALE * step == P - 1
    air = LongBump()
    trace, c = air.zeros(lanes // bump.BUMP_LANES)
    times = [(exit_at + i * SCALE * step) % P for i in range(lanes)]
    assert (times[-1] + SCALE * step) % P == before
    c.on[:], c.at[:], c.lo[:] = 1, REGISTER_BASE + A0, FALSE_CODE
    c.t[:] = np.array(times, dtype=np.uint64).reshape(-1, bump.BUMP_LANES).T
    c.step_low[:], c.step_high[:] = (step - 1) & 0xFFFF, (step - 1) >> 16
    tables[TableNumber.BUMP] = Table(air, (), trace)

    halves = edited(TableNumber.HALVES)
    halves.half[exit_at - 1] -= 1
    for half, looked_up in ((0, 1), ((step - 1) & 0xFFFF, lanes), ((step - 1) >> 16, lanes)):
        halves.half[half] += looked_up

    numbers = sorted([*numbers, int(TableNumber.BUMP)])
    tables[0] = Table(program.air(0, 1 + len(numbers), 0), (2, FALSE_CODE, 0, *numbers), tables[0].main)
    return Statement([tables[number] for number in (0, *numbers)])


def test_a_circle_around_p_is_refused(long_steps: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything else in the proof of a false exit code is as it should be."""
    program, false = Machine(image(PROGRAM)), circle()
    assert execute(program.image).exit_code == 0 and not check(false)
    proof = prove(false, security=80)
    with monkeypatch.context() as patch:
        patch.setattr(program_statement, "check_times", lambda tables: None)
        verdict = verify(proof, program.statement_of(proof), security=80)
        assert claim_of(verdict.public_values).exit_code == FALSE_CODE
    with pytest.raises(VerificationError, match="could wrap around p"):
        program.statement_of(proof)


def with_bumps(proof: Proof, *log_rows: int) -> Proof:
    """The proof's header with these tables of bumps in place of any it has."""
    numbers = proof.public_values[0][3:]
    rest = [
        table for table in zip(numbers, proof.log_heights[1:], proof.public_values[1:], strict=True) if table[0] != 8
    ]
    added = [(int(TableNumber.BUMP), log, ()) for log in log_rows]
    numbers, heights, values = zip(*sorted([*rest, *added], key=lambda table: table[0]), strict=True)
    first = (*proof.public_values[0][:3], *numbers)
    return replace(proof, log_heights=(proof.log_heights[0], *heights), public_values=(first, *values))


def test_all_bumps_together_are_bounded() -> None:
    """Sixteen tables of 2^26 rows hold a circle; two are too many by what else a statement has."""
    program = Machine(image(PROGRAM))
    honest = statement_of_run(program, execute(program.image, record=True))
    proof = prove(honest, security=80)
    for log_rows in ([26] * 16, [26] * 2, [25] * 4, [22] * 2**5):
        with pytest.raises(VerificationError, match="could wrap around p"):
            program.statement_of(with_bumps(proof, *log_rows))
    for log_rows in ([26], [25, 24], [20, 19, 18]):
        assert len(program.statement_of(with_bumps(proof, *log_rows)).tables) == len(honest.tables) + len(log_rows)


def test_times_count_over_all_tables() -> None:
    rows = 1 << 26
    check_times([(Bump(), rows)])
    check_times([(Bump(), rows), (Bump(), rows)])
    with pytest.raises(ValueError, match="wrap around"):
        check_times([(Bump(), rows), (Bump(), rows), (Bump(), 64)])
