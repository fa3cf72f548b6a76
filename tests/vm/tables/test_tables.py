"""The tables against the executor: they accept its runs, and nothing else.

Traces are checked by the debugger, which sees any violation that a proof would show; a few are proved.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.air.debugger import FailingConstraint, Finding, UnbalancedBus
from graphprover.field import P
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.proving.prove import prove
from graphprover.statement.check import check
from graphprover.statement.statement import Statement, Table, with_traces
from graphprover.verifier import verify
from graphprover.vm.accelerators.keccak.call import KECCAK_F
from graphprover.vm.executor import execute as executor
from graphprover.vm.executor.execute import execute
from graphprover.vm.executor.faults import GuestFault
from graphprover.vm.executor.record import NO_REGISTER
from graphprover.vm.program.elf import load_elf
from graphprover.vm.program.io import INPUT_BASE, MAX_INPUT_BYTES, OUTPUT_BASE
from graphprover.vm.program.isa import A0, A7, BRANCHES, Instruction, Op
from graphprover.vm.statement import shape
from graphprover.vm.statement.claim import Claim, claim_of
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import EXIT, LANES, ROWS_OF_CHIP, SHARED_TABLE, TableNumber
from graphprover.vm.statement.table_rules import SEVERAL
from graphprover.vm.tables.chips import CHIPS, outcomes
from graphprover.vm.tables.public_words import OutputMemory, PublicWords, StatedInput
from graphprover.vm.tables.state import ImageMemory
from graphprover.vm.tables.step import Step
from graphprover.vm.traces import state as state_traces
from graphprover.vm.traces.partition import Unprovable
from graphprover.vm.traces.run_statement import statement_of_run
from tests.vm import assemble
from tests.vm.assemble import CODE, DATA, Segment, elf, image, leave, li
from tests.vm.mutation import chips, forge, notice
from tests.vm.programs import X, Y, cells_of_chip, everything, set_policy, sharing_rows

GUESTS = Path(__file__).parents[3] / "examples/guests"


@cache
def run(lanes: int = 1) -> Statement:
    """Return a statement with every kind of instruction, with traces; with several lanes, also in-place chips."""
    execution = execute(everything(8), record=True)
    with pytest.MonkeyPatch.context() as patch:
        sharing_rows(patch, lanes)
        return with_traces(statement_of_run(Machine(execution.image), execution))


def names(stated: Statement) -> list[str]:
    return [air.name for air in stated.descriptions]


def forged(stated: Statement, name: str, edit: Callable[[SimpleNamespace], None]) -> Statement:
    """Return the statement with one table's trace changed by ``edit``, which gets writable views of its columns.

    ``name``: the name of a table, or of a chip that shares one.
    """
    tables = list(stated.tables)
    i = place_of(stated, name)
    main = tables[i].main
    assert isinstance(main, np.ndarray)
    changed = replace(tables[i], main=main.copy())
    own = changed.air.name == name
    edit(changed.air.view(changed.main) if own else cells_of_chip(changed, name))
    assert (changed.main != main).any()
    tables[i] = changed
    return Statement(tables, stated.label)


def place_of(stated: Statement, name: str) -> int:
    """Return the position of the table of this name, or of the table that the chip of this name shares."""
    shared = SHARED_TABLE.get(name)
    return names(stated).index(name if name in names(stated) or shared is None else shared.name.lower())


def noticed(stated: Statement, name: str, edit: Callable[[SimpleNamespace], None]) -> list[Finding]:
    found = check(forged(stated, name, edit))
    assert found
    return found


def stated_by(code: list[Instruction], data: bytes = b"") -> Statement:
    execution = execute(image([*code, *leave()], data), record=True)
    return with_traces(statement_of_run(Machine(execution.image), execution))


def test_every_chip_accepts_what_the_executor_does() -> None:
    assert not any(check(run(lanes)) for lanes in LANES)
    assert {*names(run()), *names(run(lanes=2))} >= set(CHIPS) - {EXIT}


@settings(max_examples=3, deadline=None)
@given(st.integers(1, 2**32))
def test_any_operands_are_accepted(seed: int) -> None:
    execution = execute(everything(6, seed), record=True)
    assert not check(statement_of_run(Machine(execution.image), execution))


def test_several_instructions_a_row_and_several_tables_of_a_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prove a loop that is long enough for lanes and for split tables."""
    turns = 140_000
    set_policy(monkeypatch, own_table=1, own_table_long=2, two_lanes=1 << 12, four_lanes=1 << 14)
    loop = [Instruction(Op.ADD, Y, Y, X), Instruction(Op.ADDI, X, X, imm=-1), Instruction(Op.BNE, rs1=X, imm=-8)]
    stated = stated_by([*li(X, turns), *loop])
    adds = [table for table in stated.tables if table.air.name == "add_narrow_in_place"]
    assert isinstance(adds[0].air, Step) and adds[0].air.lanes == 4
    assert [len(table.main[0]) for table in stated.tables if table.air.name == "nonzero"] == [32768, 4096]  # type: ignore[index]
    assert not check(stated)


