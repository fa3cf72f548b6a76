"""Jobs carry all that they need, skip an existing proof of the same claim, and give the same bytes everywhere."""

import hashlib
import pickle
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphprover import (
    Claim,
    FileError,
    Job,
    Key,
    Proof,
    Prover,
    ShardedProof,
    Statement,
    Table,
    Verdict,
    VerificationError,
)
from graphprover.cli.main import main
from graphprover.cluster import metrics
from graphprover.device import CpuDevice, Device
from graphprover.examples import memory
from graphprover.graphs.planner.plan import make_plan
from graphprover.jobs.made import made
from graphprover.jobs.on_workers import shared_run
from graphprover.jobs.opening import Packed, pack, unpack
from graphprover.jobs.programs import ProgramError, TableProgram
from graphprover.protocol.level import Level
from graphprover.protocol.parameters import DEFAULT_HASH, HASH_NAMES
from graphprover.prover import local as making
from graphprover.prover.local import make
from graphprover.prover.prepare import prepare, ready
from graphprover.proving import prove
from graphprover.proving.prove import in_shards
from graphprover.runtime.compiling import compile_seconds, waiting
from graphprover.telemetry.subscribe import observed
from graphprover.verifier import verify
from graphprover.vm.executor.execute import smallest
from graphprover.vm.executor.faults import Fault, GuestFault
from graphprover.vm.program.io import OUTPUT_BASE
from graphprover.vm.program.isa import Instruction, Op
from graphprover.vm.statement.claim import MAX_STATED_INPUT
from graphprover.vm.statement.guest import Guest
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.run_statement import Unprovable
from tests.failing_device import FailingDevice
from tests.graphs.test_proof_graph import FEW, example
from tests.vm.assemble import CODE, Segment, X, elf, leave, li, words

GUESTS = Path(__file__).parents[2] / "examples" / "guests"
FIBONACCI = GUESTS / "fib_iterative.elf"
TURNS = struct.pack("<Q", 300)
LONGER = TURNS + b"more"  # which it does not read
FEW_BITS: dict[str, Any] = {"security": 20}
SQUARES = """\
print("imported")
from graphprover import Air

class Squares(Air):
    columns = ("n", "square")
    public_values = ("last",)

    def define(self, t):
        t.every_row(t.square - t.n * t.n)
        t.last_row(t.square - t.public.last)

def tables():
    return [Squares()]

def prove_inputs(data):
    main, t = Squares().zeros(16)
    t.n[:] = range(len(data or b""), len(data or b"") + 16)
    t.square[:] = t.n * t.n
    return [(main, [int(t.square[-1])])]

def describe(public_values):
    return {"last": str(public_values[0][0])}
"""


@pytest.fixture(scope="module")
def fibonacci() -> Prover:
    return Prover(FIBONACCI)


@pytest.fixture(scope="module")
def proof(fibonacci: Prover) -> Proof:
    return fibonacci.prove(TURNS)


@pytest.fixture(scope="module")
def weak() -> Proof:
    return Prover(FIBONACCI, **FEW_BITS).prove(LONGER)


@pytest.fixture
def squares(tmp_path: Path) -> Prover:
    (tmp_path / "squares.py").write_text(SQUARES)
    return Prover(tmp_path / "squares.py", **FEW_BITS)


def test_bytes_are_those_of_the_command_line(
    proof: Proof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("input").write_bytes(TURNS)
    assert main(["prove", str(FIBONACCI), "--input", "input"]) == 0
    assert Path("proof.bin").read_bytes() == proof.to_bytes()
    digest = {"keccak": "37119fb66bdc89b5", "blake3": "c86eeb4fea71052e"}[DEFAULT_HASH]
    assert hashlib.sha256(proof.to_bytes()).hexdigest().startswith(digest)


def test_a_guest_by_its_prover(fibonacci: Prover, proof: Proof) -> None:
    run = fibonacci.execute(TURNS)
    claim = fibonacci.verify(proof.to_bytes()).claim
    assert claim == Claim(run.output, 0, run.cycles, fibonacci.key().program_hash, None)
    key = Prover(Guest("key", proof.label, fibonacci.key()))
    assert key.verify(proof).bits >= 128 and key.key().hash == fibonacci.key().hash
    with pytest.raises(ValueError, match="a verifying key, which runs nothing"):
        key.execute()
    with pytest.raises(VerificationError, match="200 were asked for"):
        Prover(FIBONACCI, security=200).verify(proof)


def test_a_key_verifies_alone(fibonacci: Prover, proof: Proof, tmp_path: Path) -> None:
    path = tmp_path / "key"
    fibonacci.key().save(path)
    key = Key.load(path)
    assert key == fibonacci.key() == Key.from_bytes(path.read_bytes())
    verdict = key.verify(proof.to_bytes())
    assert verdict == fibonacci.verify(proof) and verdict.claim == key.claim_in(proof)
    cycles = fibonacci.execute(TURNS).cycles
    assert repr(verdict.claim) == f"<Claim: exit code 0 after {cycles:,} cycles, output hex 102e3eb321e910f5 (8 bytes)>"
    assert key.program_hash.hex() in verdict.claim._repr_html_() and str(cycles) in verdict._repr_html_()
    with pytest.raises(VerificationError, match="200 were asked for"):
        key.verify(proof, 200)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"key: no verifying key, .* recreate it with `graphprover setup`"):
        Key.load(path)
    with pytest.raises(FileError, match="nothing: No such file"):
        Key.load(tmp_path / "nothing")


