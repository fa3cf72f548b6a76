"""`verify` and `inspect` take a proof about so many others only as their user says."""

from pathlib import Path

import pytest

from graphprover.cli.main import main
from graphprover.proof.compressed import Accepted, CompressedProof, names_of
from graphprover.runtime.errors import FAILED, OK
from tests.vectors import FOLDER


def test_verify_and_inspect_bound_the_members(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = CompressedProof.load(FOLDER / "refused/compressed.layout.0.bin")
    (base,) = given.children
    about_two = Accepted(given.layer.without_payload(), (base, base))
    proof, path = CompressedProof((about_two, base), given.layer), tmp_path / "all.bin"
    proof.save(path)
    assert names_of(proof) == ["member 1", "member 2", "layer about member 1 to member 2", "member 3"]
    for command in (["verify", str(path), "examples/memory", "--security", "0.1"], ["inspect", str(path)]):
        assert main([*command, "--max-members", "2"]) == FAILED
        assert "more than 2 proofs and shards" in capsys.readouterr().err
        code = main([*command, "--max-members", "3"])
        said = capsys.readouterr()
        assert code == (OK if command[0] == "inspect" else FAILED) and "max-members" not in said.err
