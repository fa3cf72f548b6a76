"""The files for Plonky3's verifier; tests/interop runs that verifier on them."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from graphprover.cli.main import main
from graphprover.jobs.opening import load_packaged
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.runtime.errors import FAILED, OK, USAGE
from graphprover.verifier.plonky3 import PAYLOAD, STATEMENT, export

GUEST = str(Path(__file__).parents[2] / "examples/guests/fib_iterative.elf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    assert main(["prove", "examples/memory", "--security", "60", "-o", str(folder / "proof.bin")]) == OK
    return folder


@pytest.fixture
def proof(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Proof:
    monkeypatch.chdir(folder)
    return Proof.load("proof.bin")


def test_the_two_files(proof: Proof, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "proof.bin", "-o", "deep/out"]) == OK
    text = capsys.readouterr().out
    data = Path("deep/out", STATEMENT).read_bytes()
    assert Path("deep/out", PAYLOAD).read_bytes() == proof.payload
    assert text.splitlines()[0] == f"written to deep/out/statement.json, {len(data):,} bytes"
    statement, own = json.loads(data), load_packaged("examples/memory").statement()
    assert statement.keys() == {"parameters", "label", "tables"}
    assert statement["label"] == proof.label != ""
    assert statement["parameters"] == asdict(proof.parameters)
    for stated, table, log_height, values in zip(
        statement["tables"], own.tables, proof.log_heights, proof.public_values, strict=True
    ):
        assert stated["air"] == json.loads(json.dumps(table.air.describe().to_json()))
        assert (stated["log_height"], tuple(stated["public_values"])) == (log_height, values)
        columns = table.preprocessed
        assert stated["preprocessed"] == (None if columns is None else columns.tolist())


def test_json(proof: Proof, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "proof.bin", "--json"]) == OK
    found = json.loads(capsys.readouterr().out)
    assert (found["program"], found["release"]) == ("examples/memory", "0.8.0")
    assert found["files"][1] == {"file": "exported/payload.bin", "bytes": len(proof.payload)}


def test_a_header_that_does_not_fit_is_refused(proof: Proof, capsys: pytest.CaptureFixture[str]) -> None:
    own = load_packaged("examples/memory").statement()
    for other in (
        replace(proof, log_heights=proof.log_heights[:1], public_values=proof.public_values[:1]),
        replace(proof, log_heights=(60, *proof.log_heights[1:])),
        replace(proof, public_values=((), *proof.public_values[1:])),
    ):
        with pytest.raises(VerificationError):
            export(other, own)
    assert main(["export", "proof.bin", "examples/fibonacci"]) == FAILED
    assert "proof.bin: the proof is of 2 tables, the statement of 1" in capsys.readouterr().err


def test_what_cannot_be_exported(proof: Proof, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["setup", GUEST, "-o", "guest.vk"]) == OK
    assert main(["export", "proof.bin", "guest.vk"]) == USAGE
    assert "guest.vk: a verifying key lacks the columns that Plonky3 commits to" in capsys.readouterr().err
    Path("file").touch()
    assert main(["export", "proof.bin", "-o", "file"]) == USAGE
    assert capsys.readouterr().err == "graphprover: file: File exists\n"