@pytest.mark.parametrize("shards", [1, 2])
def test_the_proof_of_a_failure_is_refused_unless_its_exit_code_is_asked_for(shards: int) -> None:
    """In one shard and in two, by the program and by its key."""
    prover = Prover(GUESTS / "json.elf", shards=shards, **FEW_BITS)
    proof = prover.prove(b"[1,", exit_code="any")

    def by_key(proof: Proof | ShardedProof, **options: Any) -> Verdict:
        return prover.key().verify(proof, 20, **options)

    for verify_by in (prover.verify, by_key):
        for wanted in ({}, {"exit_code": 0}, {"exit_code": 2}, {"exit_code": 2**32 + 1}):
            with pytest.raises(VerificationError, match="exit code 1, not") as refused:
                verify_by(proof, **wanted)
            assert refused.value.rule == "asked.exit_code"
        for exit_code in (1, "any"):
            claim = verify_by(proof, exit_code=exit_code).claim
            assert claim and claim.exit_code == 1 and claim.cycles == prover.execute(b"[1,").cycles


def test_an_existing_proof_of_a_failure_is_kept_if_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    prover = Prover(GUESTS / "json.elf", **FEW_BITS)
    proof = prover.prove(b"[1,", exit_code=1).to_bytes()
    assert kept(prover.job(b"[1,", existing=proof, exit_code=1), monkeypatch)
    with pytest.raises(VerificationError, match="exit code 1, not 0: not proven"):
        made(prover.job(b"[1,", existing=proof))


def test_a_key_is_for_the_hash_and_the_rate_of_its_prover(fibonacci: Prover) -> None:
    proofs = Prover(fibonacci.program, hash="keccak", rate=32).key().proofs
    assert [str(kind) for kind in proofs] == [f"keccak at rate 1/{rate}" for rate in (2, 4, 8, 32)]


def test_tables_have_no_runs() -> None:
    tables = Prover("examples/fibonacci", **FEW_BITS)
    verdict = tables.verify(tables.prove(), exit_code="any")
    assert verdict.public_values[0][0] == 1023 and verdict.claim is None
    for ask in (tables.execute, tables.key):
        with pytest.raises(ValueError, match="no guest"):
            ask()
    with pytest.raises(ProgramError, match="no guest, so it has no exit code"):
        tables.verify(tables.prove(), exit_code=3)
    for options in ({"commit_input": True}, {"exit_code": 3}, {"max_cycles": 9}):
        with pytest.raises(ProgramError, match="no guest"):
            tables.prove(**options)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="takes no input"):
        tables.prove(b"input")


ELSEWHERE = """
import hashlib, pickle, sys
import graphprover.jobs.made
before = set(sys.modules)
jobs = pickle.load(sys.stdin.buffer)
assert not [name for name in set(sys.modules) - before if name.startswith("graphprover")]
for job in jobs:
    try:
        print(job.name, hashlib.sha256(graphprover.jobs.made.made(job).proof.to_bytes()).hexdigest())
    except Exception as error:
        print(job.name, type(error).__name__, error)
"""


