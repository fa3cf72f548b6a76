"""Proofs of runs in shards: the accepted ones, and attempts to cheat."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from graphprover import VerificationError, prove, verify
from graphprover.cli.main import main
from graphprover.proof.sharded import ShardedProof, proof_from_bytes
from graphprover.protocol.joint import Joint
from graphprover.runtime.errors import OK, USAGE
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Table
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.program.elf import load_elf
from graphprover.vm.program.io import INPUT_BASE, OUTPUT_BASE
from graphprover.vm.program.isa import Instruction, Op
from graphprover.vm.statement.claim import Claim
from graphprover.vm.statement.key import Key, proof_kind
from graphprover.vm.statement.setup import make_key
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import TableNumber
from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
from graphprover.vm.traces.run_statement import shards_of_run
from tests.graphs.test_proof_graph import FEW
from tests.vm.assemble import CODE, Segment, elf, image, leave, li, words
from tests.vm.assemble import X as EXECUTABLE
from tests.vm.programs import X, Y
from tests.vm.statement.test_shape import header, in_one
from tests.vm.traces.test_cycle_ranges import far_accesses

GUESTS = Path(__file__).parents[3] / "examples/guests"
PARAMETERS = replace(FEW, cap_height=0)  # a key has no other commitments
SHARDS = 3


def proved(shards: ShardedStatement) -> ShardedProof:
    proof = prove(shards, parameters=PARAMETERS)
    assert isinstance(proof, ShardedProof)
    return proof


@cache
def guest(name: str) -> Machine:
    return Machine(far_accesses() if name == "far" else load_elf((GUESTS / f"{name}.elf").read_bytes()))


@pytest.mark.parametrize(
    ("name", "data", "shards", "stated"),
    [
        ("fib_iterative", struct.pack("<Q", 3000), 2, False),
        ("fib_iterative", struct.pack("<Q", 3000), 3, True),
        ("fib_iterative", struct.pack("<Q", 3000), 7, False),
        ("sha256", b"abc", 3, True),
        ("keccak", b"abc", 2, False),
        ("far", b"some input", 3, False),
    ],
)
def test_runs_in_shards_are_proved(name: str, data: bytes, shards: int, stated: bool) -> None:
    """Verify the proof from its file by the program and by its key; its claim is the result of the run."""
    machine = guest(name)
    run = execute(machine.image, data, record=True)
    proof = proved(shards_of_run(machine, run, cycle_ranges_of(run.cycles, shards), name, commit_input=stated))
    read = proof_from_bytes(proof.to_bytes())
    claim = Claim(run.output, run.exit_code, run.cycles, machine.program_hash, data if stated else None)
    assert machine.claim_in(read) == claim
    for program in (machine, Key.from_bytes(make_key(machine, [proof_kind(PARAMETERS)]).to_bytes())):
        verdict = program.verify(read, security=0, exit_code=run.exit_code)
        assert verdict.shards == shards and verdict.claim == claim


# A run that copies a word of its input to its output, and what may be wrong with its proof.


def copying(code: int = 0) -> Machine:
    """Return a machine that exits with ``code``; the word is accessed in each of three cycle ranges."""
    words = [*li(X, INPUT_BASE), Instruction(Op.LD, Y, X, imm=8), *li(X, OUTPUT_BASE)]
    words += [Instruction(Op.ADDI, 13 + i, Y) for i in range(6)]
    words += [*li(12, 8), Instruction(Op.SD, rs1=X, rs2=12), Instruction(Op.SD, rs1=X, rs2=Y, imm=8)]
    return Machine(image([*words, *leave(code)]))


def run_of(machine: Machine, data: bytes = b"8 bytes.") -> Execution:
    return execute(machine.image, data, record=True)


def shards_for(machine: Machine, run: Execution, shards: int = SHARDS) -> ShardedStatement:
    return shards_of_run(machine, run, cycle_ranges_of(run.cycles, shards), "copy")


@cache
def honest() -> tuple[Machine, ShardedStatement, ShardedProof]:
    machine = copying()
    shards = shards_for(machine, run_of(machine))
    return machine, shards, proved(shards)


def tables_of(shards: ShardedStatement) -> list[list[Table]]:
    """Return the tables of each shard, without its head."""
    return [list(statement.tables[1:]) for statement in shards.statements]


def with_tables(tables: Sequence[Sequence[Table]], shares: Sequence[Sequence[int]]) -> ShardedStatement:
    """Return shards by a prover that obeys the protocol; ``shares``: the table numbers in their heads."""
    (_, *first), *others = shares
    return honest()[0].in_shards(tables, [first, *others], "copy")


def refused(proof: ShardedProof, cause: str) -> None:
    machine = honest()[0]
    for program in (machine, make_key(machine, [proof_kind(PARAMETERS)])):
        with pytest.raises(VerificationError, match=cause):
            verify(proof, program.statement_of(proof), security=0)


def test_an_honest_proof_is_accepted() -> None:
    machine, _, proof = honest()
    verdict = verify(proof, machine.statement_of(proof), security=0)
    assert verdict.claim and verdict.claim.output == b"8 bytes."


@cache
def foreign(other: str) -> tuple[ShardedStatement, ShardedProof]:
    """Return shards and proof of another run, or of another program."""
    machine = honest()[0] if other == "run" else copying(1)
    shards = shards_for(machine, run_of(machine, b"another!" if other == "run" else b"8 bytes."))
    return shards, proved(shards)


@pytest.mark.parametrize("other", ["run", "program"])
@pytest.mark.parametrize("index", range(SHARDS))
def test_a_shard_of_another_run_or_program(index: int, other: str) -> None:
    """Refuse it in place of the real shard, and if a prover that obeys the protocol proves it with the others."""
    _, shards, proof = honest()
    others, proof_of_others = foreign(other)
    proofs = list(proof.proofs)
    proofs[index] = proof_of_others.proofs[index]
    refused(replace(proof, proofs=tuple(proofs)), f"shard {index}|different nonces|do not balance")
    mixed = list(shards.statements)
    mixed[index] = others.statements[index]
    refused(proved(ShardedStatement(tuple(mixed))), "do not balance" if other == "run" else "shard|do not balance")


def test_shards_in_another_order() -> None:
    """Refuse another order, even with the digests in that order: each shard's challenges depend on its index."""
    _, _, proof = honest()
    for order in ((0, 2, 1), (1, 0, 2), (2, 1, 0)):
        proofs = tuple(proof.proofs[i] for i in order)
        joint = Joint(tuple(proof.joint.digests[i] for i in order))
        cause = "does not name the others" if order[0] else "shard [0-2]|different nonces"
        refused(ShardedProof(proof.joint, proofs), cause)
        refused(ShardedProof(joint, proofs), cause)