def test_far_accesses_are_bumped() -> None:
    """Bump a value that was written more than 2^16 before it is read."""
    loop = [*li(X, 20000), Instruction(Op.ADDI, X, X, imm=-1), Instruction(Op.BNE, rs1=X, imm=-4)]
    stated = stated_by([*li(Y, 77), *loop, Instruction(Op.ADD, X, Y, Y)])
    assert "bump" in names(stated) and not check(stated)

    def later(c: SimpleNamespace) -> None:
        c.step_low[0, 0] += 1

    def again(c: SimpleNamespace) -> None:
        """Set a step of 0."""
        c.step_low[0, 0] = P - 1
        c.step_high[0, 0] = 0

    for edit in (later, again):
        noticed(stated, "bump", edit)


def test_several_sparse_range_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each table answer its own numbers, and two tables answer a number together that both have."""
    monkeypatch.setattr(shape, "SPARSE_IDLE", 16)
    execution = execute(everything(3), record=True)
    machine = Machine(execution.image)
    stated = with_traces(statement_of_run(machine, execution))
    tables = [table for table in stated.tables if table.air.name == "sparse_range"]
    assert len(tables) > 1 and not check(stated)
    proof = prove(stated, security=40)
    assert proven(machine, proof, 40).cycles == execution.cycles

    first, last = tables[0], tables[-1]
    whole, part = first.air.view(first.main), last.air.view(last.main)
    row = np.flatnonzero(whole.half)[0]
    whole.half[row] -= np.uint64(1)
    assert check(stated)
    part.a[:, -1], part.b[:, -1], part.both[-1] = whole.a[:, row], whole.b[:, row], whole.both[row]
    part.half[-1] = 1
    assert not check(stated)


def test_several_tables_of_permutations_and_bumps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Split a table that would stay idle; any part may answer a call, and none answers an absent call."""
    set_policy(monkeypatch, idle_cells=3000, idle_rows=0, wide_permutations=1)
    loop = [*li(X, 17000), Instruction(Op.ADDI, X, X, imm=-1), Instruction(Op.BNE, rs1=X, imm=-4)]
    call = [*li(A0, DATA), *li(A7, KECCAK_F), Instruction(Op.ECALL)]
    reads = [Instruction(Op.LD, Y, 5, imm=8 * i) for i in range(-128, 129)]
    code = [*li(5, DATA + 1024), *reads, *call * 6, *loop, *reads, *call, *leave()]
    execution = execute(image(code, bytes(4096)), record=True)
    machine = Machine(execution.image)
    stated = with_traces(statement_of_run(machine, execution))
    assert [names(stated).count(name) for name in ("keccak_rounds", "keccak_planes", "bump")] == [2, 2, 2]
    assert not check(stated)
    proof = prove(stated, security=80)
    assert proven(machine, proof, 80).cycles == execution.cycles

    def again(c: SimpleNamespace) -> None:
        c.call[:25] = c.call[25]

    assert any(
        "keccak-f" in finding.bus
        for finding in noticed(stated, "keccak_rounds", again)
        if isinstance(finding, UnbalancedBus)
    )


def test_several_narrow_tables_of_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Split tables, with a call's classes and its limbs in tables of different places."""
    set_policy(monkeypatch, idle_cells=30_000, idle_rows=0)
    call = [*li(A0, DATA), *li(A7, KECCAK_F), Instruction(Op.ECALL)]
    execution = execute(image([*call * 7, *leave()], bytes(200)), record=True)
    machine = Machine(execution.image)
    stated = with_traces(statement_of_run(machine, execution))
    assert [names(stated).count(name) for name in ("keccak_classes", "keccak_limbs")] == [3, 2]
    assert not check(stated)
    assert proven(machine, prove(stated, security=80), 80).cycles == execution.cycles


@pytest.fixture(scope="module")
def all_chips():  # type: ignore[no-untyped-def]
    return chips(execute(everything(60), record=True), most=200)


