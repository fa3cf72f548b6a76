"""Mock proofs: `prove --mock` makes them, `verify --allow-mock` alone takes them, and everything else refuses them."""

import hashlib
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphprover import Key, Prover, VerificationError, load_proof, prove_many, verify
from graphprover.cli.main import main
from graphprover.jobs.options import BATCH, SERVICE, SUBMIT, options_of
from graphprover.proof.compressed import CompressedProof, any_proof_from_bytes
from graphprover.proof.mock import MOCK, MockProof
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import Shard, ShardedProof, proof_from_bytes
from graphprover.runtime.errors import FAILED, OK, USAGE
from tests.cli.test_cli import PROGRAM
from tests.conftest import ROOT

FIB = str(ROOT / "examples/guests/fib_iterative.elf")
TURNS = (10).to_bytes(8, "little")
OUTPUT = "3700000000000000"
REFUSED = "a mock proof proves nothing: `graphprover verify --allow-mock` accepts it in tests"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the mock of a guest's proof and the key of the guest."""
    folder = tmp_path_factory.mktemp("mock")
    (folder / "input").write_bytes(TURNS)
    assert main(["prove", FIB, "--input", str(folder / "input"), "--mock", "-o", str(folder / "mock.bin")]) == OK
    Prover(FIB).key().save(folder / "guest.vk")
    return folder


@pytest.fixture(scope="module")
def mock(folder: Path) -> MockProof:
    return MockProof.load(folder / "mock.bin")


def said(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = OK) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_mock_has_the_header_of_the_proof_and_no_payload(mock: MockProof) -> None:
    proof = Prover(FIB).prove(TURNS)
    assert isinstance(proof, Proof) and mock.header == proof.without_payload()
    assert MockProof.from_bytes(mock.to_bytes()) == mock and mock.size == len(mock.to_bytes()) < 1000
    with pytest.raises(ValueError, match="no payload"):
        MockProof(proof)


def test_verify_refuses_a_mock_without_the_option(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for program in ("guest.vk", FIB):
        assert main(["verify", "mock.bin", program]) == FAILED
        assert capsys.readouterr() == ("", f"graphprover: mock.bin: not valid: {REFUSED}\n")
    found = said(["verify", "mock.bin", "guest.vk"], capsys, FAILED)
    assert (found["valid"], found["rule"]) == (False, "asked.mock")


def test_verify_says_loudly_that_a_mock_proves_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for program in ("guest.vk", FIB):
        assert main(["verify", "mock.bin", program, "--allow-mock", "--expect-output-hex", OUTPUT]) == OK
        lines = capsys.readouterr().out.splitlines()
        assert lines[-1] == MOCK and "valid" not in lines and f"security   none, {MOCK}" in lines
    found = said(["verify", "mock.bin", "guest.vk", "--allow-mock"], capsys)
    assert found["valid"] and found["mock"] and found["security_bits"] == 0
    assert found["security_bits_by"] == {"johnson": 0, "unique": 0}
    assert found["says"]["output"]["hex"] == OUTPUT


def test_the_claim_of_an_allowed_mock_is_checked(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def verdict(*more: str, program: str = "guest.vk") -> str:
        code = main(["verify", "mock.bin", program, "--allow-mock", *more])
        assert code != OK
        return capsys.readouterr().err

    assert "the output differs from the expected one at byte 0" in verdict("--expect-output-hex", "00")
    assert "exit code 0, not 3" in verdict("--exit-code", "3")
    assert "the proof states no input" in verdict("--input", "input")
    assert "this proof is of program" in verdict(program=str(ROOT / "examples/guests/sha256.elf"))
    Path("weak.bin").write_bytes(Prover(FIB, security=100, mock=True).prove(TURNS).to_bytes())
    assert main(["verify", "weak.bin", "guest.vk", "--allow-mock"]) == FAILED
    assert "128 were asked for" in capsys.readouterr().err


def test_a_damaged_mock_is_refused(here: Path, mock: MockProof, capsys: pytest.CaptureFixture[str]) -> None:
    good = mock.to_bytes()
    for data in (good[:-1], good + b"\0", good[:100] + bytes([good[100] ^ 1]) + good[101:]):
        Path("bad.bin").write_bytes(data)
        assert main(["verify", "bad.bin", "guest.vk", "--allow-mock"]) == FAILED
        assert "a mock proof whose checksum is wrong" in capsys.readouterr().err
    other = good.replace(bytes.fromhex("37") + bytes(7), bytes.fromhex("38") + bytes(7))  # a word of the output
    assert other != good
    Path("bad.bin").write_bytes(other[:-32] + hashlib.sha256(other[:-32]).digest())
    assert main(["verify", "bad.bin", "guest.vk", "--allow-mock", "--expect-output-hex", OUTPUT]) == FAILED
    assert "the output differs" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["compress", "mock.bin", "guest.vk"],
        ["aggregate", "mock.bin", "mock.bin", "--program", "guest.vk"],
        ["export", "mock.bin", FIB],
        ["export", "mock.bin"],
    ],
    ids=" ".join,
)
def test_other_commands_refuse_a_mock(here: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == FAILED
    assert capsys.readouterr().err.endswith(f"{REFUSED}\n")


def test_a_mock_in_another_place_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "mock.bin"]) == USAGE
    assert "but a proof or key of graphprover, which has no code" in capsys.readouterr().err
    assert main(["verify", "guest.vk", "mock.bin"]) == USAGE
    assert "swap them" in capsys.readouterr().err