def test_the_order_of_cycle_ranges_is_the_clocks() -> None:
    """Accept the cycles of a cycle range in any shard if the last has the exit's table: the run is the same."""
    machine = honest()[0]
    shards = shards_for(machine, run_of(machine), 4)
    tables, shares = tables_of(shards), shards.shares
    for order in ((0, 2, 1, 3), (0, 1, 3, 2)):
        swapped = proved(with_tables([tables[i] for i in order], [shares[i] for i in order]))
        assert verify(swapped, machine.statement_of(swapped), security=0).shards == 4
    kept = [pair for pair in zip(tables[3], shares[3], strict=True) if pair[1] != TableNumber.COMMON]
    last, numbers = ([*column] for column in zip(*kept, strict=True))
    endless = with_tables([*tables[:3], last], [*shares[:3], numbers])
    cause = "shard 3: table common, which proves the exit, is missing"
    refused(in_one(tuple(map(header, endless.statements))), cause)


def test_a_cycle_range_is_missing_or_there_twice() -> None:
    _, shards, proof = honest()
    tables, shares = tables_of(shards), shards.shares
    for chosen in ((0, 2), (0, 1, 1, 2)):
        refused(proved(with_tables([tables[i] for i in chosen], [shares[i] for i in chosen])), "do not balance|cycles")
        proofs = tuple(proof.proofs[i] for i in chosen)
        joint = Joint(tuple(proof.joint.digests[i] for i in chosen))
        refused(ShardedProof(joint, proofs), "cycles|shard|different nonces|lookup challenges")