def test_forged_rows_are_noticed_and_every_check_is_needed(all_chips) -> None:  # type: ignore[no-untyped-def]
    """Notice changed cells in rows of every chip; nearly every check is the only one to notice some.

    tests/vm/mutate_tables.py does more of this.
    """
    rng = np.random.default_rng(7)
    assert [chip.step.name for chip in all_chips] == [name for name in CHIPS if name not in ROWS_OF_CHIP]
    total = shown = 0
    for chip in all_chips:
        base, rows = forge(chip, 6000, rng)
        base = np.concatenate([np.arange(chip.rows.shape[1]), base])
        seen = notice(chip, base, np.concatenate([chip.rows, rows], axis=1))
        honest = np.flatnonzero(chip.fits)
        assert not seen.violated[:, honest].any() and not seen.changed[honest].any(), chip.step.name
        by = seen.violated.sum(axis=0)
        assert not ((by == 0) & seen.changed).any(), f"{chip.step.name}: a forged row passes"
        checks = [not label.startswith(("STATE", "lands", "a lane")) for label in seen.labels]
        total += sum(checks)
        shown += int((seen.violated[:, by == 1].any(axis=1) & checks).sum())
    assert shown > 0.95 * total, (shown, total)


def test_every_lane_says_whether_it_executes() -> None:
    """Refuse a multiplicity of 2 or -1, which would send and receive twice, or cancel another row."""
    for value in (2, P - 1):
        for name in CHIPS.keys() - {EXIT, *ROWS_OF_CHIP}:

            def edit(c: SimpleNamespace, value: int = value) -> None:
                c.on[0, -1] = value

            for stated in (run(lanes) for lanes in LANES if name in names(run(lanes))):
                assert any(
                    "executes or not" in finding.label
                    for finding in noticed_rows(stated, name, edit)
                    if isinstance(finding, FailingConstraint)
                )


def noticed_rows(stated: Statement, name: str, edit: Callable[[SimpleNamespace], None]) -> list[Finding]:
    """Return the findings in one table alone, whose messages have no receiver."""
    table = forged(stated, name, edit).tables[place_of(stated, name)]
    return check(Statement([table]))


# The machine's claims and their foundations


def edits(c: SimpleNamespace, column: str, row: int, value: int) -> None:
    np.atleast_2d(getattr(c, column)).reshape(-1, getattr(c, column).shape[-1])[0, row] += np.uint64(value)


STATE_EDITS = [
    ("registers", "lo", 10, 1, "a register's last value"),
    ("registers", "t", 10, 1, "when a register was accessed last"),
    ("image_memory", "lo", 64, 1, "the last value of a word"),
    ("image_memory", "hi", 3, 1, "the last value of a word that is never accessed"),
    ("image_memory", "t", 64, 1, "when a word was accessed last"),
    ("output_memory", "t", 0, 1, "when the output was written"),
    ("program", "count", 0, 1, "how often an instruction is executed"),
    ("sparse_range", "half", 5, 1, "how often a number is looked up"),
    ("sparse_range", "a", 5, 1, "a bit of a number"),
    ("sparse_range", "both", 5, 1, "a conjunction"),
    ("sparse_range", "and", 5, 1, "how often a pair of bytes is looked up"),
    ("powers", "left", 5, 1, "how often a power is looked up"),
    ("boundary", "first", 5, 1, "a second beginning"),
    ("goto", "following", 0, 4, "where a jump goes"),
    ("equal", "following", 0, 4, "where a branch goes"),
    ("add", "clk", 0, 1, "when an instruction is executed"),
    ("add", "pc", 0, 4, "which instruction is executed"),
    ("add", "a_at", 0, 1, "which register is read"),
    ("add", "a_t", 0, 1, "when a register was accessed before"),
    ("ld", "m_lo", 0, 1, "what memory holds"),
    ("ld", "m_t", 0, 1, "when memory was accessed before"),
    ("div", "q", 0, 1, "a quotient"),
    ("halt", "b_lo", 0, 1, "the exit code"),
    ("keccak_call", "after", 0, 1, "what the permutation gives"),
    ("keccak_absorb", "new", 0, 1, "a state after a block"),
    ("keccak_absorb", "added_t", 2, 1, "when a word of a block was accessed before"),
    ("keccak_absorb", "t_pc", 3, 4, "which instruction absorbs a block"),
    ("modular_384", "pointer", 1, 8, "where a modulus of 384 bits is"),
    ("modular_384", "v", 1, 1, "a remainder of 384 bits"),
    ("fp2_bn254", "r", 1, 1, "a product in Fp2"),
    ("fp2_bn254", "word_t", 0, 1, "when a coordinate was accessed before"),
    ("fp2_bls12_381", "old", 0, 1, "what the product replaces"),
    ("fp2_bls12_381", "pointer", 0, 8, "where an element of Fp2 is"),
    ("fp2_bls12_381", "a7_pc", 1, 4, "which instruction multiplies in Fp2"),
]


@pytest.mark.parametrize(("table", "column", "row", "step", "what"), STATE_EDITS, ids=[e[-1] for e in STATE_EDITS])
def test_edits_are_noticed(table: str, column: str, row: int, step: int, what: str) -> None:
    noticed(run(), table, lambda c: edits(c, column, row, step))