def test_inspect_says_what_a_mock_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "mock.bin"]) == OK
    assert capsys.readouterr().out.startswith(f"{MOCK}\nprogram  'fib_iterative.elf ")
    assert said(["inspect", "mock.bin"], capsys)["mock"] is True


PARSERS: tuple[Callable[[bytes], object], ...] = (
    any_proof_from_bytes,
    proof_from_bytes,
    Proof.from_bytes,
    Proof.header_from_bytes,
    ShardedProof.from_bytes,
    Shard.from_bytes,
    CompressedProof.from_bytes,
)


def test_no_parser_of_proofs_takes_a_mock(folder: Path, mock: MockProof) -> None:
    for parse in PARSERS:
        with pytest.raises(VerificationError):
            parse(mock.to_bytes())
    with pytest.raises(VerificationError, match="a mock proof proves nothing"):
        load_proof(folder / "mock.bin")
    with pytest.raises(VerificationError):  # nor the header in it, which has no payload
        Proof.from_bytes(mock.header.to_bytes())


def test_mocks_in_python(folder: Path, mock: MockProof) -> None:
    prover, key = Prover(FIB, mock=True), Key.load(folder / "guest.vk")
    made = prover.prove(TURNS)
    assert made == mock and pickle.loads(pickle.dumps(prover)).mock
    statement = prover.program.statement_of(mock.header, coming=True)
    for given in (mock, mock.to_bytes()):
        checks: tuple[Callable[..., Any], ...] = (
            lambda own, **more: verify(own, statement, **more),
            Prover(FIB).verify,
            prover.verify,
            key.verify,
        )
        for check in checks:
            with pytest.raises(VerificationError, match="a mock proof proves nothing") as refused:
                check(given)
            assert refused.value.rule == "asked.mock"
            verdict = check(given, allow_mock=True)
            assert verdict.mock and verdict.bits == 0 and MOCK in repr(verdict)
            assert verdict.claim.output.hex() == OUTPUT
    with pytest.raises(VerificationError, match="exit code 0, not 3"):
        key.verify(mock, exit_code=3, allow_mock=True)
    with pytest.raises(VerificationError, match="not proven"):
        prover.prove(TURNS, exit_code=3)
    assert key.verify(prover.prove(TURNS, commit_input=True), allow_mock=True).claim.input == TURNS


def test_a_real_proof_is_no_mock_where_mocks_are_allowed() -> None:
    prover = Prover(FIB)
    verdict = prover.verify(prover.prove(TURNS), allow_mock=True)
    assert not verdict.mock and verdict.bits >= 128


def test_jobs_and_services_make_no_mocks(mock: MockProof) -> None:
    prover = Prover(FIB, mock=True)
    for make in (prover.job, prover.prepare, prover.graph):
        with pytest.raises(ValueError, match="mock=True: such a Prover makes mock proofs by its method prove"):
            make(TURNS)
    assert not {option.name for where in (BATCH, SERVICE, SUBMIT) for option in options_of(where)} & {"mock"}
    (result,) = prove_many([Prover(FIB, security=20).job(TURNS, existing=mock.to_bytes())])
    assert not result.kept and isinstance(result.proof, Proof)


@pytest.mark.parametrize("options", [["--compress", "8"], ["--shards", "2"], ["--small", "1"]], ids=" ".join)
def test_other_options_of_the_proof_give_a_mock_too(
    here: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prove", FIB, "--input", "input", "--mock", *options, "-o", "other.bin"]) == OK
    capsys.readouterr()
    assert said(["verify", "other.bin", "guest.vk", "--allow-mock"], capsys)["mock"]


def test_prove_says_that_it_made_a_mock(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["prove", FIB, "--input", "input", "--mock", "-o", "other.bin"]
    found = said(given, capsys)
    assert found["mock"] and found["security_bits"] == 0 and found["seconds"] > 0
    assert found["proof"] == {"file": "other.bin", "bytes": Path("other.bin").stat().st_size}
    assert main(given) == OK
    assert capsys.readouterr().out.splitlines()[-1].startswith(MOCK)
    assert main([*given, "--report"]) == USAGE
    assert "--mock: there is no proof for --report" in capsys.readouterr().err


def test_a_false_trace_gets_no_mock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("doubling.py").write_text(PROGRAM)
    Path("wrong").write_bytes(b"wrong")
    assert main(["prove", "doubling.py", "--mock", "--input", "wrong", "-o", "mock.bin"]) == FAILED
    error = capsys.readouterr().err
    assert (
        "doubling.py: not proven: doubling: constraint fails on row 2" in error
        and "graphprover check doubling.py --input wrong" in error
    )
    assert not Path("mock.bin").exists()
    assert main(["prove", "doubling.py", "--mock", "-o", "mock.bin"]) == OK
    capsys.readouterr()
    assert main(["verify", "mock.bin", "doubling.py", "--allow-mock", "--expect", "last=128"]) == OK
    assert main(["verify", "mock.bin", "doubling.py", "--allow-mock", "--expect", "last=129"]) == FAILED