@pytest.mark.parametrize("place", range(3))
def test_other_cycles_and_exit_codes(place: int) -> None:
    """Refuse a boundary with another value in a proof by a prover that obeys the protocol."""
    _, shards, _ = honest()
    tables = tables_of(shards)
    values = list(tables[0][0].public_values or ())
    values[place] += 1
    tables[0][0] = replace(tables[0][0], public_values=values)
    refused(proved(with_tables(tables, shards.shares)), "do not balance|cycles")


@pytest.mark.parametrize(
    "number", [0, TableNumber.REGISTERS, TableNumber.INPUT, TableNumber.OUTPUT, TableNumber.ZERO_ABOVE]
)
def test_registers_and_memory_stand_in_the_first_shard(number: int) -> None:
    """Refuse a second one elsewhere by name, and also one that is only elsewhere."""
    machine, shards, _ = honest()
    names = {0: "boundary", TableNumber.ZERO_ABOVE: "zero_above"}
    name = names.get(number) or TableNumber(number).name.lower()
    tables, shares = tables_of(shards), [list(share) for share in shards.shares]
    first = shares[0].index(number) if number in shares[0] else None
    air = machine.air(number, 1, 0)
    table = Table(air, (), np.zeros((1, 64), dtype=np.uint64)) if first is None else tables[0][first]
    for index in range(1, SHARDS):
        more = [list(own) for own in tables]
        said = [list(share) for share in shares]
        at = sum(other < number for other in said[index])
        more[index].insert(at, table)
        said[index].insert(at, number)
        headers = [header(shard) for shard in with_tables(more, said).statements]
        refused(in_one(tuple(headers)), f"shard {index}: table {name} is allowed in shard 0 only")


def headed(change: Callable[[list[int]], list[int]], index: int) -> ShardedProof:
    """Return the honest proof with another head of this shard."""
    proofs = list(honest()[2].proofs)
    head, *others = proofs[index].public_values
    proofs[index] = replace(proofs[index], public_values=(tuple(change(list(head))), *others))
    return replace(honest()[2], proofs=tuple(proofs))


@pytest.mark.parametrize("index", range(SHARDS))
def test_heads_name_the_tables(index: int) -> None:
    refused(headed(lambda head: [*head, head[-1]], index), f"shard {index}: not of an execution")
    refused(headed(lambda head: head[:-1], index), f"shard {index}: not of an execution")
    refused(headed(lambda head: [], index), f"shard {index}: not of an execution")
    refused(headed(lambda head: [*head[:-1], head[-1] + 16], index), f"shard {index}")
    proofs = list(honest()[2].proofs)
    for shard in (
        replace(proofs[index], log_heights=(7, *proofs[index].log_heights[1:])),
        replace(proofs[index], log_heights=(), public_values=()),
        replace(proofs[index], log_heights=(6,), public_values=((),)),
    ):
        changed = (*proofs[:index], shard, *proofs[index + 1 :])
        refused(replace(honest()[2], proofs=changed), f"shard {index}|first table does not name")


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guest, key, proof, alone = (str(tmp_path / name) for name in ("guest.elf", "vk", "proof", "alone"))
    Path(guest).write_bytes(elf([Segment(CODE, words(leave(0)), EXECUTABLE)]))
    assert main(["setup", guest, "-o", key]) == OK
    run = ["prove", guest, "--security", "20"]
    assert main([*run, "--shards", "2", "-o", proof]) == OK
    for command in (["verify", proof, key, "--security", "20"], ["verify", proof, guest, "--security", "20"]):
        assert main(command) == OK
    assert main(["inspect", proof, key]) == OK and "shard" in capsys.readouterr().out
    assert main(["plan", guest, "--shard-size", "1"]) == OK and "committed cells per cycle" in capsys.readouterr().out
    assert (
        main([*run, "-o", alone]) == main([*run, "--shard-size", "9", "-o", proof]) == OK
    )  # all of it in one cycle range
    assert Path(proof).read_bytes() == Path(alone).read_bytes()
    capsys.readouterr()
    assert main([*run, "--shards", "9"]) == USAGE and "has 1 to" in capsys.readouterr().err
    with pytest.raises(SystemExit, match=f"^{USAGE}$"):
        main([*run, "--shards", "2", "--shard-size", "1"])
    assert main(["prove", "examples/fibonacci", "--shard-size", "9"]) == USAGE and "no guest" in capsys.readouterr().err