def test_public_values_are_bound() -> None:
    """Bind output, exit code and cycles; the names of the tables decide which statement is verified."""
    stated = run()
    for i, table in enumerate(stated.tables):
        values = list(table.public_values or ())
        for j in range(3) if i == 0 else {0, len(values) - 1} if values else ():
            values = list(table.public_values or ())
            values[j] += 1
            tables = list(stated.tables)
            tables[i] = Table(table.air, values, table.main)
            assert check(Statement(tables))


def test_a_value_cannot_be_read_before_it_is_written() -> None:
    """Refuse two reads of one register that change places in time."""
    stated = stated_by([Instruction(Op.ADD, X, Y, Y), *[Instruction(Op.ADD, 12, Y, 0)] * 2])

    def swap(c: SimpleNamespace) -> None:
        c.a_t[0, 0], c.a_t[0, 1] = c.a_t[0, 1], c.a_t[0, 0]

    noticed(stated, "add", swap)


def test_a_token_cannot_consume_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse a read at time t that claims t as the time before: the bus would balance for any value."""
    sharing_rows(monkeypatch, 1)
    stated = stated_by([Instruction(Op.ADD, X, Y, Y)])

    def itself(c: SimpleNamespace) -> None:
        c.a_t[0, 0] = 4 * c.clk[0, 0]
        c.a_lo[0, 0] = 5

    found = noticed_rows(stated, "add_narrow", itself)
    half = [P - 1]
    assert any(
        list(message.fields[-1:]) == half for bus in found if isinstance(bus, UnbalancedBus) for message in bus.messages
    )


def test_words_of_memory_have_one_history() -> None:
    """Require rising addresses in a region: no word twice, none before its region, none that is no multiple of 8."""
    data = li(X, DATA + 4096)
    code = [*data, Instruction(Op.SD, rs1=X, rs2=X), Instruction(Op.SD, rs1=X, rs2=X, imm=8)]
    stated = stated_by(code)

    def twice(c: SimpleNamespace) -> None:
        c.at[2] = c.at[1]

    def twice_with_a_gap(c: SimpleNamespace) -> None:
        c.at[2] = c.at[1]
        c.gap[0, 2] = P - 1
        c.gap[0, 3] += 1

    def before(c: SimpleNamespace) -> None:
        c.at[0] -= 8
        c.gap[0, 1] += 1

    def between(c: SimpleNamespace) -> None:
        c.at[1] += 4
        c.gap[0, 1] = (int(c.gap[0, 1]) + pow(2, -1, P)) % P
        c.gap[0, 2] = (int(c.gap[0, 2]) - pow(2, -1, P)) % P

    def at_first(c: SimpleNamespace) -> None:
        c.on[0] = 1

    for edit in (twice, twice_with_a_gap, before, between, at_first):
        noticed(stated, "zero_memory", edit)


@pytest.mark.parametrize("length", [0, 1, MAX_INPUT_BYTES, MAX_INPUT_BYTES + 1, 1 << 30, (1 << 32) + 5, 1 << 63])
def test_an_input_is_no_longer_than_its_region(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit a private input's length to its region; the words behind it are free."""
    monkeypatch.setattr(executor, "region", lambda data: np.array([length, 5], dtype=np.uint64))
    monkeypatch.setattr(state_traces, "MAX_INPUT_BYTES", max(length, MAX_INPUT_BYTES))
    stated = stated_by([*li(X, INPUT_BASE), *(Instruction(Op.LD, 12 + i, X, imm=8 * i) for i in range(3))])
    found = check(stated)
    if length <= MAX_INPUT_BYTES:
        assert not found
        return
    assert [finding.table for finding in found if isinstance(finding, FailingConstraint)][:1] == ["input_memory"]

    def lacking(c: SimpleNamespace) -> None:
        """Satisfy the constraint with a value that is no half."""
        c.gap[0, 0] = (MAX_INPUT_BYTES - int(c.initial[0, 0]) - (int(c.initial[1, 0]) << 16)) % P

    found = noticed(stated, "input_memory", lacking)
    if length >> 32:  # the upper half has a constraint of its own
        assert any(isinstance(finding, FailingConstraint) for finding in found)
    else:
        assert found and all(isinstance(finding, UnbalancedBus) for finding in found)


def test_an_untouched_length_is_no_claim() -> None:
    """Leave the first row idle if a program reads its input without asking for its length."""
    stated = stated_by([*li(X, INPUT_BASE), Instruction(Op.LD, Y, X, imm=16)])
    assert stated.tables[names(stated).index("input_memory")].air.view(main_of(stated, "input_memory")).on[0] == 0
    assert not check(stated)


