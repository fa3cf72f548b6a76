"""The seed of random numbers: the last word of the input's region, which the host chooses when a guest reads it."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from graphprover.jobs.job import Job
from graphprover.jobs.returned import check_returned
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.hashing import keccak256
from graphprover.proving.prover import Prover
from graphprover.statement.check import check
from graphprover.statement.statement import Statement
from graphprover.vm.accelerators.keccak.call import KECCAK_F
from graphprover.vm.executor.execute import execute, seed_of
from graphprover.vm.executor.faults import GuestFault
from graphprover.vm.profile.measure import profile
from graphprover.vm.program.elf import Image, load_elf
from graphprover.vm.program.io import DEBUG_PRINT, INPUT_BASE, OUTPUT_BASE, RANDOM_SEED
from graphprover.vm.program.isa import A0, A1, A7, Instruction, Op
from graphprover.vm.statement.guest import Guest
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.run_statement import statement_of_run
from tests.vm.assemble import CODE, PAGE, Segment, X, elf, image, leave, li, words
from tests.vm.executor.test_native import same

pytestmark = pytest.mark.usefixtures("by")

T0, T1 = 5, 6
SEED = 0x0123456789ABCDEF
STORE = Instruction(Op.SD, rs1=T0, rs2=T1)
PUT_OUT = [*li(T0, OUTPUT_BASE), replace(STORE, imm=8), *li(T1, 8), STORE]


def reading(address: int = RANDOM_SEED, op: Op = Op.LD) -> list[Instruction]:
    """Return a program that outputs what it loads."""
    return [*li(T0, address), Instruction(op, T1, T0), *PUT_OUT, *leave()]


def word(code: Sequence[Instruction | int], data: bytes = b"", **options: int) -> int:
    return int.from_bytes(execute(image(code), data, **options).output, "little")


def guest(code: Sequence[Instruction | int] = tuple(reading())) -> Guest:
    return Guest("random", "random", Machine(load_elf(elf([Segment(CODE, words(code), X)]))))


def test_the_seed_is_given_or_depends_on_the_input() -> None:
    assert [word(reading(), random_seed=seed) for seed in (0, 1, SEED, 2**64 - 1)] == [0, 1, SEED, 2**64 - 1]
    assert word(reading(), b"abc") == seed_of(b"abc") == int.from_bytes(keccak256(b"abc")[:8], "little")
    assert word(reading(), b"xyz") == seed_of(b"xyz") != seed_of(b"abc")
    assert execute(image(reading()), random_seed=SEED).random_seed == SEED


def test_any_access_to_its_page_finds_it() -> None:
    assert word(reading(RANDOM_SEED + 7, Op.LBU), random_seed=SEED) == 0x01
    assert word(reading(RANDOM_SEED - 4), random_seed=SEED) == 0x89ABCDEF << 32  # misaligned
    assert word(reading(RANDOM_SEED + 4), random_seed=SEED) == 0x01234567  # into the output, whose length is 0
    first = [*li(T0, RANDOM_SEED - 4000), Instruction(Op.SD, rs1=T0, rs2=T0)]
    assert word([*first, *reading()], random_seed=SEED) == SEED
    stored = [*li(T0, RANDOM_SEED), *li(T1, 7), Instruction(Op.SB, rs1=T0, rs2=T1)]
    assert word([*stored, *reading()], random_seed=SEED) == SEED - 0xEF + 7
    call = [*li(A0, RANDOM_SEED - 192), *li(A7, KECCAK_F), Instruction(Op.ECALL)]
    assert word([*call, *reading()], random_seed=1) != word([*call, *reading()], random_seed=2)


def test_other_runs_do_not_depend_on_it() -> None:
    code = image([*reading(INPUT_BASE), *leave()])
    found = execute(code, b"abc", record=True, random_seed=SEED)
    assert same(found, execute(code, b"abc", record=True)) and found.random_seed is None
    assert found.memory_bytes == 3 * PAGE + 8  # the end of the program, the input and the output


def test_its_page_counts_when_it_is_touched() -> None:
    code = image(reading())
    needed = execute(code).memory_bytes
    assert needed == 4 * PAGE + 8
    assert execute(code, max_memory=needed).output
    with pytest.raises(GuestFault, match=r"memory limit \(8,192 bytes\) at pc 0x1.*: ld t1, 0\(t0\) \(after"):
        execute(code, max_memory=2 * PAGE)


def test_an_input_may_reach_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the seed beside an input on its page, and no seed where the input is: with a region of two pages."""
    from graphprover.vm.executor import execute as executor

    base = OUTPUT_BASE - 2 * PAGE
    monkeypatch.setattr(executor, "INPUT_BASE", base)
    size = 2 * PAGE - 16
    run = partial(execute, random_seed=SEED, record=True)
    for data, expected in ((bytes(PAGE), SEED), (b"i" * size, SEED), (b"i" * (size + 8), int.from_bytes(b"i" * 8))):
        found = run(image(reading()), data)
        assert int.from_bytes(found.output, "little") == expected
        assert found.record and expected in found.record.memory.initial.tolist()


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_impossible_seeds(seed: int) -> None:
    with pytest.raises(ValueError, match=r"a random seed of -?[\d,]+ is not in 0 .. 2\^64 - 1"):
        execute(image(reading()), random_seed=seed)


