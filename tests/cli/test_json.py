"""``--json``: one object on stdout with the contents of the text report."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from graphprover.cli.main import main
from graphprover.proof.proof import Proof
from graphprover.protocol.parameters import DEFAULT_HASH
from graphprover.runtime.errors import FAILED, OK, USAGE
from graphprover.vm.program.elf import load_elf, program_hash
from graphprover.vm.program.io import OUTPUT_BASE
from graphprover.vm.program.isa import Instruction, Op
from graphprover.vm.statement.claim import Claim
from tests.vm.assemble import CODE, Segment, X, elf, leave, li, words

SECURITY = ["--security", "60"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Proofs of a packaged example and of a guest that ends with exit code 3."""
    folder = tmp_path_factory.mktemp("json")
    (folder / "guest.elf").write_bytes(elf([Segment(CODE, words(leave(3)), X)]))
    assert main(["prove", "examples/fibonacci", *SECURITY, "-o", str(folder / "tables.bin")]) == OK
    guest = [str(folder / "guest.elf"), *SECURITY, "--exit-code", "3", "--commit-input"]
    assert main(["prove", *guest, "-o", str(folder / "guest.bin")]) == OK
    return folder


def said(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = OK) -> dict[str, Any]:
    """Run a command and return the printed object; an error must also be on stderr."""
    assert main([*arguments, "--json"]) == code
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    found = json.loads(out)
    assert err == (f"graphprover: {found['error']}\n" if "error" in found else "")
    return found


