"""A proof about a program has one verdict, and one reason, by the program and by its verifying key."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

import pytest

from graphprover import VerificationError, prove, verify
from graphprover.cli.main import main
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.parameters import HASH_NAMES, RATES, Parameters
from graphprover.runtime.errors import FAILED, OK
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.isa import A0, Instruction, Op
from graphprover.vm.statement.key import ProofKind
from graphprover.vm.statement.setup import make_key
from graphprover.vm.statement.statement import Machine, ProgramStatements
from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
from graphprover.vm.traces.run_statement import shards_of_run, statement_of_run
from tests.vm.assemble import CODE, Segment, X, elf, leave, words
from tests.vm.assemble import image as assembled

FEW = Parameters(
    hash="keccak",
    log_blowup=1,
    num_queries=3,
    log_final_poly_len=1,
    max_log_arity=2,
    cap_height=0,
    lookup_pow_bits=1,
    ood_pow_bits=1,
    batch_pow_bits=1,
    commit_pow_bits=1,
    query_pow_bits=1,
)
PROGRAM = assembled([Instruction(Op.ADDI, A0, A0, imm=1), *leave()])


@cache
def subjects() -> tuple[ProgramStatements, ProgramStatements]:
    """Return the program and its key, with the commitments for all hashes and rates."""
    machine = Machine(PROGRAM)
    kinds = [ProofKind(code, log) for code in range(len(HASH_NAMES)) for log in RATES.values()]
    return machine, make_key(machine, kinds)


@cache
def proved(parameters: Parameters) -> Proof:
    machine, _ = subjects()
    assert isinstance(machine, Machine)
    return prove(statement_of_run(machine, execute(PROGRAM, record=True)), "sync", parameters=parameters)


def proved_in_shards(parameters: Parameters) -> ShardedProof:
    machine, _ = subjects()
    assert isinstance(machine, Machine)
    execution = execute(PROGRAM, record=True)
    shards = shards_of_run(machine, execution, cycle_ranges_of(execution.cycles, 2))
    proof = prove(shards, "sync", parameters=parameters)
    assert isinstance(proof, ShardedProof)
    return proof


def verdict(proof: Proof | ShardedProof) -> str:
    """Return the verdict; the program and its key must agree."""
    by_program, by_key = (_verdict(subject, proof) for subject in subjects())
    assert by_program == by_key
    return by_program


def _verdict(subject: ProgramStatements, proof: Proof | ShardedProof) -> str:
    try:
        verify(proof, subject.statement_of(proof), security=0)
    except VerificationError as error:
        return str(error)
    return "valid"


def other_parameters(values: Callable[[range], range | tuple[int, ...]]) -> Iterator[Parameters]:
    """Yield parameters of which one differs from FEW, with the chosen values of its range."""
    yield replace(FEW, hash="blake3")
    for field in fields(Parameters)[1:]:
        low, high = Parameters.RANGES[field.name]
        for value in values(range(low, high + 1)):
            if value != getattr(FEW, field.name):
                yield replace(FEW, **{field.name: value})


def refused_by_the_page(parameters: Parameters) -> bool:
    """Return whether docs/protocol.md, section 15, refuses the parameters."""
    return parameters.cap_height != 0 or parameters.log_blowup > 6


def test_of_headers_with_any_parameter_changed() -> None:
    """Refuse all of them, since the payload stays, for the same reasons."""
    reasons = set()
    for parameters in other_parameters(lambda whole: whole if len(whole) < 100 else whole[:10]):
        reason = verdict(replace(proved(FEW), parameters=parameters))
        assert reason != "valid"
        assert ("executions are proved at" in reason) == refused_by_the_page(parameters), reason
        reasons.add(reason)
    assert len(reasons) > 20


def test_of_proofs_made_with_any_parameter_changed() -> None:
    assert verdict(proved(FEW)) == "valid"
    for parameters in other_parameters(lambda whole: whole[:5]):
        said = verdict(proved(parameters))
        assert (said != "valid") == refused_by_the_page(parameters), (said, parameters)


@pytest.mark.parametrize(("changed", "valid"), [({}, True), ({"cap_height": 1}, False), ({"num_queries": 2}, True)])
def test_of_proofs_in_shards(changed: dict[str, int], valid: bool) -> None:
    assert (verdict(proved_in_shards(replace(FEW, **changed))) == "valid") == valid


def test_the_command_line_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guest, key, proof = (str(tmp_path / name) for name in ("guest.elf", "guest.vk", "proof.bin"))
    Path(guest).write_bytes(elf([Segment(CODE, words([Instruction(Op.ADDI, A0, A0, imm=1), *leave()]), X)]))
    assert main(["setup", guest, "-o", key]) == OK
    proved(replace(FEW, cap_height=3)).save(proof)
    capsys.readouterr()
    for program in (guest, key):
        assert main(["verify", proof, program, "--security", "1"]) == FAILED
        assert "the proof has cap height 3; executions are proved at cap height 0" in capsys.readouterr().err
