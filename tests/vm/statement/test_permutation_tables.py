"""Many permutations have the wide tables of Keccak-f and few have the narrow ones; the verifier takes no others."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from graphprover import VerificationError
from graphprover.proof.proof import Proof
from graphprover.protocol.parameters import Parameters
from graphprover.proving.prove import prove
from graphprover.vm.accelerators.keccak.call import KECCAK_F
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.program.isa import A0, A7, Instruction, Op
from graphprover.vm.statement import shape
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import TableNumber
from graphprover.vm.traces.run_statement import shards_of_run, statement_of_run
from tests.vm.assemble import DATA, image, leave, li
from tests.vm.statement.test_shape import Claimed, claimed, header, in_one, stating, tables_of

FEW_QUERIES = Parameters("keccak", 1, 2, 0, 3, 0, 0, 0, 0, 0, 0)
CALL = [*li(A0, DATA), *li(A7, KECCAK_F), Instruction(Op.ECALL)]
MANY = 3  # calls: here, permutations from which they have the wide tables
WIDE = {TableNumber.KECCAK_ROUNDS, TableNumber.KECCAK_PLANES}
NARROW = {TableNumber.KECCAK_CLASSES, TableNumber.KECCAK_LIMBS}
OF_CALLS = {*WIDE, *NARROW, TableNumber.KECCAK_DIGITS}


@pytest.fixture(autouse=True)
def _many(monkeypatch: pytest.MonkeyPatch) -> None:
    set_many(monkeypatch, MANY)


def set_many(patch: pytest.MonkeyPatch, many: int) -> None:
    """Set the threshold of both layout policies."""
    for name in ("DEFAULT", "COMPACT"):
        patch.setattr(shape, name, replace(getattr(shape, name), wide_permutations=many))


@cache
def run_of(calls: int) -> tuple[Machine, Execution]:
    execution = execute(image([*CALL * calls, *leave()], bytes(range(200))), record=True)
    return Machine(execution.image), execution


def proof_of(calls: int) -> Proof:
    proof = prove(statement_of_run(*run_of(calls)), "sync", parameters=FEW_QUERIES)
    assert isinstance(proof, Proof)
    return proof


def header_of_run(calls: int) -> Claimed:
    return claimed(header(statement_of_run(*run_of(calls))))


def refusal(claim: Claimed, calls: int) -> str | None:
    """Return the rule by which the verifier refuses a header, with or without shards."""
    try:
        run_of(calls)[0].statement_of(stating(claim, alone=len(claim.shards) == 1))
    except VerificationError as error:
        return error.rule
    return None


def of_calls(proof: Any) -> set[int]:
    """Return the numbers of the tables of Keccak-f."""
    return OF_CALLS & {*tables_of(proof)}


@pytest.mark.parametrize(("calls", "tables"), [(MANY - 1, NARROW), (MANY, WIDE), (MANY + 1, WIDE)])
def test_a_run_has_the_tables_for_its_calls(calls: int, tables: set[int]) -> None:
    machine, execution = run_of(calls)
    proof = proof_of(calls)
    assert of_calls(proof) == {*tables, TableNumber.KECCAK_DIGITS}
    claim = machine.verify(proof, 0).claim
    assert claim and claim.cycles == execution.cycles


def test_a_run_without_calls_has_none() -> None:
    assert not of_calls(header(statement_of_run(*run_of(0))))


@pytest.mark.parametrize(("calls", "other"), [(MANY - 1, 1), (MANY, MANY + 1)])
def test_a_sound_proof_with_the_other_tables_is_refused(
    calls: int, other: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prove at another threshold, at which the verifier accepts the proof."""
    set_many(monkeypatch, other)
    proof = proof_of(calls)
    assert of_calls(proof) == {*(WIDE if calls < MANY else NARROW), TableNumber.KECCAK_DIGITS}
    assert run_of(calls)[0].verify(proof, 0).claim
    set_many(monkeypatch, MANY)
    with pytest.raises(VerificationError) as refused:
        run_of(calls)[0].verify(proof, 0)
    assert refused.value.rule == "shape.uses"


@pytest.mark.parametrize("number", sorted(OF_CALLS))
@pytest.mark.parametrize("calls", [0, MANY - 1, MANY])
def test_a_part_of_the_tables_is_refused(calls: int, number: int) -> None:
    """Leave out each table, and add each: a half of the other tables, or a table without calls."""
    claim = header_of_run(calls)
    assert refusal(claim, calls) is None
    (tables,) = claim.shards
    if number in {own for own, *_ in tables}:
        tables[:] = [table for table in tables if table[0] != number]
    else:
        tables[:] = sorted([*tables, [number, 6, ()]])
    assert refusal(claim, calls) == "shape.keccak"


@pytest.mark.parametrize("calls", [MANY - 1, MANY])
def test_tables_of_both_kinds_are_refused(calls: int) -> None:
    """Refuse all five tables, and a pair of one table of each kind."""
    for numbers in ({*WIDE, *NARROW}, {12, 4100}, {4098, 4099}):
        claim = header_of_run(calls)
        (tables,) = claim.shards
        kept = [table for table in tables if table[0] not in {*WIDE, *NARROW}]
        tables[:] = sorted([*kept, *([number, 6, ()] for number in numbers)])
        assert refusal(claim, calls) == "shape.keccak"


@pytest.mark.parametrize(("calls", "number", "log_rows"), [(MANY - 1, 4099, 11), (MANY - 1, 4100, 11), (MANY, 4098, 8)])
def test_tables_of_different_numbers_of_calls_are_refused(calls: int, number: int, log_rows: int) -> None:
    claim = header_of_run(calls)
    (table,) = (table for table in claim.shards[0] if table[0] == number)
    table[1] = log_rows
    assert refusal(claim, calls) == "shape.uses"


def test_each_shard_has_the_tables_for_its_own_calls() -> None:
    """Cut a run behind many calls and before one: the shards have tables of different kinds."""
    machine, execution = run_of(MANY + 1)
    split = MANY * len(CALL)
    shards = shards_of_run(machine, execution, [range(split), range(split, execution.cycles)])
    proof = in_one(tuple(map(header, shards.statements)))
    claim = claimed(proof)
    assert [OF_CALLS & {number for number, *_ in tables} for tables in claim.shards] == [
        {*WIDE, TableNumber.KECCAK_DIGITS}, {*NARROW, TableNumber.KECCAK_DIGITS},
    ]  # fmt: skip
    assert machine.statement_of(proof)
    others = [[4099, 11, ()], [4100, 9, ()]], [[12, 6, ()], [4098, 6, ()]]
    for tables, added in zip(claim.shards, others, strict=True):
        kept = tables.copy()
        tables[:] = sorted([*(table for table in kept if table[0] not in {*WIDE, *NARROW}), *added])
        assert refusal(claim, MANY + 1) == "shape.uses"
        tables[:] = kept
    assert refusal(claim, MANY + 1) is None