def test_debug_text_shows_it_without_an_access() -> None:
    text: list[bytes] = []
    show = [*li(A0, RANDOM_SEED - 1), *li(A1, 9), DEBUG_PRINT, *leave()]
    run = execute(image(show), debug=text.append, random_seed=SEED)
    assert b"".join(text) == b"\0" + SEED.to_bytes(8, "little") + b"\n" and run.random_seed is None


def test_a_profile_has_it() -> None:
    assert profile(image(reading()), random_seed=SEED).execution.output == SEED.to_bytes(8, "little")


def test_a_run_with_any_seed_is_proved() -> None:
    program: Image = image(reading())
    machine = Machine(program)
    for seed in (None, 0, SEED):
        assert not check(statement_of_run(machine, execute(program, record=True, random_seed=seed)))
    prover = Prover(guest(), security=30)
    proofs = [prover.prove(b"abc", random_seed=seed) for seed in (None, seed_of(b"abc"), SEED)]
    assert proofs[0].to_bytes() == proofs[1].to_bytes()
    claims = [prover.verify(proof).claim for proof in proofs]
    assert [claim and claim.output for claim in claims] == [
        seed.to_bytes(8, "little") for seed in (seed_of(b"abc"), seed_of(b"abc"), SEED)
    ]
    assert prover.execute(b"abc", random_seed=SEED).output == SEED.to_bytes(8, "little")


def test_a_stated_input_leaves_no_seed() -> None:
    prover = Prover(guest(), security=30)
    claim = prover.verify(prover.prove(b"abc", commit_input=True)).claim
    assert claim and (claim.input, claim.output) == (b"abc", bytes(8))
    prover.prepare(b"abc", commit_input=True, random_seed=0)
    run = prover.program.record(b"abc", random_seed=0)
    statement = prover.program.statement_about(run, commit_input=True)
    assert isinstance(statement, Statement) and not check(statement)
    with pytest.raises(ValueError, match="has the random seed 0: give no other one"):
        prover.prove(b"abc", commit_input=True, random_seed=SEED)
    run = execute(guest().compiled().image, b"abc", record=True)
    with pytest.raises(ValueError, match="is of a run with the random seed 0"):
        guest().statement_about(run, commit_input=True)


def test_the_client_compares_with_its_own_run() -> None:
    """Refuse a worker's proof of a run with another seed."""
    prover = Prover(guest(), security=30)
    job, other = (Job(prover, b"abc", random_seed=seed) for seed in (SEED, 1))
    proof = other.make().proof
    check_returned(other, proof, other.claim_about(other.rehearse()))
    with pytest.raises(VerificationError, match="of another run than the program's on this input"):
        check_returned(job, proof, job.claim_about(job.rehearse()))