def test_jobs_run_in_a_process_that_has_none_of_their_files(
    proof: Proof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run none of their code, and import nothing, before the job runs."""
    files, helpers = tmp_path / "files", tmp_path / "helpers"
    (files / "folder").mkdir(parents=True)
    helpers.mkdir()
    (files / FIBONACCI.name).write_bytes(FIBONACCI.read_bytes())
    (files / "input").write_bytes(TURNS)
    (files / "table.py").write_text(SQUARES)
    (files / "folder" / "__init__.py").write_text("from .inner import tables, prove_inputs, describe\n")
    (files / "folder" / "inner.py").write_text(SQUARES)
    (files / "helped.py").write_text("import only_here\n" + SQUARES)
    (helpers / "only_here.py").write_text("")
    monkeypatch.syspath_prepend(helpers)
    monkeypatch.chdir(files)
    guest = Job(Prover(FIBONACCI.name), Path("input"), "guest")
    helped = Job(Prover("helped.py", **FEW_BITS), b"abc", "helped")
    tables = [Job(Prover(name, **FEW_BITS), b"abc", name) for name in ("table.py", "folder")]
    example = Job(Prover("examples/fibonacci", **FEW_BITS), name="example")
    sent = pickle.dumps([guest, helped, *tables, example])
    expected = {job.name: hashlib.sha256(made(job).proof.to_bytes()).hexdigest() for job in [*tables, example]}
    files.rename(tmp_path / "gone")
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], input=sent, capture_output=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().splitlines() == [
        f"guest {hashlib.sha256(proof.to_bytes()).hexdigest()}",
        "helped ProgramError helped.py:1: cannot be imported: No module named 'only_here'",
        "imported",
        f"table.py {expected['table.py']}",
        "imported",
        f"folder {expected['folder']}",
        f"example {expected['example']}",
    ]


def test_a_program_that_came_twice_is_loaded_once(fibonacci: Prover) -> None:
    output = Path("missing/proof.bin")  # of the process that sends them
    one, other = (pickle.loads(pickle.dumps(fibonacci.job(data, output=output))) for data in (TURNS, b""))
    assert one.output is None and one.prover.program is other.prover.program is not fibonacci.program
    assert one.prover.program.label == fibonacci.program.label


def test_commitments_of_a_program_are_made_once(
    fibonacci: Prover, proof: Proof, monkeypatch: pytest.MonkeyPatch
) -> None:
    fibonacci.verify(proof)
    monkeypatch.setattr("graphprover.statement.statement.preprocessed_cap", None)
    fibonacci.verify(proof)


def test_what_has_no_file_does_not_travel() -> None:
    machine = Machine(smallest())
    with pytest.raises(ProgramError, match="not from an ELF file"):
        pickle.dumps(Prover(Guest("made here", "label", machine)))
    with pytest.raises(ProgramError, match="its sources cannot be read"):
        pack(TableProgram("made here", "label", type(sys)("made_here")))
    assert unpack(Packed("examples/keccak", "examples/keccak", ())).name == "examples/keccak"


def test_faults_travel() -> None:
    fault = GuestFault(Fault.CYCLE_LIMIT, 4096, "addi", 7, "9", "main+4", b"out")
    again = pickle.loads(pickle.dumps(fault))
    assert str(again) == str(fault) and vars(again) == vars(fault)


def test_another_exit_code_is_not_proved(fibonacci: Prover) -> None:
    with pytest.raises(VerificationError, match=r"exit code 0, not 3: not proven \(--exit-code 0 or any"):
        fibonacci.prove(TURNS, exit_code=3)
    assert fibonacci.prepare(TURNS, exit_code="any").label == fibonacci.program.label
    with pytest.raises(GuestFault, match="cycle limit"):
        fibonacci.prove(TURNS, max_cycles=100)


def kept(job: Job, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether the existing proof is used and no proof is made."""

    class Making(Exception):
        pass

    def making(*arguments: object, **options: object) -> None:
        raise Making

    monkeypatch.setattr("graphprover.jobs.job.make", making)
    try:
        return made(job).kept
    except Making:
        return False
    finally:
        monkeypatch.undo()


def test_a_good_proof_is_kept(fibonacci: Prover, proof: Proof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "another name"
    job = fibonacci.job(TURNS, existing=path)
    assert not kept(job, monkeypatch)
    proof.save(path)
    result = made(job)
    assert result.kept and result.proof == proof and set(result.seconds) == {"verify"}
    assert kept(pickle.loads(pickle.dumps(job)), monkeypatch)
    assert kept(Job(Prover(FIBONACCI, rate=4), TURNS, existing=path), monkeypatch)
    for hash in HASH_NAMES:
        assert kept(Job(Prover(FIBONACCI, hash=hash, pow_bits=8), TURNS, existing=path), monkeypatch)

    with pytest.raises(VerificationError, match="exit code 0, not 3"):
        made(replace(job, exit_code=3))


def test_a_proof_is_kept_where_its_claim_is_the_same(weak: Proof, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept an existing proof of another input that it does not state: its claim holds for this input, too."""
    job = Prover(FIBONACCI, **FEW_BITS).job(LONGER, existing=weak.to_bytes())
    assert kept(job, monkeypatch)
    assert kept(replace(job, data=TURNS + b"else"), monkeypatch)
    assert not kept(replace(job, data=TURNS + b"else", commit_input=True), monkeypatch)
    assert not kept(replace(job, commit_input=True), monkeypatch)
    assert not kept(replace(job, data=struct.pack("<Q", 301) + b"more"), monkeypatch)
    stated = replace(job, commit_input=True, existing=made(replace(job, commit_input=True)).proof.to_bytes())
    assert kept(stated, monkeypatch)
    assert not kept(replace(stated, data=TURNS + b"else"), monkeypatch)
    assert not kept(replace(stated, commit_input=False), monkeypatch)


def test_a_proof_that_is_not_good_enough_is_made_again(
    fibonacci: Prover, proof: Proof, weak: Proof, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = proof.to_bytes()
    assert kept(fibonacci.job(TURNS, existing=good), monkeypatch)
    assert not kept(Prover(GUESTS / "sha256.elf").job(TURNS, existing=good), monkeypatch)
    assert not kept(fibonacci.job(LONGER, existing=weak.to_bytes()), monkeypatch)
    assert not kept(Prover(FIBONACCI, proximity="unique").job(TURNS, existing=good), monkeypatch)
    for damaged in (b"", good[:-1], good[:-9] + b"damaged!" + good[-1:], good[:90] + b"\0" + good[91:]):
        assert not kept(fibonacci.job(TURNS, existing=damaged), monkeypatch)
    assert made(fibonacci.job(TURNS, existing=good[:-1])).proof == proof


def test_tables_are_kept_for_what_they_say(squares: Prover, monkeypatch: pytest.MonkeyPatch) -> None:
    good = squares.prove(b"abc").to_bytes()
    assert kept(squares.job(b"xyz", existing=good), monkeypatch)
    assert not kept(squares.job(b"four", existing=good), monkeypatch)


def test_a_job_reads_its_files_when_it_is_sent(fibonacci: Prover, tmp_path: Path) -> None:
    job = fibonacci.job(tmp_path / "input", existing=tmp_path / "proof")
    with pytest.raises(FileError, match="input: No such file"):
        pickle.dumps(job)
    (tmp_path / "input").write_bytes(TURNS)
    there = pickle.loads(pickle.dumps(job))
    assert there.data == TURNS and there.existing is None
    with pytest.raises(FileError):
        made(fibonacci.job(tmp_path / "missing"))


def test_memory_is_asked_for_and_stages_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    @contextmanager
    def admitted(device: Device, needed: int, where: str) -> Iterator[None]:
        asked.append((device, needed, where))
        yield
        asked.append("given back")

    monkeypatch.setattr(making, "admitted", admitted)
    device, prepared = CpuDevice(2), prepare(example(memory), parameters=FEW)
    result = make(prepared, "threads", device)
    arrays = sum(array.nbytes for array in [*prepared.traces, *prepared.preprocessed.values()])  # type: ignore[union-attr]
    peak = make_plan(prepared.layout, device.log_batch_rows, prepared.traces).peak(2)
    assert asked == [(device, peak.bytes + arrays, str(peak)), "given back"]
    assert result.peak_bytes == peak.bytes + arrays
    assert list(result.seconds) == ["wait", "prove", "verify"] and all(s >= 0 for s in result.seconds.values())
    assert result.preprocessed_caps
    verify(result.proof, example(memory), 0, preprocessed=result.preprocessed_caps[0])


def test_rates_are_without_the_compilation_of_kernels(fibonacci: Prover, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run and the proof wait for kernels; so does the verification, which is no part of either."""
    slow, waits = CpuDevice(), list[float]()

    def wait(*_: object, guess: bool = False) -> None:
        before = compile_seconds()
        with waiting():
            time.sleep(0.01)
        waits.append(compile_seconds() - before)

    verify_made = Prover.verify_made
    monkeypatch.setattr(slow, "expect", wait, raising=False)
    monkeypatch.setattr(Prover, "verify_made", lambda *given: (wait(), verify_made(*given))[1])
    monkeypatch.setattr(metrics, "METRICS", metrics.WorkerMetrics())
    with observed() as seen:
        found = metrics.measured_proof(fibonacci.job(TURNS), slow)
    *of_proof, _ = waits
    assert len(waits) > 2 and found.compile_seconds == pytest.approx(sum(of_proof))
    assert found.run and seen[0].compile_seconds == found.compile_seconds
    proving = found.seconds["prepare"] + found.seconds["prove"] - found.compile_seconds
    assert metrics.METRICS.rates["cycles"] == int(found.run.cycles / proving)
    assert metrics.METRICS.rates["cells"] == int(found.cells / proving)
    seconds = seen[0].seconds("prepare") + seen[0].seconds("prove")
    assert seen[0].cycles_per_second == found.run.cycles / (seconds - found.compile_seconds)


def test_what_is_verified_elsewhere_is_not_verified_here(
    fibonacci: Prover, proof: Proof, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Prover, "verify_made", lambda *_: pytest.fail("verified"))
    monkeypatch.setattr(making, "check_shard", lambda *_: pytest.fail("verified"))
    found = made(fibonacci.job(TURNS), verified=False)
    assert found.proof == proof and set(found.seconds) == {"prepare", "wait", "prove"}
    for shards in (1, 2):
        prepared = ready(in_shards(example(memory), shards), Level(), FEW)
        assert set(made(prepared, "sync", "cpu", verified=False).seconds) == {"wait", "prove"}


def test_a_gpu_that_is_too_small_leaves_the_proof_to_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the GPU without an attempt, unless it was asked for by name."""
    gpu, prepared = FailingDevice(), prepare(example(memory), parameters=FEW)

    @contextmanager
    def admitted(device: Device, needed: int, where: str) -> Iterator[None]:
        if device is gpu:
            raise MemoryError("never fits")
        yield

    monkeypatch.setattr(making, "admitted", admitted)
    monkeypatch.setattr(making, "device_for", lambda name: CpuDevice(1) if name == "cpu" else gpu)
    assert make(prepared, "sync", "auto").proof == prove.prove_prepared(prepared, "sync", "cpu")[0]
    with pytest.raises(MemoryError, match="never fits"):
        make(prepared, "sync", "cuda")
    assert not any(gpu.calls.values())


def test_nobody_sees_a_proof_that_does_not_verify() -> None:
    statement = example(memory)
    wrong = [np.array(table.main) for table in statement.tables]
    wrong[0][0, 0] += np.uint64(1)
    tables = [Table(table.air, table.public_values, main) for table, main in zip(statement.tables, wrong, strict=True)]
    with pytest.raises(VerificationError):
        make(prepare(Statement(tables), parameters=FEW), "sync", CpuDevice(1))


def test_an_output_that_no_proof_states_is_told_right_after_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither are tables laid out, nor do workers record windows of the run."""
    code = [*li(5, OUTPUT_BASE), *li(6, 2 << 20), Instruction(Op.SD, rs1=5, rs2=6), *leave()]
    (tmp_path / "long.elf").write_bytes(elf([Segment(CODE, words(code), X)]))
    monkeypatch.setattr("graphprover.vm.traces.run_statement.tables_of_range", lambda *given, **options: 1 / 0)
    job = Prover(tmp_path / "long.elf", shards=2).job()
    for begin in (job.start, partial(shared_run, job)):
        with pytest.raises(Unprovable, match=r"an output of 2,097,152 bytes: a proof states at most 1,048,576"):
            begin()


def test_an_input_that_no_proof_states_is_told_before_the_run() -> None:
    job = Job(Prover(FIBONACCI), bytes(MAX_STATED_INPUT + 1), "", commit_input=True, limits={"max_cycles": 1})
    for begin in (job.start, job.rehearse, partial(shared_run, job)):
        with pytest.raises(ValueError, match=r"an input of 65,537 bytes: a proof states at most 65,536"):
            begin()


def test_a_file_in_the_place_of_an_object_is_told() -> None:
    with pytest.raises(TypeError, match=r"^'guest.elf' is a file, not a Prover: Prover\('guest.elf'\)\.job"):
        Job("guest.elf", b"x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^the input is 'text': give bytes, or a Path"):
        Prover(FIBONACCI).prove("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^'proof.bin' is a file, not a proof: load_proof\('proof.bin'\)"):
        verify("proof.bin", example(memory))  # type: ignore[arg-type]


def test_completion_finds_the_public_names() -> None:
    import graphprover

    assert set(graphprover.__all__) <= set(dir(graphprover)) and "TYPE_CHECKING" not in dir(graphprover)