def main_of(stated: Statement, name: str) -> np.ndarray:
    main = stated.tables[names(stated).index(name)].main
    assert isinstance(main, np.ndarray)
    return main


def test_a_store_does_not_change_the_program() -> None:
    """Refuse a program entry with another word: the program is fixed."""
    code = [*li(X, 5), Instruction(Op.ADDI, Y, X, imm=3)]
    other = [*li(X, 5), Instruction(Op.ADDI, Y, X, imm=4)]
    honest, forged_ = stated_by(code), stated_by(other)
    i = names(honest).index("program")
    tables = list(forged_.tables)
    tables[i] = replace(honest.tables[i], main=tables[i].main)
    assert check(Statement(tables))


def test_no_table_has_a_word_of_code_that_cannot_be_read() -> None:
    """Find no value for a load or store at execute-only code: no table sends the message that it receives."""
    stated = stated_by([*li(X, DATA), Instruction(Op.SD, rs1=X, rs2=X, imm=8)], bytes(16))
    assert not check(stated)
    for guest in sorted(GUESTS.glob("*.elf")):
        machine = Machine(load_elf(guest.read_bytes()))
        program = machine.image
        code = range(program.code_base & ~7, program.code_end, 8)
        assert not set(code) & set(program.addresses.tolist()) and code[-1] < program.zero_base <= INPUT_BASE
    i = names(stated).index("image_memory")
    memory = stated.tables[i].air
    assert isinstance(memory, ImageMemory)
    addresses, values = memory.words
    tables = list(stated.tables)
    elsewhere = np.where(addresses == DATA + 8, CODE, addresses)
    tables[i] = replace(tables[i], air=ImageMemory(elsewhere, values, memory.rows))
    (finding,) = check(Statement(tables))
    assert isinstance(finding, UnbalancedBus) and any(DATA + 8 in message.fields for message in finding.messages)


@pytest.mark.parametrize("op", [Op.LD, Op.SD])
@pytest.mark.parametrize("address", [8, CODE - 8, DATA + 8, DATA + 0x1000 - 8])
def test_an_access_where_nothing_exists_cannot_be_proved(address: int, op: Op) -> None:
    """Refuse a run of a machine that has the word: in the null page, before and behind data, and below the stack."""
    code = [*li(X, address), Instruction(op, rs1=X, rs2=X) if op == Op.SD else Instruction(op, Y, X), *leave()]
    parts = [Segment(CODE, assemble.words(code), assemble.X), Segment(DATA, bytes(8)), Segment(DATA + 0x1000, bytes(8))]
    honest = load_elf(elf(parts))
    with pytest.raises(GuestFault):
        execute(honest)
    place = int(np.searchsorted(honest.addresses, address))
    more = {"addresses": np.insert(honest.addresses, place, address), "values": np.insert(honest.values, place, 0)}
    other = replace(honest, **more)
    stated = with_traces(statement_of_run(Machine(other), execute(other, record=True)))
    assert not check(stated)
    proof = prove(stated, security=30)
    verify(proof, Machine(other).statement_of(proof), security=30)
    with pytest.raises(VerificationError):
        verify(proof, Machine(honest).statement_of(proof), security=30)

    tables, i = list(stated.tables), names(stated).index("image_memory")
    memory, main = tables[i].air, tables[i].main
    assert isinstance(memory, ImageMemory) and isinstance(main, np.ndarray)
    without = np.append(np.delete(main, place, axis=1), np.zeros((3, 1), dtype=np.uint64), axis=1)
    tables[i] = replace(tables[i], air=ImageMemory(honest.addresses, honest.values, memory.rows), main=without)
    (finding,) = check(Statement(tables))
    assert isinstance(finding, UnbalancedBus) and any(address in message.fields for message in finding.messages)


def test_a_jump_below_address_0_has_no_outcome() -> None:
    """Allow no negative numbers in the program table; the executor never jumps there."""

    def ways(op: Op, target: int) -> list[str]:
        a, b = (1, 2) if op in BRANCHES else (0, 0)
        return [
            outcome.chip for outcome in outcomes(Instruction(op, 0, a, b, target - 1000, 1000), (NO_REGISTER, a, b))
        ]

    assert ways(Op.JAL, 0) == ["goto"] and ways(Op.JAL, -4) == []
    assert ways(Op.BEQ, 0) == ["equal", "unequal"] and ways(Op.BEQ, -4) == ["unequal"]


def test_a_long_output_is_refused_before_tables_are_made() -> None:
    with pytest.raises(
        Unprovable, match="an output of 104,857,600 bytes: a proof states at most 1,048,576; output a hash"
    ):
        stated_by([*li(X, OUTPUT_BASE), *li(Y, 100 << 20), Instruction(Op.SD, rs1=X, rs2=Y)])


