"""``aggregate``, and the commands that take aggregated proofs."""

from pathlib import Path

import pytest

from graphprover.cli.main import main
from graphprover.proof.compressed import CompressedProof
from graphprover.runtime.errors import FAILED, OK, USAGE
from tests.cli.test_compress import FIB, LEVEL, said
from tests.conftest import ROOT

SHA = str(ROOT / "examples/guests/sha256.elf")
OUTPUTS = ["3700000000000000", "5900000000000000"]  # of fib_iterative for 10 and 11


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make three proofs of two guests, and the proof about all of them."""
    folder = tmp_path_factory.mktemp("aggregate")
    runs = ((FIB, (10).to_bytes(8, "little")), (FIB, (11).to_bytes(8, "little")), (SHA, b"abc"))
    proofs = [str(folder / f"{number}.bin") for number in range(len(runs))]
    for (program, data), proof in zip(runs, proofs, strict=True):
        (folder / "input").write_bytes(data)
        assert main(["prove", program, "--input", str(folder / "input"), *LEVEL, "--rate", "8", "-o", proof]) == OK
    for program, key in ((FIB, "fib.vk"), (SHA, "sha.vk")):
        assert main(["setup", program, "-o", str(folder / key)]) == OK
    programs = ["--program", FIB, "--program", str(folder / "sha.vk")]
    assert main(["aggregate", *proofs, *programs, *LEVEL, "-o", str(folder / "all.bin")]) == OK
    return folder


def error(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int) -> str:
    assert main(arguments) == code
    return capsys.readouterr().err


def test_aggregate_says_all_claims(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["aggregate", "0.bin", "1.bin", "--program", "fib.vk", *LEVEL, "--rates", "8,4", "-o", "two.bin"]
    found = said(given, capsys)
    assert [member["says"]["output"]["hex"] for member in found["members"]] == OUTPUTS
    assert found["proof"] == {"file": "two.bin", "bytes": (here / "two.bin").stat().st_size}
    assert found["given_bytes"] == sum((here / f"{number}.bin").stat().st_size for number in range(2))
    assert [layer.parameters.log_blowup for layer in CompressedProof.load("two.bin").layers] == [3, 2]


def test_verify_takes_the_programs_in_any_order(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for programs in (["sha.vk", "fib.vk"], [FIB, SHA]):
        found = said(["verify", "all.bin", *programs, "--security", "20"], capsys)
        assert found["valid"] and [member["says"]["output"]["hex"] for member in found["members"]][:2] == OUTPUTS
        assert main(["verify", "all.bin", *programs, "--security", "20"]) == OK
        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if line.startswith("member")] == ["member 1", "member 2", "member 3"]
        assert lines[-1] == "valid"


def test_verify_asks_about_one_member(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["verify", "all.bin", "fib.vk", "sha.vk", "--security", "20"]
    for number, output in enumerate(OUTPUTS, 1):
        asked = [*given, "--member", str(number)]
        assert said([*asked, "--expect-output-hex", output], capsys)["says"]["output"]["hex"] == output
        assert "the output differs" in error([*asked, "--expect-output-hex", "00"], capsys, FAILED)
        assert main([*asked, "--output", "result"]) == OK
        assert (here / "result").read_bytes() == bytes.fromhex(output)
        capsys.readouterr()
    assert "the proof is about 3 proofs" in error([*given, "--member", "4"], capsys, USAGE)
    assert "choose one by --member" in error([*given, "--expect", "cycles=1"], capsys, USAGE)
    assert main(["verify", "0.bin", "fib.vk", "--security", "20", "--member", "1"]) == OK


def test_programs_that_are_missing_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["verify", "all.bin", "--security", "20"]
    assert "give the program" in error(asked, capsys, USAGE)
    others = [FIB, str(ROOT / "examples/guests/json.elf")]
    assert "give the program" in error([*asked[:2], *others, *asked[2:]], capsys, USAGE)
    # The only program is the one of all members.
    assert "not valid: member 3: " in error([*asked[:2], FIB, *asked[2:]], capsys, FAILED)
    assert "2.bin: " in error(["aggregate", "0.bin", "2.bin", "--program", FIB, *LEVEL, "-o", "no.bin"], capsys, FAILED)
    assert "give the program" in error(["aggregate", "0.bin", *LEVEL], capsys, USAGE)


def test_false_proofs_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray((here / "1.bin").read_bytes())
    data[-1] ^= 1
    (here / "bad.bin").write_bytes(data)
    said_ = error(["aggregate", "0.bin", "bad.bin", "--program", FIB, *LEVEL, "-o", "no.bin"], capsys, FAILED)
    assert "bad.bin: the proof of work" in said_ and not (here / "no.bin").exists()
    weak = error(["aggregate", "0.bin", "1.bin", "--program", FIB, "--security", "100", "-o", "no.bin"], capsys, FAILED)
    assert "0.bin: not valid" in weak
    bad = bytearray((here / "all.bin").read_bytes())
    bad[-1] ^= 1
    (here / "bad.bin").write_bytes(bad)
    assert "last layer" in error(["verify", "bad.bin", FIB, SHA, "--security", "20"], capsys, FAILED)


def test_proofs_that_cannot_be_aggregated_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "input").write_bytes((10).to_bytes(8, "little"))
    proved = ["prove", FIB, "--input", "input", *LEVEL, "--rate", "8"]
    assert main([*proved, "--hash", "keccak", "-o", "keccak.bin"]) == OK
    capsys.readouterr()
    told = error(["aggregate", "0.bin", "keccak.bin", "--program", FIB, *LEVEL, "-o", "no.bin"], capsys, USAGE)
    assert "keccak.bin" in told and "--hash blake3" in told and not (here / "no.bin").exists()


def test_inspect_shows_the_layers(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(["inspect", "all.bin"], capsys)
    assert found["members"] == 3 and len(found["layers"]) == 1
    assert main(["inspect", "all.bin"]) == OK
    text = capsys.readouterr().out
    assert "last layer" in text and "member 1 of 3" in text
