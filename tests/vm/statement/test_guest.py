"""Guests on the command line: from an ELF file to a proof, and from a proof to its claim."""

import hashlib
import json
import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from graphprover import VerificationError, verify
from graphprover.cli.main import main
from graphprover.jobs.opening import open_program
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import proof_from_bytes
from graphprover.protocol import backend
from graphprover.protocol.hashing import keccak256
from graphprover.runtime.errors import FAILED, OK, USAGE
from graphprover.statement.statement import Statement, Table
from graphprover.verifier.headers import check_level
from graphprover.vm.program.elf import load_elf
from graphprover.vm.program.io import EXIT, INPUT_BASE, OUTPUT_BASE
from graphprover.vm.program.isa import A0, A7, Instruction, Op
from graphprover.vm.statement.claim import MAX_STATED_INPUT, claim_of, shown
from graphprover.vm.statement.key import DEFAULT_PROOFS, Key, MalformedKey
from graphprover.vm.statement.setup import make_key
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import TableNumber
from graphprover.vm.statement.table_rules import ShardKind
from tests.call_counts import count_calls
from tests.slow import slow_after
from tests.vm.assemble import CODE, PAGE, Segment, X, elf, leave, li, words

GUESTS = Path(__file__).parents[3] / "examples/guests"
SHA256, JSON = str(GUESTS / "sha256.elf"), str(GUESTS / "json.elf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a proof of SHA-256 of "abc", and the keys of two guests."""
    folder = tmp_path_factory.mktemp("guest")
    (folder / "abc").write_bytes(b"abc")
    assert main(["prove", SHA256, "--input", str(folder / "abc"), "-o", str(folder / "proof")]) == OK
    for guest in (SHA256, JSON):
        (folder / f"{Path(guest).stem}.vk").write_bytes(
            make_key(Machine(load_elf(Path(guest).read_bytes()))).to_bytes()
        )
    return folder


def test_verify_says_output_exit_code_and_cycles(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    digest = hashlib.sha256(b"abc").hexdigest()
    for program in (SHA256, str(folder / "sha256.vk")):
        assert main(["verify", str(folder / "proof"), program, "--expect-output-hex", digest]) == OK
        printed = capsys.readouterr().out
        assert all(line in printed for line in (f"output     hex {digest} (32 bytes)", "exit code  0", "valid"))


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a guest that outputs its input, up to 16 bytes, and exits with the number in the last eight of them.

    The folder also has proofs of it: of a text, of the bytes that the text spells, and of a failure.
    """
    folder = tmp_path_factory.mktemp("echo")
    code = [*li(5, INPUT_BASE), *li(6, OUTPUT_BASE)]
    for at in (0, 8, 16):
        code += [Instruction(Op.LD, A0, 5, imm=at), Instruction(Op.SD, rs1=6, rs2=A0, imm=at)]
    code += [*li(A7, EXIT), Instruction(Op.ECALL)]
    (folder / "echo.elf").write_bytes(elf([Segment(CODE, words(code), X)]))
    for name, data in (("text", b"deadbeef"), ("hex", b"\xde\xad\xbe\xef"), ("failure", b"failure\n\3")):
        (folder / f"{name}.in").write_bytes(data)
        assert main(prove_echo(folder, name, "--exit-code", "any")) == OK
    return folder


def prove_echo(folder: Path, name: str, *options: str) -> list[str]:
    arguments = [str(folder / "echo.elf"), "--input", str(folder / f"{name}.in"), "-o", str(folder / name)]
    return ["prove", *arguments, *options]


def verify_echo(folder: Path, name: str, *options: str) -> list[str]:
    return ["verify", str(folder / name), str(folder / "echo.elf"), *options]


def fails(arguments: list[str], cause: str, capsys: pytest.CaptureFixture[str], code: int = FAILED) -> None:
    """Check that the command exits with ``code``, one line on stderr with the cause, and nothing on stdout."""
    capsys.readouterr()
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert cause in err and err.count("\n") == 1 and not out


def test_outputs_are_compared_as_bytes(echo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = {"text": b"deadbeef".hex(), "hex": "deadbeef"}
    for name, other in (("text", "hex"), ("hex", "text")):
        assert main(verify_echo(echo, name, "--expect-output-hex", own[name].upper())) == OK
        assert main(verify_echo(echo, name, "--expect-output", str(echo / f"{name}.in"))) == OK
        for wrong in (own[other], "", own[name] + "00"):
            fails(verify_echo(echo, name, "--expect-output-hex", wrong), "the output differs", capsys)
        fails(verify_echo(echo, name, "--expect-output", str(echo / f"{other}.in")), "the output differs", capsys)
        fails(verify_echo(echo, name, "--expect", "output=deadbeef"), "--expect-output-hex", capsys, USAGE)
    fails(verify_echo(echo, "text", "--expect", "input=deadbeef"), "--input FILE", capsys, USAGE)
    fails(verify_echo(echo, "text", "--expect", "exit code=0", "--expect", "cycles=1"), ", not 1", capsys)
    assert main(verify_echo(echo, "hex", "--expect-output-hex", "0xdeadbeef")) == OK
    with pytest.raises(SystemExit):
        main(verify_echo(echo, "hex", "--expect-output-hex", "0xdeadbee"))


def test_outputs_are_shown_as_what_they_are() -> None:
    assert shown(b"") == "none"
    assert shown(b"deadbeef") == 'text "deadbeef" (8 bytes)'
    assert shown(b"\xde\xad\xbe\xef") == "hex deadbeef (4 bytes)"
    assert shown(b'a "b"\n\\') == r'text "a \"b\"\n\\" (7 bytes)'
    for data in (b"\x1b[31m", b"\x7f", b"\0", "é".encode()):
        assert shown(data).startswith(f"hex {data.hex()} ")
    assert shown(b"x" * 1000) == f'text "{"x" * 64}"... (1,000 bytes)'
    assert shown(b"x" * 999 + b"\0") == f"hex {'78' * 64}... (1,000 bytes)"


def test_verify_writes_the_output(echo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = tmp_path / "result"
    for name in ("text", "hex"):
        assert main(verify_echo(echo, name, "--output", str(result))) == OK
        assert result.read_bytes() == (echo / f"{name}.in").read_bytes()
    for refused in (("failure",), ("text", "--expect-output-hex", "00"), ("text", "--proximity", "unique")):
        assert main(verify_echo(echo, *refused, "--output", str(result))) == FAILED
        assert result.read_bytes() == (echo / "hex.in").read_bytes()
    fails(verify_echo(echo, "text", "--output", str(tmp_path)), "is a folder: name a file in it", capsys, USAGE)


def test_a_failure_is_valid_only_where_asked_for(echo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fails(verify_echo(echo, "failure"), "exit code 3, not 0 (--exit-code 3 or any accepts it)", capsys)
    fails(verify_echo(echo, "failure", "--exit-code", "4"), "exit code 3, not 4", capsys)
    fails(verify_echo(echo, "text", "--exit-code", "3"), "exit code 0, not 3", capsys)
    for accepted in ("3", "any"):
        assert main(verify_echo(echo, "failure", "--exit-code", accepted)) == OK
        assert "exit code  3\n" in capsys.readouterr().out
    for nonsense in ("-1", "all", str(2**64), ""):
        with pytest.raises(SystemExit):
            main(verify_echo(echo, "failure", "--exit-code", nonsense))


def test_a_failure_is_proven_only_where_asked_for(
    echo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Report the exit code before proving, and write nothing."""
    proof = (echo / "failure").read_bytes()
    (echo / "failure").unlink()
    with monkeypatch.context() as patch:
        patch.setattr("graphprover.prover.local.make", None)
        fails(prove_echo(echo, "failure"), "exit code 3, not 0: not proven (--exit-code 3 or any", capsys)
        fails(prove_echo(echo, "text", "--exit-code", "3"), "exit code 0, not 3: not proven", capsys)
    assert not (echo / "failure").exists()
    assert main(prove_echo(echo, "failure", "--exit-code", "3")) == OK
    assert (echo / "failure").read_bytes() == proof


def test_only_guests_have_exit_code_and_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = str(tmp_path / "proof")
    assert main(["prove", "examples/fibonacci", "-o", proof]) == OK
    for option in (["--exit-code", "any"], ["--expect-output-hex", ""], ["--output", str(tmp_path / "out")]):
        fails(["verify", proof, *option], f"{option[0]}: only for guests", capsys, USAGE)
    fails(["prove", "examples/fibonacci", "--exit-code", "0"], "--exit-code: only for guests", capsys, USAGE)


def test_an_exit_code_is_two_limbs() -> None:
    assert claim_of([[5, 7, 1, 1]], b"").exit_code == 7 + 2**32
    for limbs in ((2**32, 0), (0, 2**32)):
        with pytest.raises(VerificationError, match="two limbs"):
            claim_of([[5, *limbs, 1]], b"")


def test_a_proof_is_of_one_guest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Name the guest in the label; without a label, or with a false one, refuse it as a proof of another guest."""
    keys = (Key.from_bytes((folder / f"{name}.vk").read_bytes()) for name in ("sha256", "json"))
    own, other = (key.program_hash.hex() for key in keys)
    proof = Proof.from_bytes((folder / "proof").read_bytes())
    assert proof.label.endswith(f"sha256.elf {own}")
    for label in ("", f"x {other}"):
        (folder / "relabelled").write_bytes(replace(proof, label=label).to_bytes())
        assert main(["verify", str(folder / "relabelled"), JSON]) == FAILED
        assert "of another statement" in capsys.readouterr().err
    for program in (JSON, str(folder / "json.vk")):
        assert main(["verify", str(folder / "proof"), program]) == FAILED
        assert f"this proof is of program {own}, not of {other}" in capsys.readouterr().err


def test_a_proof_has_the_same_bytes_wherever_the_program_lies(
    echo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("echo.elf", "text.in"):
        (tmp_path / name).write_bytes((echo / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    assert main(["prove", "echo.elf", "--input", "text.in"]) == OK
    assert (tmp_path / "proof.bin").read_bytes() == (echo / "text").read_bytes()
    assert Proof.from_bytes((echo / "text").read_bytes()).label.startswith("echo.elf ")


def test_a_long_name_leaves_room_for_the_hash(tmp_path: Path) -> None:
    name = "é" * 100 + ".elf"
    (tmp_path / name).write_bytes(Path(SHA256).read_bytes())
    guest = open_program(str(tmp_path / name))
    assert guest.label.startswith("é" * 95 + " ") and guest.statement_about(guest.record(b"")).label == guest.label


def test_setup_writes_the_same_key_again(folder: Path, tmp_path: Path) -> None:
    assert main(["setup", SHA256, "-o", str(tmp_path / "vk")]) == OK
    data = (tmp_path / "vk").read_bytes()
    assert data == (folder / "sha256.vk").read_bytes()
    assert Key.from_bytes(data).to_bytes() == data and len(data) == 392
    assert main(["setup", "examples/keccak", "-o", str(tmp_path / "vk")]) == USAGE


@pytest.mark.parametrize("number", slow_after(1, range(len(DEFAULT_PROOFS))))
def test_a_key_has_the_commitments_that_verifiers_compute(
    folder: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare the kernels' commitments with plain NumPy's."""
    monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    key, machine = Key.from_bytes((folder / "sha256.vk").read_bytes()), Machine(load_elf(Path(SHA256).read_bytes()))
    proof = DEFAULT_PROOFS[number]
    for kind in ShardKind:
        statement = Statement([Table(machine.air(number, 0, 0)) for number in machine.preprocessed(kind)])
        assert statement.commit(proof.log_blowup, 0, proof.hash) == (key.caps[kind][proof],)


def test_keys_are_read_strictly(folder: Path) -> None:
    data = (folder / "sha256.vk").read_bytes()
    for damaged in (data[:-1], data + b"\0", b"", data[:32] + b"\xff" + data[33:]):
        with pytest.raises(MalformedKey):
            Key.from_bytes(damaged)


def test_a_damaged_key_verifies_nothing(folder: Path) -> None:
    data = (folder / "sha256.vk").read_bytes()
    proof = Proof.from_bytes((folder / "proof").read_bytes())
    for position in (48, 56, 132):  # entry, end of the data, commitment at rate 1/2 of a short run
        key = Key.from_bytes(data[:position] + bytes([data[position] ^ 8]) + data[position + 1 :])
        with pytest.raises(VerificationError):
            verify(proof, key.statement_of(proof))


def test_a_key_runs_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", str(folder / "json.vk"), "-o", str(folder / "none")]) == USAGE
    assert capsys.readouterr().err.count("json.vk: a verifying key, which runs nothing: give the ELF file") == 1


def test_a_proof_states_its_input_if_asked(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof, data, other, key = tmp_path / "proof", tmp_path / "data", tmp_path / "other", folder / "sha256.vk"
    data.write_bytes(bytes(range(100)))
    other.write_bytes(bytes(range(99)))
    assert main(["prove", SHA256, "--input", str(data), "--commit-input", "-o", str(proof)]) == OK
    for program in (SHA256, str(key)):
        assert main(["verify", str(proof), program, "--input", str(data)]) == OK
        assert f"input      Keccak-256 {keccak256(data.read_bytes()).hex()} (100 bytes)" in capsys.readouterr().out
    assert main(["verify", str(proof), str(key), "--input", str(other)]) == FAILED
    assert f"the stated input (100 bytes) differs from {other}" in capsys.readouterr().err
    assert main(["verify", str(folder / "proof"), str(key), "--input", str(data)]) == FAILED
    assert "states no input" in capsys.readouterr().err
    assert main(["prove", "examples/memory", "--commit-input", "-o", str(proof)]) == USAGE
    assert main(["verify", str(proof), str(key), "--input", str(tmp_path / "none")]) == USAGE
    data.write_bytes(bytes(MAX_STATED_INPUT + 1))
    assert main(["prove", str(GUESTS / "fib_iterative.elf"), "--input", str(data), "--commit-input"]) == USAGE
    assert "at most 65,536" in capsys.readouterr().err


def test_plan_counts_cells(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["plan", SHA256], ["execute", SHA256, "--cells"]):
        assert main([*command, "--input", str(folder / "abc")]) == OK
        assert "committed cells per cycle" in capsys.readouterr().out


def test_the_smallest_proof_of_a_run_has_fewer_tables(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Verify small proofs, whole or in shards, by any key; a plan at any rate gives the same sizes."""
    (tmp_path / "text").write_bytes(bytes(200))
    given = [SHA256, "--input", str(tmp_path / "text")]
    found = {}
    for name, options in (
        ("rate 4", ["--rate", "4"]),
        ("small", ["--rate", "8"]),
        ("shards", ["--rate", "8", "--shards", "2"]),
    ):
        proof = str(tmp_path / name)
        assert main(["prove", *given, *options, "--security", "60", "-o", proof]) == OK
        assert main(["verify", proof, str(folder / "sha256.vk"), "--security", "60"]) == OK
        found[name] = proof_from_bytes(Path(proof).read_bytes())
    whole, small = found["rate 4"], found["small"]
    assert isinstance(whole, Proof) and isinstance(small, Proof)
    assert len(small.log_heights) < len(whole.log_heights) - 5
    capsys.readouterr()
    rates = []
    for options in ([], ["--rate", "8"]):
        assert main(["plan", *given, *options, "--security", "60", "--json"]) == OK
        rates.append({at["rate"]: at["bytes"] for at in json.loads(capsys.readouterr().out)["rates"]})
    assert rates[0] == rates[1]
    for rate, proof in ((8, small), (4, whole)):  # a plan has the mean over queries, whose paths share some digests
        assert abs(rates[0][rate] - proof.size) < 0.04 * proof.size


def test_files_that_are_no_guests(tmp_path: Path) -> None:
    (tmp_path / "broken.elf").write_bytes(b"\x7fELF" + bytes(100))
    assert main(["check", str(tmp_path / "broken.elf")]) == USAGE
    assert main(["check", SHA256]) == OK
    assert open_program(SHA256).describe([[5, 7, 0, 1]]) == {"output": "none", "exit code": "7", "cycles": "5"}


def test_words_that_are_never_executed_may_be_anything(tmp_path: Path) -> None:
    """Prove a guest with random data in the code, of which some decodes as a jump below address 0."""
    guest = tmp_path / "guest.elf"
    guest.write_bytes(elf([Segment(PAGE, words(leave()) + random.Random(1).randbytes(4 * PAGE), X)], entry=PAGE))
    proof, key = str(tmp_path / "proof"), str(tmp_path / "vk")
    assert main(["setup", str(guest), "-o", key]) == OK
    assert main(["prove", str(guest), "-o", proof]) == OK
    assert main(["verify", proof, key]) == OK


def test_a_header_of_output_words_costs_less_than_the_proof_it_is_made_of(folder: Path) -> None:
    """A table is not described if the file does not open its columns."""
    honest, guest = (folder / "proof").read_bytes(), open_program(SHA256)
    proof = Proof.from_bytes(honest)
    i = 1 + proof.public_values[0][3:].index(TableNumber.OUTPUT)
    words = (1 << 16) - 1
    claimed = (8 * words, 0, *[7] * (2 * words))
    hostile = replace(proof, public_values=(*proof.public_values[:i], claimed, *proof.public_values[i + 1 :]))
    data = hostile.to_bytes()
    assert len(data) < 2 * len(honest)

    def calls(file: bytes) -> int:
        """Return the work of a verdict."""

        def judge() -> None:
            with suppress(VerificationError):
                verify(file, guest.statement_of(Proof.from_bytes(file)))

        return count_calls(judge)

    calls(honest)  # caches descriptions
    with pytest.raises(VerificationError, match="openings are longer"):
        guest.statement_of(hostile)
    reading = 4 * len(claimed)  # calls
    assert calls(data) < calls(honest) + reading


def test_too_few_queries_are_refused_before_a_statement_is_made(folder: Path) -> None:
    proof = Proof.from_bytes((folder / "proof").read_bytes())
    few = replace(proof, parameters=replace(proof.parameters, num_queries=100))
    with pytest.raises(VerificationError, match=r"70\.0 provable bits at most; 128 were asked for"):
        check_level(few, 128)
    check_level(few, 69)
    (folder / "few").write_bytes(few.to_bytes())
    assert main(["verify", str(folder / "few"), SHA256]) == FAILED