def test_verify(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(["verify", "tables.bin", *SECURITY], capsys)
    bits = found.pop("security_bits")
    by = found.pop("security_bits_by")
    assert 60 <= bits < 80 and by["unique"] < by["johnson"] == bits
    says = {"steps": "1023", "result": "14981406437015420321"}
    shown = {"program": "examples/fibonacci", "program_hash": None, "says": says, "shards": 1, "mock": False}
    assert found == {"valid": True} | shown

    found = said(["verify", "guest.bin", "guest.elf", "--exit-code", "any", *SECURITY], capsys)
    own = program_hash(load_elf((here / "guest.elf").read_bytes())).hex()
    assert (found["valid"], found["program"], found["program_hash"]) == (True, "guest.elf", own)
    nothing = {"hex": "", "bytes": 0}
    assert found["says"] == {"output": nothing, "exit_code": 3, "cycles": 3, "input": nothing}


def test_bytes_are_hex_with_their_length() -> None:
    found = Claim(b"\0hi", 0, 5, bytes(32), None).to_json()
    assert found == {"output": {"hex": "006869", "bytes": 3}, "exit_code": 0, "cycles": 5, "input": None}


def test_what_is_not_valid(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A proof that misses an expectation is not valid; without a verification there is no verdict."""
    (here / "damaged.bin").write_bytes((here / "tables.bin").read_bytes()[:-1])
    for arguments, rule, cause in (
        (["damaged.bin"], "proof.truncated", "not valid"),
        (["tables.bin"], "security.level", "128 were asked for"),
        (["tables.bin", *SECURITY, "--expect", "steps=1024"], "asked.claim", "steps is 1023"),
        (["guest.bin", "guest.elf", *SECURITY], "asked.exit_code", "exit code 3, not 0"),
    ):
        found = said(["verify", *arguments], capsys, FAILED)
        assert found == {"valid": False, "rule": rule, "error": found["error"]} and cause in found["error"]
    assert said(["verify", "none.bin"], capsys, USAGE).keys() == {"error"}
    assert said(["prove", "guest.elf", "-o", "none.bin"], capsys, FAILED).keys() == {"error"}


def test_prove(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(["prove", "examples/fibonacci", *SECURITY, "-o", "again.bin", "--report"], capsys)
    proof = (here / "again.bin").read_bytes()
    assert proof == (here / "tables.bin").read_bytes()
    assert found["proof"] == {"file": "again.bin", "bytes": len(proof)}
    verified = said(["verify", "again.bin", *SECURITY], capsys)
    assert found.pop("seconds") > found.pop("compile_seconds") >= 0
    assert [found.pop(key) for key in ("cycles", "cycles_per_second", "misaligned_accesses")] == [None] * 3
    assert verified == {"valid": True} | {key: found[key] for key in found if key not in ("proof", "report")}
    report = found["report"]
    assert {"imports", "prepare", "prove", "verify", "write"} <= report["stages"].keys()
    assert all(seconds >= 0 for seconds in report["stages"].values())
    assert {"quotient", "opening"} <= {row["round"] for row in report["rounds"]}
    assert report["peak_memory_bytes"] > 1 << 20


def test_inspect_a_proof(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(["inspect", "tables.bin"], capsys)
    proof = Proof.from_bytes((here / "tables.bin").read_bytes())
    assert found["program"] == "examples/fibonacci" and found["tables"] == [{"log_rows": 10, "public_values": 2}]
    assert found["parameters"]["num_queries"] == proof.parameters.num_queries
    assert sum(found["sizes"].values()) == len(proof.to_bytes())
    security = found["security"]
    assert security["bits"] == min(row["bits"] for row in security["rounds"] if row["bits"] is not None)
    assert security["limited_by"] in {row["round"] for row in security["rounds"]}
    assert main(["inspect", "tables.bin"]) == OK
    text = capsys.readouterr().out
    assert f"{security['bits']:.1f} bits, proven by {security['regime']}" in text
    assert all(f"{size:,}" in text for size in found["sizes"].values())

    unknown = said(["inspect", "guest.bin"], capsys)
    assert unknown["sizes"] is None and unknown["security"] is None and len(unknown["tables"]) > 5


def test_inspect_a_program(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(["inspect", "examples/memory"], capsys)
    reads = found["tables"][0]
    expected = {"table": "reads", "preprocessed": 0, "public_values": 2, "messages": 1, "lookups": 1}
    assert {key: reads[key] for key in expected} == expected
    assert found["security"]["bits"] >= 128 and found["parameters"]["log_blowup"] == 3


def test_plan(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(["plan", "examples/memory"], capsys)
    keys = {task["key"] for task in found["tasks"]}
    assert all(set(task["needs"]) <= keys for task in found["tasks"])
    for cost in ("multiplications", DEFAULT_HASH, "kept"):
        assert found["total"][cost] == sum(task[cost] for task in found["tasks"]) > 0
    assert found["peak_bytes"] > 0 and found["threads"] > 0 and found["committed_cells"] is None
    gpu = said(["plan", "examples/keccak", "--device", "cuda:3"], capsys)
    assert (gpu["device"], gpu["threads"], gpu["batch_rows"]) == ("cuda", 1, 1 << 18)
    cpu = said(["plan", "examples/keccak", "--device", "cpu"], capsys)
    assert (cpu["device"], cpu["batch_rows"]) == ("cpu", 1 << 8) and len(cpu["tasks"]) > len(gpu["tasks"])
    guest = said(["plan", "guest.elf"], capsys)
    assert (guest["cycles"], guest["misaligned_accesses"]) == (3, 0)
    assert found["cycles"] is found["misaligned_accesses"] is None
    cells = guest["committed_cells"]
    assert cells["common"] > 0 and sum(cells.values()) > 1 << 13
    assert guest["cost"] == said(["plan", "guest.elf", "--rate", "8"], capsys)["cost"] and found["cost"] is None


def test_setup(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(["setup", "guest.elf", "-o", "guest.vk"], capsys)
    key = said(["inspect", "guest.vk", "guest.elf"], capsys)
    assert found.pop("key") == {"file": "guest.vk", "bytes": (here / "guest.vk").stat().st_size}
    assert found == key


def test_execute(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = said(["execute", "guest.elf"], capsys, FAILED)
    assert found.pop("memory_bytes") % 4096 == 0
    assert found.pop("cycles_per_second") == pytest.approx(3 / found.pop("seconds"))
    assert found == {
        "program": "guest.elf",
        "instructions": {"addi": 2, "ecall": 1},
        "cycles": 3,
        "cycles_in_blocks": 0,
        "misaligned_accesses": 0,
        "random_seed": None,
        "output": {"hex": "", "bytes": 0},
        "exit_code": 3,
    }
    assert said(["execute", "guest.elf", "--cells"], capsys, FAILED)["committed_cells"]["common"] > 0
    cost = said(["execute", "guest.elf", "--cost"], capsys, FAILED)["cost"]
    assert (cost["name"], cost["version"]) == ("graphprover cost", 2)
    assert cost["value"] == sum(one["count"] * one["weight"] for one in cost["classes"])
    assert [one["name"] for one in cost["classes"]] == ["cells", "cycles", "words", "tables", "proof"]
    assert "cycle limit" in said(["execute", "guest.elf", "--max-cycles", "1"], capsys, FAILED)["error"]


def test_a_proof_in_shards(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "examples/memory", "--shards", "2", "-o", "shards.bin", "--device", "cpu"]) == OK
    capsys.readouterr()
    assert said(["verify", "shards.bin"], capsys)["shards"] == 2
    found = said(["inspect", "shards.bin"], capsys)
    assert [table["shard"] for table in found["tables"]] == [0, 0, 1, 1]
    assert sum(found["sizes"].values()) == Path("shards.bin").stat().st_size
    assert found["security"]["bits"] == 128
    assert main(["inspect", "shards.bin"]) == OK
    assert "shard  table  rows" in capsys.readouterr().out


MISALIGNED = 3  # loads of a guest


@pytest.fixture
def misaligned(here: Path) -> str:
    loads = [*li(5, OUTPUT_BASE - 4096), *(Instruction(Op.LD, 6, 5, imm=imm) for imm in (0, 1, 4, 2047, 8))]
    (here / "misaligned.elf").write_bytes(elf([Segment(CODE, words([*loads, *leave()]), X)]))
    return "misaligned.elf"


def test_misaligned_accesses_are_counted(misaligned: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Count them in each command that runs a guest, in JSON and in text, and in the files of a report."""
    cycles = said(["execute", misaligned], capsys)["cycles"]
    for command in (["execute"], ["inspect"], ["plan"], ["plan", "--shards", "2"], ["prove", *SECURITY]):
        found = said([command[0], misaligned, *command[1:]], capsys)
        assert (found["misaligned_accesses"], found["cycles"]) == (MISALIGNED, cycles)
        assert main([command[0], misaligned, *command[1:]]) == OK
        text = capsys.readouterr().out
        if command[0] in ("execute", "prove"):
            assert text.startswith("output ")
            assert re.search(rf"^cycles +{cycles:,}$", text, re.MULTILINE)
            assert re.search(r"^speed +[\d,]+ cycles/s$", text, re.MULTILINE)
            assert re.search(r"^misaligned +3 loads and stores$", text, re.MULTILINE)
        else:
            assert text.startswith(f"{cycles:,} cycles, 3 misaligned loads and stores\n")
    found = said(["prove", misaligned, *SECURITY, "--report", "report.json"], capsys)
    assert found["cycles_per_second"] == pytest.approx(cycles / (found["seconds"] - found["compile_seconds"]))
    run = json.loads(Path("report.json").read_text())["run"]
    assert (run["cycles"], run["misaligned_accesses"]) == (cycles, MISALIGNED) and run["cycles_per_second"] > 0
    workers = ["--executor", "processes", "--workers", "1"]
    assert main(["prove", misaligned, *SECURITY, *workers, "--json"]) == OK
    found = json.loads(capsys.readouterr().out)
    assert found["misaligned_accesses"] == MISALIGNED and found["cycles_per_second"] > 0
    Path("jobs.toml").write_text(f'[[job]]\nprogram = "{misaligned}"\nsecurity = 60\noutput = "{{name}}.bin"\n')
    for options in ([], ["--resume"], workers):
        assert main(["batch", "jobs.toml", *options, "--json"]) == OK
        (job,) = json.loads(capsys.readouterr().out)["results"]
        assert job["misaligned_accesses"] == MISALIGNED
