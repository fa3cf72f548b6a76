"""Guests on the command line: from an ELF file to a proof, and from a proof to what it says."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from graphprover import VerificationError, verify
from graphprover.cli import FAILED, OK, USAGE, main
from graphprover.envelope import Proof
from graphprover.programs import load
from graphprover.protocol import backend
from graphprover.protocol.hashing import keccak256
from graphprover.statement import Statement, Table
from graphprover.vm.elf import load_elf
from graphprover.vm.key import LOG_BLOWUPS, Key, MalformedKey
from graphprover.vm.machine import MAX_STATED_INPUT, Machine
from graphprover.vm.setup import make_key

GUESTS = Path(__file__).parents[2] / "examples/guests"
SHA256, JSON = str(GUESTS / "sha256.elf"), str(GUESTS / "json.elf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A proof of SHA-256 of "abc", and the keys of two guests."""
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
        assert main(["verify", str(folder / "proof"), program, "--expect", f"output={digest}"]) == OK
        printed = capsys.readouterr().out
        assert all(line in printed for line in (f"output     {digest}", "exit code  0", "valid"))


def test_a_proof_is_of_one_guest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says of which; where it does not, or lies, it still is no proof of another."""
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
        assert f"this proof is of program {own}, not of {program} ({other})" in capsys.readouterr().err


def test_a_long_path_leaves_room_for_the_hash(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["x" * 60] * 4)
    deep.mkdir(parents=True)
    (deep / "guest.elf").write_bytes(Path(SHA256).read_bytes())
    guest = load(str(deep / "guest.elf"))
    assert guest.label.startswith("guest.elf ") and guest.statement_for(b"").label == guest.label


def test_setup_writes_the_same_key_again(folder: Path, tmp_path: Path) -> None:
    assert main(["setup", SHA256, "-o", str(tmp_path / "vk")]) == OK
    data = (tmp_path / "vk").read_bytes()
    assert data == (folder / "sha256.vk").read_bytes()
    assert Key.from_bytes(data).to_bytes() == data and len(data) < 200
    assert main(["setup", "examples/keccak", "-o", str(tmp_path / "vk")]) == USAGE


def test_a_key_has_the_commitments_that_verifiers_compute(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the kernels, against plain NumPy."""
    monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    key, machine = Key.from_bytes((folder / "sha256.vk").read_bytes()), Machine(load_elf(Path(SHA256).read_bytes()))
    statement = Statement([Table(machine.air(part, 0, 0)) for part in machine.fixed])
    for log_blowup in LOG_BLOWUPS:
        assert statement.preprocessed_cap(log_blowup, 0) == (key.caps[log_blowup],)


def test_keys_are_read_strictly(folder: Path) -> None:
    data = (folder / "sha256.vk").read_bytes()
    for damaged in (data[:-1], data + b"\0", b"", data[:32] + b"\xff" + data[33:]):
        with pytest.raises(MalformedKey):
            Key.from_bytes(damaged)


def test_a_damaged_key_verifies_nothing(folder: Path) -> None:
    data = (folder / "sha256.vk").read_bytes()
    proof = Proof.from_bytes((folder / "proof").read_bytes())
    for position in (16, 24, 66):  # entry, end of the data, commitment at rate 1/2
        key = Key.from_bytes(data[:position] + bytes([data[position] ^ 8]) + data[position + 1 :])
        with pytest.raises(VerificationError):
            verify(proof, key.statement_of(proof))


def test_a_key_runs_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", str(folder / "json.vk"), "-o", str(folder / "none")]) == FAILED
    assert "give the ELF file" in capsys.readouterr().err


def test_a_proof_states_its_input_if_asked(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof, data, other, key = tmp_path / "proof", tmp_path / "data", tmp_path / "other", folder / "sha256.vk"
    data.write_bytes(bytes(range(100)))
    other.write_bytes(bytes(range(99)))
    assert main(["prove", SHA256, "--input", str(data), "--commit-input", "-o", str(proof)]) == OK
    for program in (SHA256, str(key)):
        assert main(["verify", str(proof), program, "--input", str(data)]) == OK
        assert f"input      {keccak256(data.read_bytes()).hex()}" in capsys.readouterr().out
    assert main(["verify", str(proof), str(key), "--input", str(other)]) == FAILED
    assert f"on another input than {other}, of 100 bytes" in capsys.readouterr().err
    assert main(["verify", str(folder / "proof"), str(key), "--input", str(data)]) == FAILED
    assert "states no input" in capsys.readouterr().err
    assert main(["prove", "examples/memory", "--commit-input", "-o", str(proof)]) == USAGE
    assert main(["verify", str(proof), str(key), "--input", str(tmp_path / "none")]) == USAGE
    data.write_bytes(bytes(MAX_STATED_INPUT + 1))
    assert main(["prove", str(GUESTS / "fib_iterative.elf"), "--input", str(data), "--commit-input"]) == FAILED
    assert "65,536 at most" in capsys.readouterr().err


def test_plan_counts_cells(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["plan", SHA256], ["execute", SHA256, "--cells"]):
        assert main([*command, "--input", str(folder / "abc")]) == OK
        assert "committed cells a cycle" in capsys.readouterr().out


def test_files_that_are_no_guests(tmp_path: Path) -> None:
    (tmp_path / "broken.elf").write_bytes(b"\x7fELF" + bytes(100))
    assert main(["check", str(tmp_path / "broken.elf")]) == USAGE
    assert main(["check", SHA256]) == OK
    assert load(SHA256).describe([[5, 7, 0, 1]]) == {"output": "", "exit code": "7", "cycles": "5"}