def test_unprovable_executions_say_why() -> None:
    """Name the cause, a base address above 2^32 whose sum with the immediate is below 2^32."""
    code = [*li(X, 2**32 + 8), Instruction(Op.SD, rs1=X, rs2=X, imm=-16)]
    with pytest.raises(Unprovable, match=r"pc 0x[0-9a-f]+: sd a0, -16\(a0\): no chip"):
        stated_by(code)


# End to end


@cache
def proved() -> tuple[Machine, Proof]:
    code = [*li(X, OUTPUT_BASE), *li(Y, 3), Instruction(Op.SD, rs1=X, rs2=Y), *li(Y, 0x636261)]
    execution = execute(image([*code, Instruction(Op.SD, rs1=X, rs2=Y, imm=8), *leave(3)]), record=True)
    machine = Machine(execution.image)
    return machine, prove(statement_of_run(machine, execution, "abc"))


def test_a_proof_says_output_exit_code_and_cycles() -> None:
    machine, proof = proved()
    verdict = verify(proof, machine.statement_of(proof))
    assert verdict.claim == Claim(b"abc", 3, 12, machine.program_hash, None)
    assert verdict.claim.describe() == {"output": 'text "abc" (3 bytes)', "exit code": "3", "cycles": "12"}
    assert verdict.bits >= 128


def proven(machine: Machine, proof: Proof, security: float) -> Claim:
    claim = machine.verify(proof, security, exit_code="any").claim
    assert claim
    return claim


def rejected(proof: Proof, cause: str | None = None, machine: Machine | None = None) -> None:
    machine = machine or proved()[0]
    with pytest.raises(VerificationError, match=cause):
        verify(proof, machine.statement_of(proof))


def with_values(proof: Proof, table: int, index: int, value: int) -> Proof:
    values = [list(of_table) for of_table in proof.public_values]
    values[table][index] = value
    return replace(proof, public_values=tuple(map(tuple, values)))


def test_a_proof_says_nothing_else() -> None:
    _, proof = proved()
    output = 1 + proof.public_values[0][3:].index(TableNumber.OUTPUT)
    for table, index in ((0, 0), (0, 1), (0, 2), (output, 2)):
        rejected(with_values(proof, table, index, proof.public_values[table][index] + 1))
    rejected(with_values(proof, output, 0, 9), "length")
    rejected(with_values(proof, output, 3, 2**32), "length")


def test_a_proof_is_of_one_program() -> None:
    machine, proof = proved()
    code = machine.image.code.copy()
    code[0] ^= 1 << 20
    rejected(proof, machine=Machine(replace(machine.image, code=code)))
    rejected(proof, machine=Machine(replace(machine.image, entry=machine.image.entry + 4)))


def test_tables_are_there_once() -> None:
    """Refuse another memory or program table, which would let a word have two histories."""
    _, proof = proved()
    shape = proof.public_values[0][3:]
    for number in {*TableNumber} - SEVERAL:
        if number in shape:
            i = shape.index(number)
            values = (*proof.public_values[0][: 3 + i], number, *proof.public_values[0][3 + i :])
            twice = replace(
                proof,
                log_heights=(*proof.log_heights[: 1 + i], *proof.log_heights[i:]),
                public_values=(values, *proof.public_values[1 : 1 + i], *proof.public_values[i:]),
            )
            assert len(twice.public_values[0]) - 3 == len(twice.log_heights) - 1
            rejected(twice, "twice")


@pytest.mark.parametrize("number", [0, 15, 16, 18, 16 * (len(CHIPS) + 1) + 1, P - 1])
def test_only_known_tables_are_verified(number: int) -> None:
    rejected(with_values(proved()[1], 0, 3, number))


def test_malformed_statements() -> None:
    _, proof = proved()
    rejected(replace(proof, public_values=(), log_heights=()), "first table")
    rejected(replace(proof, public_values=((1, 2), *proof.public_values[1:])), "first table")
    rejected(replace(proof, log_heights=(7, *proof.log_heights[1:])), "the boundary has 128 rows")
    rejected(replace(proof, log_heights=proof.log_heights[:-1], public_values=proof.public_values[:-1]), "first table")


# Public words: a stated input, and the output

READER = [  # puts out the sum of the input's length and first two words, and writes over the second
    *li(X, INPUT_BASE),
    *(Instruction(Op.LD, register, X, imm=8 * i) for i, register in enumerate((12, 13, 14))),
    Instruction(Op.SD, rs1=X, rs2=12, imm=16),
    Instruction(Op.ADD, 12, 12, 13),
    Instruction(Op.ADD, 12, 12, 14),
    *li(X, OUTPUT_BASE),
    *li(Y, 8),
    Instruction(Op.SD, rs1=X, rs2=Y),
    Instruction(Op.SD, rs1=X, rs2=12, imm=8),
]
INPUT = bytes(range(1, 20)) * 30  # 570 bytes: 73 words, three a row, one in the last


