"""``compress``, ``prove --compress``, and the commands that take compressed proofs."""

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from graphprover.cli.main import main, parser
from graphprover.jobs import job as job_module
from graphprover.jobs.options import FAST_WORD
from graphprover.proof.compressed import CompressedProof
from graphprover.protocol.level import LAYER_RATE
from graphprover.runtime.errors import FAILED, OK, USAGE
from tests.conftest import ROOT
from tests.jobs.test_compressed import WITHOUT_LOOKUPS

FIB = str(ROOT / "examples/guests/fib_iterative.elf")
LEVEL = ["--security", "20", "--pow-bits", "4"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a proof of a guest, the compressed proof, and the key of the guest."""
    folder = tmp_path_factory.mktemp("compress")
    (folder / "input").write_bytes((10).to_bytes(8, "little"))
    proof, small, key = (str(folder / name) for name in ("proof.bin", "small.bin", "guest.vk"))
    assert main(["prove", FIB, "--input", str(folder / "input"), *LEVEL, "--rate", "8", "-o", proof]) == OK
    assert main(["setup", FIB, "-o", key]) == OK
    said = StringIO()
    with redirect_stdout(said):
        options = ["--rate", "4", "--report", str(folder / "layer.json"), "--report", "--json"]
        assert main(["compress", proof, key, *LEVEL, *options, "-o", small]) == OK
    (folder / "said.json").write_text(said.getvalue())
    return folder


def said(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = OK) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_verify_prints_the_claim_of_the_proof(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for proof in ("proof.bin", "small.bin"):
        for program in ("guest.vk", FIB):
            assert main(["verify", proof, program, "--security", "20", "--expect-output-hex", "3700000000000000"]) == OK
            lines = capsys.readouterr().out.splitlines()
            texts.append([line for line in lines if not line.startswith(("program", "security"))])
    assert texts[0][-1] == "valid" and texts == [texts[0]] * 4
    assert main(["verify", "small.bin", "guest.vk"]) == FAILED  # has less than 128 bits
    assert "were asked for" in capsys.readouterr().err
    (here / "bad.bin").write_bytes((here / "small.bin").read_bytes()[:-1])
    found = said(["verify", "bad.bin", "guest.vk", "--security", "20"], capsys, FAILED)
    assert not found["valid"] and found["rule"] == "proof.truncated"


def test_inspect_shows_both_proofs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(["inspect", "small.bin", "guest.vk"], capsys)
    small = CompressedProof.load("small.bin")
    assert sum(found["sizes"].values()) == small.size and sum(found["layers"][0]["sizes"].values()) == small.layer.size
    assert found["security"]["bits"] >= 20 and found["layers"][0]["security"]["bits"] >= 20
    assert len(found["tables"]) == len(small.header.log_heights)
    assert len(found["layers"][0]["tables"]) == len(small.layer.log_heights)
    assert said(["inspect", "small.bin"], capsys)["security"] is None
    assert main(["inspect", "small.bin"]) == OK
    text = capsys.readouterr().out
    assert "give the program" in text and "\nlayer 1\n" in text


def test_compress_says_sizes_and_claim(here: Path) -> None:
    found, small = json.loads((here / "said.json").read_text()), here / "small.bin"
    assert found["proof"] == {"file": found["proof"]["file"], "bytes": small.stat().st_size}
    assert Path(found["proof"]["file"]).name == small.name
    assert found["given_bytes"] == (here / "proof.bin").stat().st_size and found["compress_seconds"] > 0
    assert found["says"]["exit_code"] == 0
    assert CompressedProof.load("small.bin").layer.parameters.log_blowup == 2
    assert {"layer 1: prepare", "layer 1: prove"} <= found["report"]["stages"].keys()
    seen = json.loads((here / "layer.json").read_text())
    assert seen["name"].endswith("guest.vk: layer 1") and seen["layer"] == 1 and seen["tasks"]


def test_prove_writes_the_compressed_proof(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proved = ["prove", FIB, "--input", "input", *LEVEL, "--rate", "8", "-o", "direct.bin", "--compress", "4"]
    found = said([*proved, "--report", "--report", "both.json", "--report", "both.html", "--trace", "trace"], capsys)
    assert found["proof"]["bytes"] == (here / "direct.bin").stat().st_size
    assert (here / "direct.bin").read_bytes() == (here / "small.bin").read_bytes()
    assert found["given_bytes"] == (here / "proof.bin").stat().st_size and found["compress_seconds"] > 0
    stages, rounds = found["report"]["stages"], {one["round"] for one in found["report"]["rounds"]}
    assert {"prepare", "prove", "layer 1: prepare", "layer 1: prove", "verify", "write"} <= stages.keys()
    assert {"quotient", "layer 1: quotient"} <= rounds
    both, trace = (json.loads((here / name).read_text()) for name in ("both.json", "trace"))
    assert "layer" not in both and [layer["layer"] for layer in both["layers"]] == [1]
    assert both["tasks"] and both["layers"][0]["tasks"] and both["sizes"] != both["layers"][0]["sizes"]
    assert {event["pid"] for event in trace["traceEvents"]} == {0, 1}
    assert (here / "both.html").read_text().count("<h2>Time line</h2>") == 2


def test_prove_makes_several_layers(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proved = ["prove", FIB, "--input", "input", *LEVEL, "--rate", "8", "-o", "deep.bin", "--compress", "4,8"]
    found = said([*proved, "--report", "--report", "deep.json"], capsys)
    assert [layer.parameters.log_blowup for layer in CompressedProof.load("deep.bin").layers] == [2, 3]
    assert main(["verify", "deep.bin", "guest.vk", "--security", "20"]) == OK
    capsys.readouterr()
    assert found["given_bytes"] == (here / "proof.bin").stat().st_size
    assert {"prove", "layer 1: prove", "layer 2: prove"} <= found["report"]["stages"].keys()
    assert [layer["layer"] for layer in json.loads((here / "deep.json").read_text())["layers"]] == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["compress", str(ROOT / "tests/vectors/proofs/numbers-keccak.bin"), FIB], USAGE, "--hash blake3"),
        (["compress", "proof.bin", FIB], FAILED, "not valid: the proof has"),
        (["compress", "missing.bin"], USAGE, "missing.bin"),
        (["prove", FIB, "--compress", "--hash", "keccak"], USAGE, "use --hash blake3"),
        (["export", "small.bin", FIB, "-o", "exported"], FAILED, "a compressed proof"),
    ],
)
def test_what_cannot_be_done_is_said(
    here: Path, arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    assert words in capsys.readouterr().err


def test_defaults_of_layers() -> None:
    compress = parser().parse_args(["compress", "proof.bin", FIB])
    prove = parser().parse_args(["prove", FIB, "--compress"])
    assert (compress.rate, prove.compress) == (LAYER_RATE, FAST_WORD)


def test_prove_refuses_tables_before_their_proof(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "zero.py").write_text(WITHOUT_LOOKUPS)
    monkeypatch.setattr(job_module, "make", lambda *given, **named: pytest.fail("a proof is made"))
    assert main(["prove", "zero.py", "--compress", "-o", "zero.bin"]) == USAGE
    assert "zero.py: no table has lookups" in capsys.readouterr().err and not (here / "zero.bin").exists()


def test_the_rate_of_prove_is_no_program(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["prove", "--compress", FIB])
    assert "put PROGRAM first" in " ".join(capsys.readouterr().err.split())