@cache
def on_input(data: bytes = INPUT) -> Statement:
    execution = execute(image([*READER, *leave()]), data, record=True)
    return with_traces(statement_of_run(Machine(execution.image), execution, commit_input=True))


@pytest.mark.parametrize("size", [0, 1, 8, 9, 16, 240, 248, 249, 570])
def test_inputs_of_any_size_are_stated(size: int) -> None:
    """State zeros beyond the input's end for a program that reads there."""
    stated = on_input(INPUT[:size])
    assert "input_memory" not in names(stated) and not check(stated)
    assert claim_of([table.public_values or () for table in stated.tables], b"").input == INPUT[:size]


@pytest.mark.parametrize("word", [0, 1, 2, 31, 32, 72])
def test_a_stated_input_is_the_input(word: int) -> None:
    """Bind every word, read (0 to 2) or not: its row has the initial value."""
    stated = on_input()
    values = stated.tables[names(stated).index("stated_input")].public_values or ()
    assert check(with_public_value(stated, "stated_input", 2 * word, values[2 * word] + 1))


def test_a_stated_input_is_there_once() -> None:
    stated = on_input()

    def again(c: SimpleNamespace) -> None:
        """Repeat its first row."""
        c.row[0, 1], c.row[1, 1] = 1, 0

    def later(c: SimpleNamespace) -> None:
        """Shift its last row."""
        c.row[-1, 24], c.row[-1, 25] = 0, 1

    for edit in (again, later):
        found = noticed(stated, "stated_input", edit)
        assert any(isinstance(finding, FailingConstraint) and finding.table == "stated_input" for finding in found)
    noticed(stated, "stated_input", lambda c: edits(c, "lo", 2, 1))  # the last value of a word that is never accessed
    noticed(stated, "stated_input", lambda c: edits(c, "t", 0, 1))


def writer(size: int, words: int = 0) -> list[Instruction]:
    """Return a program that outputs ``size`` bytes and writes only the first ``words`` words: descending numbers."""
    loop = [
        Instruction(Op.ADDI, X, X, imm=8),
        Instruction(Op.SD, rs1=X, rs2=12),
        Instruction(Op.ADDI, 12, 12, imm=-1),
        Instruction(Op.BNE, rs1=12, imm=-12),
    ]
    length = [*li(X, OUTPUT_BASE), *li(Y, size), Instruction(Op.SD, rs1=X, rs2=Y)]
    return [*length, *li(12, words), *(loop if words else [])]


@cache
def putting_out(size: int, words: int = 0) -> Statement:
    return stated_by(writer(size, words))


def with_public_value(stated: Statement, table: str, index: int, value: int) -> Statement:
    tables, i = list(stated.tables), names(stated).index(table)
    values = list(tables[i].public_values or ())
    values[index] = value
    tables[i] = replace(tables[i], public_values=values)
    return Statement(tables)


@pytest.mark.parametrize("size", [0, 1, 8, 9, 120, 121, 570, 8200])
def test_outputs_of_any_size_are_public(size: int) -> None:
    """Accept a program that writes fewer or more bytes than its length; the longest has more rows than the least."""
    for words in {0, 1, -(-size // 8)}:
        stated = putting_out(size, words)
        written = b"".join((words - i).to_bytes(8, "little") for i in range(words))
        claim = claim_of([table.public_values or () for table in stated.tables], b"")
        assert claim.output == written[:size].ljust(size, b"\0")
        assert main_of(stated, "output_memory").shape[1] == (128 if size == 8200 else 64)
        assert not check(stated)


@pytest.mark.parametrize("word", [0, 1, 2, 31, 32, 71])
def test_an_output_is_the_output(word: int) -> None:
    """Bind every word, written (0 to 31) or not, in every row and in each half."""
    stated = putting_out(570, 31)
    values = stated.tables[names(stated).index("output_memory")].public_values or ()
    for index in (2 * word, 2 * word + 1):
        assert check(with_public_value(stated, "output_memory", index, values[index] + 1))


@pytest.mark.parametrize("table", ["stated_input", "output_memory"])
def test_every_statement_about_flags_is_needed(table: str) -> None:
    """Refuse flags by which a row of words is absent or there twice: its words could then be anything."""
    stated = on_input() if table == "stated_input" else putting_out(570)
    air = stated.tables[names(stated).index(table)].air
    assert isinstance(air, PublicWords) and air.lanes > 1 and air.rows * air.lanes > air.words

    def from_there(row: int, first: int, value: int) -> Callable[[SimpleNamespace], None]:
        """Return an edit that sets flags in a row and, shifted, in the rows that follow."""

        def edit(c: SimpleNamespace) -> None:
            for i in range(first, air.rows):
                c.row[i, row + i - first] = value

        return edit

    for first in range(1, air.rows):
        never = forged(stated, table, from_there(first, first, 0))
        free = with_public_value(never, table, 2 * air.words - 2, 12345)  # of a word that has no row
        for changed in (never, free):
            (finding,) = check(changed)
            assert isinstance(finding, FailingConstraint) and (finding.row, finding.rows) == (first - 1, 1)
        for row in (0, air.rows):  # from the first row on, and once more
            found = noticed(stated, table, from_there(row, first, 1))
            (failing,) = (finding for finding in found if isinstance(finding, FailingConstraint))
            assert (failing.row, failing.rows) == (max(row - 1, 0), 1)
    for edit in (from_there(0, 0, 0), lambda c: edits(c, "row", 63, 1)):
        assert any(isinstance(finding, FailingConstraint) for finding in noticed(stated, table, edit))


def test_public_words_are_in_the_fewest_columns() -> None:
    for words in (1, 2, 5, 16, 73, 1026):
        for air in (StatedInput(words), OutputMemory(words)):
            others = [air.opened(words, lanes) for lanes in range(1, words + 1)]
            assert air.opened(words, air.lanes) == min(others)
            assert air.main_width == air.describe().main_width


def test_a_proof_states_an_output_and_no_other() -> None:
    stated, machine = putting_out(570, 31), Machine(image([*writer(570, 31), *leave()]))
    proof = prove(stated, security=100)
    assert proven(machine, proof, 100).output[:8] == bytes([31, *[0] * 7])
    place = names(stated).index("output_memory")
    for index in (2, 2 * 31, 2 * 71):  # the first and the last word that was written, and one that never was
        changed = with_values(proof, place, index, proof.public_values[place][index] ^ 1)
        with pytest.raises(VerificationError):
            verify(changed, machine.statement_of(changed), security=100)
    for size in (560, 580):  # of other words
        rejected(with_values(proof, place, 0, size), "length", machine)


def test_a_proof_states_an_input_and_no_other() -> None:
    stated = on_input()
    machine, proof = Machine(image([*READER, *leave()])), prove(stated, security=100)
    assert proven(machine, proof, 100).input == INPUT
    place = names(stated).index("stated_input")
    for index in (2, 2 * 72):  # the first word, and the last, which is never read
        changed = with_values(proof, place, index, proof.public_values[place][index] ^ 1)
        with pytest.raises(VerificationError):
            verify(changed, machine.statement_of(changed), security=100)
    rejected(with_values(proof, place, 0, 500), "length", machine)
    rejected(with_values(proof, place, 3, 2**32), "length", machine)
    rejected(with_values(proof, place, 2 * 72 + 1, 1 << 31), "padded", machine)


def test_the_inputs_memory_is_there_once() -> None:
    """Refuse a free input beside the stated one, or zeros in place of it: the program could read any data."""
    machine, proof = Machine(image([*READER, *leave()])), prove(on_input(), security=100)
    shape = list(proof.public_values[0][3:])
    for chosen in ({*shape, TableNumber.INPUT}, {*shape, TableNumber.ZERO_BETWEEN} - {TableNumber.STATED_INPUT}):
        numbers = sorted(chosen)
        public = [(*proof.public_values[0][:3], *numbers), *(((),) * len(numbers))]
        for i, number in enumerate(shape):
            if number in numbers:
                public[1 + numbers.index(number)] = proof.public_values[1 + i]
        forged_ = replace(proof, log_heights=(6,) * len(public), public_values=tuple(public))
        rejected(forged_, "exclude each other|requires stated_input", machine)


def prove_forged(table: str, edit: Callable[[SimpleNamespace], None]) -> None:
    machine, honest = proved()
    execution = execute(machine.image, record=True)
    forged_ = prove(forged(with_traces(statement_of_run(machine, execution)), table, edit), security=100)
    with pytest.raises(VerificationError, match=r"do not balance|do not hold"):
        verify(forged_, machine.statement_of(forged_), security=100)
    assert forged_.payload != honest.payload


def test_proofs_of_forged_traces_are_rejected() -> None:
    prove_forged("registers", lambda c: edits(c, "lo", 10, 1))
    prove_forged("sd", lambda c: edits(c, "b_lo", 1, 1))
    prove_forged("constant", lambda c: edits(c, "imm", 0, 1))
    prove_forged("output_memory", lambda c: edits(c, "t", 0, 1))
