"""The command line: output, streams and exit codes."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import pytest

from graphprover import Proof
from graphprover.__main__ import INTERRUPTED, TERMINATED
from graphprover.cli.main import main
from graphprover.graphs.planner.pace import PROOF_BESIDE_PACE
from graphprover.jobs import job as job_module
from graphprover.jobs.opening import open_program
from graphprover.protocol.parameters import HASH_NAMES, RATES
from graphprover.runtime import files
from graphprover.runtime.errors import FAILED, OK, USAGE
from graphprover.runtime.settings import MEMORY_LIMIT

PROGRAM = """
import numpy as np
from graphprover import Air


class Doubling(Air):
    columns = ("value",)
    public_values = ("first", "last")

    def define(self, t):
        t.first_row(t.value - t.public.first)
        t.transition(t.next.value - t.value - t.value)
        t.last_row(t.value - t.public.last)


def tables():
    return [Doubling()]


def prove_inputs(data):
    if data == b"":
        raise ValueError("an empty file has no first byte")
    if data == b"none":
        return []
    first = 1 if data is None else data[0]
    trace = np.array([[first << row for row in range(8)]], dtype=np.uint64)
    if data == b"wrong":
        trace[0, 3] += 1
    return [(trace, [first, first << 7])]


def describe(public_values):
    (first, last), = public_values
    return {"first": str(first), "last": str(last)}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a working directory with a program."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "doubling.py").write_text(PROGRAM)
    return tmp_path


@pytest.fixture(scope="module")
def proof_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a proof of the program, made once."""
    folder = tmp_path_factory.mktemp("proof")
    (folder / "doubling.py").write_text(PROGRAM)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["prove", "doubling.py", "-o", "made.bin"]) == OK
    return (folder / "made.bin").read_bytes()


@pytest.fixture
def proof(proof_bytes: bytes, folder: Path) -> Path:
    path = folder / "proof.bin"
    path.write_bytes(proof_bytes)
    return path


def fails(arguments: Sequence[str], code: int, capsys: pytest.CaptureFixture[str], *causes: str) -> None:
    """Check that the command exits with `code` and one line on stderr that contains `causes`."""
    assert main(arguments) == code
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.startswith("graphprover: ")
    for cause in causes:
        assert cause in error


def test_prove_and_verify(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "three").write_bytes(b"\3")
    assert main(["prove", "doubling.py", "--input", "three", "-o", "three.bin", "--rate", "8", "--report"]) == OK
    out, err = capsys.readouterr()
    assert "first     3\nlast      384\n" in out and "three.bin" in out and not err
    for word in ("trace", "prove", "verify", "write", "extend_main", "quotient", "fri_fold", "peak memory"):
        assert word in out

    assert main(["verify", "three.bin", "doubling.py"]) == OK
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[:3] == ["program   doubling.py", "first     3", "last      384"] and lines[-1] == "valid" and not err
    assert lines[3] == "security  128.0 bits (128.0 by Johnson, 80.6 by unique decoding)"


def test_the_label_is_the_name_of_the_program(proof_bytes: bytes, folder: Path) -> None:
    """A proof has the same bytes in every folder, and does not contain the folder."""
    assert Proof.from_bytes(proof_bytes).label == "doubling.py"
    (folder / "deep" / "er").mkdir(parents=True)
    shutil.copy(folder / "doubling.py", folder / "deep" / "er")
    for path in ("deep/er/doubling.py", "./deep/../doubling.py", str(folder / "doubling.py")):
        assert main(["prove", path]) == OK
        assert (folder / "proof.bin").read_bytes() == proof_bytes


def test_a_folder_is_labelled_by_its_name_from_inside_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "program").mkdir()
    (folder / "doubling.py").rename(folder / "program" / "__init__.py")
    assert open_program("program").label == open_program("./program/").label == "program"
    monkeypatch.chdir(folder / "program")
    assert open_program(".").label == "program"


def test_every_executor_writes_the_same_bytes(proof_bytes: bytes, folder: Path) -> None:
    assert main(["prove", "doubling.py", "--executor", "sync"]) == OK
    assert (folder / "proof.bin").read_bytes() == proof_bytes


def test_no_proof_of_a_trace_that_does_not_hold(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong").write_bytes(b"wrong")
    fails(
        ["prove", "doubling.py", "--input", "wrong"],
        FAILED,
        capsys,
        "doubling.py: not proven",
        "graphprover check doubling.py --input wrong",
    )
    assert not (folder / "proof.bin").exists()


def test_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "doubling.py"]) == OK
    assert "1 tables satisfy their 3 constraints" in capsys.readouterr().out
    (folder / "wrong").write_bytes(b"wrong")
    assert main(["check", "doubling.py", "--input", "wrong"]) == FAILED
    out = capsys.readouterr().out
    assert "row 2" in out and "next value" in out


def test_what_nothing_constrains_is_told(folder: Path) -> None:
    """The warning is on stderr, and the check still passes."""
    (folder / "doubling.py").write_text(PROGRAM.replace("        t.last_row(t.value - t.public.last)\n", ""))
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    for command in ("check", "prove"):
        done = subprocess.run(
            [sys.executable, "-m", "graphprover", command, "doubling.py"],
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode == OK and done.stdout
        expected = "graphprover: warning: table doubling: no constraint and no message reads public value last\n"
        assert done.stderr == expected


def test_a_tampered_proof(proof: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(proof.read_bytes())
    data[len(data) // 2] ^= 1
    proof.write_bytes(data)
    fails(["verify", "proof.bin", "doubling.py"], FAILED, capsys, "proof.bin: not valid: ")


def test_a_proof_of_something_else(proof: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fails(["verify", "proof.bin", "examples/memory"], FAILED, capsys, "proof.bin: not valid: ", "tables")
    fails(["verify", "doubling.py", "doubling.py"], USAGE, capsys, "doubling.py: a .py file, not a proof")
    Path("other").write_text(PROGRAM)
    fails(["verify", "other", "doubling.py"], FAILED, capsys, "other: not valid: not a graphprover proof")


def test_a_proof_cannot_choose_the_code_that_verifies_it(
    proof: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "doubling.py").write_text("open('ran', 'w')\n" + PROGRAM)
    fails(["verify", "proof.bin"], USAGE, capsys, "'doubling.py'", "graphprover verify PROOF PROGRAM")
    assert main(["inspect", "proof.bin"]) == OK
    assert not (folder / "ran").exists()


def test_a_packaged_example_is_found_by_the_name_in_its_proof(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "examples/fibonacci"]) == OK
    capsys.readouterr()
    assert main(["verify", "proof.bin"]) == OK
    assert "steps     1023" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["prove", "verify", "inspect", "plan", "check"])
def test_help_says_that_a_program_is_code(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == OK
    assert "CODE THAT RUNS with your rights" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", ["submit", "setup", "execute"])
def test_help_offers_only_what_a_command_takes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    said = capsys.readouterr().out
    assert "GUEST.ELF" in said and "examples/keccak" not in said and ".py file" not in said


def test_a_packaged_example_is_no_folder_of_the_same_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The working directory cannot replace a packaged example; a path with ``./`` names its own code."""
    own = folder / "examples" / "fibonacci"
    own.mkdir(parents=True)
    (own / "__init__.py").write_text("raise RuntimeError('not the packaged one')")
    for name in ("examples/fibonacci", "examples/fibonacci/"):
        assert main(["prove", name]) == OK
        assert main(["verify", "proof.bin", name]) == OK
        assert main(["inspect", name]) == OK
    assert "program   examples/fibonacci\n" in capsys.readouterr().out
    for name in ("./examples/fibonacci", str(own), "examples/../examples/fibonacci"):
        fails(
            ["verify", "proof.bin", name],
            USAGE,
            capsys,
            f"{Path(name) / '__init__.py'}:1: cannot be imported: not the packaged one",
        )
    (own / "__init__.py").write_text(PROGRAM)
    assert main(["prove", "./examples/fibonacci", "-o", "own.bin"]) == OK
    fails(["verify", "own.bin"], USAGE, capsys, "the proof names 'fibonacci', which is no packaged example")
    assert main(["verify", "own.bin", "./examples/fibonacci"]) == OK


def test_security_is_demanded(proof: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "doubling.py", "--security", "60", "-o", "weak.bin"]) == OK
    capsys.readouterr()
    fails(["verify", "weak.bin", "doubling.py"], FAILED, capsys, "weak.bin", "provable bits", "128")
    assert main(["verify", "weak.bin", "doubling.py", "--security", "60"]) == OK
    for option in ("0", "nan", "-3", "inf", "many"):
        with pytest.raises(SystemExit) as stop:
            main(["verify", "weak.bin", "doubling.py", "--security", option])
        assert stop.value.code == USAGE
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["prove", "doubling.py", "--security", "200"])
    assert "argument --security: '200' is not a number of bits, at most 128" in capsys.readouterr().err


def test_security_by_unique_decoding_alone(proof: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unique = ["--proximity", "unique"]
    fails(["verify", "proof.bin", "doubling.py", *unique], FAILED, capsys, "80.6 provable bits by unique decoding")
    assert main(["verify", "proof.bin", "doubling.py", *unique, "--security", "80"]) == OK
    assert main(["prove", "doubling.py", *unique, "-o", "unique.bin"]) == OK
    assert main(["verify", "unique.bin", "doubling.py", *unique]) == OK
    assert main(["inspect", "doubling.py", *unique]) == OK
    assert main(["plan", "doubling.py", *unique]) == OK
    out = capsys.readouterr().out
    assert "128.0 by unique decoding)" in out and re.search(r"num_queries +131\n", out)
    for command in ("prove", "verify", "inspect", "plan"):
        with pytest.raises(SystemExit) as stop:
            main([command, "doubling.py", "--proximity", "capacity"])
        assert stop.value.code == USAGE


def test_expectations(proof: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verify = ["verify", "proof.bin", "doubling.py"]
    assert main([*verify, "--expect", "first=1", "--expect", "last=128"]) == OK
    capsys.readouterr()
    fails([*verify, "--expect", "first=1", "--expect", "last=129"], FAILED, capsys, "last is 128, not 129")
    fails([*verify, "--expect", "sum=1"], USAGE, capsys, "'first', 'last'")


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["prove", "nothing.py"], "nothing.py: no such file"),
        (["prove", "examples/nothing"], "examples/nothing: no such file or folder, nor one of the examples"),
        (["prove", "empty"], "empty: no program, but an empty file"),
        (["prove", "none"], "none: no program, but text"),
        (["prove", "."], ".: a folder without an __init__.py: take an ELF file for RV64IM"),
        (["prove", "broken.py"], "broken.py:1: cannot be imported: "),
        (["prove", "lacks.py"], "lacks.py:2: cannot be imported: No module named 'nowhere'"),
        (["prove", "doubling.py", "--input", "none"], "doubling.py: prove_inputs() gives 0 traces for 1 tables"),
        (["prove", "half.py"], "half.py: no function prove_inputs()"),
        (["prove", "doubling.py", "--input", "missing"], "missing: No such file"),
        (["prove", "doubling.py", "--input", "."], ".: Is a directory"),
        (["prove", "doubling.py", "--input", "empty"], "doubling.py: an empty file has no first byte"),
        (["prove", "doubling.py", "-o", "missing/proof.bin"], "missing/proof.bin: cannot write"),
        (["prove", "doubling.py", "-o", "."], ".: is a folder: name a file in it"),
        (["verify", "missing"], "missing: No such file"),
        (["inspect", "missing"], "missing: no such file"),
        (["inspect", "doubling.py", "doubling.py"], "doubling.py: not a proof"),
        (["plan", "doubling.py", "--svg", "missing/plan.svg"], "missing/plan.svg: cannot write"),
    ],
)
def test_usage_errors(arguments: Sequence[str], cause: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty").touch()
    (folder / "broken.py").write_text("def tables(:\n")
    (folder / "lacks.py").write_text("\nimport nowhere\n")
    (folder / "none").write_bytes(b"none")
    (folder / "half.py").write_text("def tables(): return []\n")
    fails(arguments, USAGE, capsys, cause)


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["prove"], "required: PROGRAM"),
        (["prove", "p", "--executor", "no"], "'no' is neither auto, sync, threads, processes, cuda, tcp://ADDRESS nor"),
        (["prove", "p", "--executor", "no.json"], "no.json: no such file; `dask scheduler --scheduler-file no.json`"),
        (["prove", "p", "--rate", "3"], "argument --rate: '3' is not 2, 4, 8, 16, 32 or 64"),
        (["prove", "p", "--rates", "3"], "unrecognized arguments: --rates 3"),
        (["prove", "p", "--exitcode=1"], "unrecognized arguments: --exitcode=1: did you mean --exit-code?"),
        (["--rates", "prove", "p"], "unrecognized arguments: --rates"),
        (["prove", "p", "data"], "unrecognized arguments: data (an input file is given as --input data)"),
        (["proof", "p"], "'proof' is no command: did you mean prove?"),
        (["help", "proof"], "'proof' is no command: did you mean prove?"),
        (["prove", "p", "--max-cycles", "0"], "argument --max-cycles: '0' is not a number of cycles below 2^32"),
        (["prove", "p", "--max-cycles", str(1 << 32)], "--max-cycles: '4294967296' is not a number of cycles below"),
        (["prove", "p", "--max-memory", "-3"], "argument --max-memory: '-3' is not a number of MiB"),
        (
            ["prove", "p", "--compress", ",".join(["2"] * 17)],
            "is not fast, small, a time as 2.5s, N of a rate 1/N, or up to 16",
        ),
        (["prove", "p", "--hash", "md5"], "argument --hash: 'md5' is not keccak or blake3"),
        (["prove", "p", "--pow-bits", "31"], "argument --pow-bits: '31' is not a number of bits from 0 to 30"),
        (["prove", "--small", "p"], "argument --small: 'p' is not a positive number of seconds: put PROGRAM first"),
        (
            ["prove", "p", "--small", "0"],
            "argument --small: '0' is not a positive number of seconds: put PROGRAM first",
        ),
        (["prove", "p", "--small", "--fast"], "argument --fast: not allowed with argument --small"),
        (["prove", "p", "--rate", "8", "--rate", "8"], "argument --rate: given twice"),
        (["prove", "p", "-o", "a", "--output", "b"], "argument -o/--output: given twice"),
        (["prove", "p", "--dashboard", "--dashboard"], "argument --dashboard: given twice"),
        (["prove", "p", "--input", "two\nlines", "--rate", "a\nb"], "argument --rate: 'a\\nb' is not 2, 4"),
    ],
)
def test_argument_errors(arguments: Sequence[str], cause: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error is one line that names the help, without the usage."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    error = capsys.readouterr().err
    assert stop.value.code == USAGE and cause in error and error.count("\n") == 1
    command = " ".join(["graphprover", *arguments[: arguments[:1] == ["prove"]]])
    assert error.startswith("graphprover: ") and error.endswith(f"; see `{command} --help`\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["prove"],
        ["prove", "p", "--input"],
        ["prove", "p", "-o"],
        ["prove", "p", "--report"],
        ["prove", "p", "--trace"],
        ["batch"],
        ["batch", "jobs.toml", "--summary"],
        ["verify"],
        ["verify", "proof.bin"],
        ["verify", "proof.bin", "--input"],
        ["verify", "proof.bin", "--expect-output"],
        ["verify", "proof.bin", "--output"],
        ["setup"],
        ["setup", "p", "-o"],
        ["inspect"],
        ["inspect", "proof.bin"],
        ["export"],
        ["export", "proof.bin"],
        ["export", "proof.bin", "-o"],
        ["plan", "p", "--svg"],
        ["plan", "p", "--html"],
        ["execute"],
        ["execute", "p", "--output"],
        ["execute", "p", "--profile"],
        ["new-guest"],
        ["warm"],
    ],
)
def test_an_address_is_no_file(arguments: Sequence[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A URL as a path would lose a slash, and name a local folder."""
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "s3://bucket/data.json"])
    assert stop.value.code == USAGE
    assert "'s3://bucket/data.json': URLs (s3://) are not supported: copy the file" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["doubling.py"]


def test_what_takes_several_values_is_given_several_times(proof: Path) -> None:
    for _ in range(2):  # parsers keep no state between command lines
        assert main(["verify", "proof.bin", "doubling.py", "--expect", "first=1", "--expect", "last=128"]) == OK


def test_an_error_in_a_program_is_one_line_unless_debugging(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "doubling.py").write_text(PROGRAM.replace("t.next.value", "t.next.valu"))
    line = PROGRAM[: PROGRAM.index("t.next.value")].count("\n") + 1
    fails(["check", "doubling.py"], FAILED, capsys, f"graphprover: doubling.py:{line}: 'valu' is not among the columns")
    monkeypatch.setenv("GRAPHPROVER_DEBUG", "1")
    with pytest.raises(AttributeError):
        main(["check", "doubling.py"])


@pytest.mark.parametrize("command", ["check", "prove", "plan", "inspect"])
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("{}['x']", "no key 'x'"),
        ("1 // 0", "integer division or modulo by zero"),
        ("int('x')", "invalid literal for int() with base 10: 'x'"),
        ("open('none')", "none: No such file or directory"),
        ("[][\n1\n]", "list index out of range"),
        ("exec('assert 0')", "AssertionError"),
    ],
)
def test_an_error_in_a_program_names_its_line(
    command: str, wrong: str, words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line is in the program's file that called the failing function, also for a folder."""
    own = folder / "deep" / "program"
    own.mkdir(parents=True)
    (own / "__init__.py").write_text("from .inner import describe, prove_inputs, tables\n")
    (own / "inner.py").write_text(PROGRAM.replace("        t.first_row(", f"        {wrong}\n        t.first_row(", 1))
    line = PROGRAM[: PROGRAM.index("        t.first_row(")].count("\n") + 1
    fails([command, "deep/program/"], FAILED, capsys, f"graphprover: deep/program/inner.py:{line}: {words}\n")


def test_what_is_read_as_a_proof_is_bounded(
    proof: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_PROOF_BYTES", 1 << 10)
    fails(["verify", "proof.bin", "doubling.py"], USAGE, capsys, "proof.bin: more than")
    fails(["verify", "/dev/zero", "doubling.py"], USAGE, capsys, "/dev/zero: more than")


def test_inspect_a_proof(proof: Path, proof_bytes: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "proof.bin", "doubling.py"]) == OK
    out = capsys.readouterr().out
    assert out.startswith("program  'doubling.py'\n") and "bits, proven by" in out.splitlines()[-1]
    parts = out.partition("\nsizes\n")[2].partition("\nsecurity\n")[0].splitlines()[1:]
    sizes = [int(line.split("  ")[-2].replace(",", "")) for line in parts if line.endswith("%")]
    assert len(sizes) == len(parts) - 1 > 5 and sum(sizes) == len(proof_bytes)


def test_inspect_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "examples/memory", "--rate", "4"]) == OK
    out = capsys.readouterr().out
    assert "reads " in out and "log_blowup" in out and "bits, proven by" in out


def test_a_label_cannot_drive_the_terminal(proof: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = proof.read_bytes().replace(b"doubling.py", b"\x1b[31m\nvalid")
    proof.write_bytes(data)
    assert main(["inspect", "proof.bin"]) == OK
    assert "\x1b" not in capsys.readouterr().out
    fails(["verify", "proof.bin"], USAGE, capsys)


def test_plan(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "examples/memory", "--svg", "plan.svg", "--html", "plan.html"]) == OK
    shown = capsys.readouterr().out
    assert shown.index("default rate: ") < shown.index("depends on")
    assert "quotient" in shown and re.search(r"^  1/8 +\d+ +[\d.]+ KiB", shown, re.M)
    assert (folder / "plan.svg").read_text().startswith("<svg")
    assert (folder / "plan.html").read_text().startswith("<!doctype html>")


def test_a_plan_compares_the_rates(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {}
    for rate in RATES:
        assert main(["prove", "examples/memory", "--rate", str(rate), "-o", f"{rate}.bin"]) == OK
        sizes[rate] = (folder / f"{rate}.bin").stat().st_size
    assert main(["prove", "examples/memory", "--fast", "-o", "proof.bin"]) == OK
    assert (folder / "proof.bin").read_bytes() == (folder / "2.bin").read_bytes()
    capsys.readouterr()
    assert main(["plan", "examples/memory", "--json"]) == OK
    found = json.loads(capsys.readouterr().out)
    rates = {at["rate"]: at for at in found["rates"]}
    assert [*rates] == [*RATES] and all(at["seconds"] > 0 and at["fits"] is True for at in rates.values())
    for at in rates.values():
        assert at["expected_seconds"] == pytest.approx(at["seconds"] * found["pace"] * PROOF_BESIDE_PACE)
    assert found["default_rate"] == 8
    assert main(["plan", "examples/memory", "--device", "cuda", "--json"]) == OK
    on_gpu = json.loads(capsys.readouterr().out)  # no expected time, because the host was not measured
    assert on_gpu["pace"] is None and {at["expected_seconds"] for at in on_gpu["rates"]} == {None}
    for rate, size in sizes.items():
        assert abs(rates[rate]["bytes"] - size) < 0.06 * size
    with pytest.raises(SystemExit):
        main(["plan", "examples/memory", "--small", "--rate", "4"])


def test_a_plan_marks_what_does_not_fit_the_memory(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "examples/memory", "--device", "cpu", "--json"]) == OK
    peaks = {at["rate"]: at["peak_bytes"] for at in json.loads(capsys.readouterr().out)["rates"]}
    with dask.config.set({MEMORY_LIMIT: (peaks[16] + peaks[32]) // 2}):
        assert main(["plan", "examples/memory", "--device", "cpu", "--json"]) == OK
        found = json.loads(capsys.readouterr().out)
        assert {at["rate"]: at["fits"] for at in found["rates"]} == {rate: rate <= 16 for rate in RATES}
        assert found["memory_bytes"] == (peaks[16] + peaks[32]) // 2
        assert main(["plan", "examples/memory", "--device", "cpu"]) == OK
        shown = capsys.readouterr().out
        assert [line.split()[0] for line in shown.splitlines() if "(does not fit)" in line] == ["1/32", "1/64"]
        fails(["prove", "examples/memory", "--rate", "64", "--device", "cpu"], FAILED, capsys, "take a higher rate")
        assert not (folder / "proof.bin").exists()


def test_a_plan_tells_the_time_of_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    means = []
    for options in ([], ["--pow-bits", "24"]):
        assert main(["plan", "examples/memory", "--device", "cuda", *options]) == OK
        assert re.search(r"proof of work: 2\^2[04] hashes, .* on average; one in twenty", capsys.readouterr().out)
        assert main(["plan", "examples/memory", "--device", "cuda", *options, "--json"]) == OK
        means.append(json.loads(capsys.readouterr().out)["proof_of_work"])
    assert [work["bits"] for work in means] == [20, 24]
    assert means[1]["mean_seconds"] == pytest.approx(16 * means[0]["mean_seconds"])


@pytest.mark.parametrize("hash", HASH_NAMES)
def test_hash_and_work_are_of_the_proof(folder: Path, hash: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--hash", hash, "--pow-bits", "7", "--rate", "16"]
    assert main(["prove", "examples/memory", *options]) == main(["verify", "proof.bin"]) == OK
    capsys.readouterr()
    for subject in (["proof.bin"], ["examples/memory", *options]):
        assert main(["inspect", *subject, "--json"]) == OK
        found = json.loads(capsys.readouterr().out)["parameters"]
        assert (found["hash"], found["query_pow_bits"], found["log_blowup"]) == (hash, 7, 4)
    assert main(["inspect", "proof.bin"]) == OK
    assert re.search(rf"^ *hash +{hash}$", capsys.readouterr().out, re.M)


def test_the_smallest_proof_within_a_time(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "examples/memory", "--fast", "-o", "fast.bin"]) == OK
    assert main(["prove", "examples/memory", "--small", "9", "--device", "cpu", "-o", "small.bin"]) == OK
    assert main(["verify", "small.bin"]) == OK
    capsys.readouterr()
    assert main(["inspect", "small.bin", "--json"]) == OK
    found = json.loads(capsys.readouterr().out)["parameters"]
    assert found["log_blowup"] > 3 and found["query_pow_bits"] > 20
    assert (folder / "small.bin").stat().st_size < 0.7 * (folder / "fast.bin").stat().st_size
    for command in ("inspect", "plan"):
        assert main([command, "examples/memory", "--small", "0.000001", "--json"]) == OK
        found = json.loads(capsys.readouterr().out)
    assert found["proof_of_work"]["bits"] == 20
    fails(["plan", "examples/memory", "--small", "1", "--device", "cuda:77"], USAGE, capsys, "--small: device cuda:77")


def test_plan_checks_traces_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = "import graphprover.prover.prepare as prepared\ncheck, checked = prepared._columns, []\n"
    script += "prepared._columns = lambda table, air: (checked.append(air.name), check(table, air))[1]\n"
    script += "import atexit\natexit.register(lambda: print(checked))"
    done = process(folder, script, "plan", "examples/memory", "--device", "cpu")
    assert done.returncode == OK and done.stdout.endswith("['reads', 'memory']\n"), done.stderr
    fails(["plan", "examples/memory", "--device", "gpu"], USAGE, capsys, "--device: device 'gpu': give auto, cpu")


def test_a_proof_file_is_written_whole_or_not_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "proof.bin"
    path.write_bytes(b"old")
    before = sorted(folder.iterdir())

    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            files.write(path, b"new")
    assert path.read_bytes() == b"old" and sorted(folder.iterdir()) == before
    files.write(path, b"new")
    assert path.read_bytes() == b"new" and sorted(folder.iterdir()) == before


def usage(total: int, free: int) -> Any:
    """Disk usage, as `shutil.disk_usage` returns it."""
    return SimpleNamespace(total=total, used=total - free, free=free)


def test_a_disk_without_room_is_named_before_the_proof(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(job_module, "make", lambda *_, **__: pytest.fail("a proof was begun"))
        patch.setattr(shutil, "disk_usage", lambda path: usage(10**6, 1000))
        line = r"graphprover: out.bin: needs about 0\.\d\d MB, and 0\.00 MB are free in (.*): free space there or "
        for shards in ([], ["--shards", "2", "--executor", "tcp://127.0.0.1:1"]):
            program = "examples/memory" if shards else "doubling.py"
            assert main(["prove", program, "-o", "out.bin", *shards]) == USAGE
            found = re.fullmatch(line + "choose another output\n", capsys.readouterr().err)
            assert found and found[1] == str(folder)
    for total in (0, 10**12):  # a file system without a size (0) counts as having room
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "disk_usage", lambda path, total=total: usage(total, total))
            assert main(["prove", "doubling.py", "-o", "out.bin"]) == OK


def test_a_disk_that_fills_up_meanwhile_costs_no_proof(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))
    full, fsync = [folder], os.fsync

    def write(descriptor: int) -> None:
        if Path(os.readlink(f"/proc/self/fd/{descriptor}")).parent in full:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", write)
    assert main(["prove", "doubling.py", "-o", "out.bin"]) == USAGE
    (rescued,) = (folder / "tmp").iterdir()
    line = f"graphprover: out.bin: no space left in {folder}: free space there or write elsewhere"
    assert capsys.readouterr().err == f"{line}; the proof was saved as {rescued}: move it\n"
    assert main(["verify", str(rescued), "doubling.py"]) == OK
    rescued.unlink()
    capsys.readouterr()
    full.append(folder / "tmp")
    assert main(["prove", "doubling.py", "-o", "out.bin"]) == USAGE
    assert capsys.readouterr().err == f"{line}\n"
    assert not list(folder.rglob("*.bin")) and not list(folder.rglob(".graphprover*"))


def test_writing_replaces_the_file_that_a_link_names(folder: Path) -> None:
    (folder / "link").symlink_to("file")
    files.write(folder / "link", b"data")
    assert (folder / "link").is_symlink() and (folder / "file").read_bytes() == b"data"


def test_control_c_leaves_the_old_file(folder: Path) -> None:
    (folder / "slow.py").write_text(
        PROGRAM.replace("    first = 1", "    open('begun', 'w'); import time; time.sleep(60)\n    first = 1")
    )
    (folder / "proof.bin").write_bytes(b"old")
    command = [sys.executable, "-m", "graphprover", "prove", "slow.py"]
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    prover = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, stderr=subprocess.PIPE, text=True)
    waited = 0.0
    while not (folder / "begun").exists() and waited < 60:
        time.sleep(0.05)
        waited += 0.05
    (folder / "begun").unlink()
    before = sorted(folder.iterdir())
    prover.send_signal(signal.SIGINT)
    _, error = prover.communicate(timeout=600)
    assert prover.returncode == INTERRUPTED and error.strip() == "graphprover: interrupted"
    assert (folder / "proof.bin").read_bytes() == b"old"
    assert [file for file in sorted(folder.iterdir()) if file.name != "__pycache__"] == [
        file for file in before if file.name != "__pycache__"
    ]


def process(folder: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in its own process, after `script`."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    ending = "\nimport sys\nfrom graphprover.__main__ import main\nsys.exit(main())"
    command = [sys.executable, "-c", script + ending, *arguments]
    environment = os.environ | {"PYTHONPATH": path}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("sent", "code", "line"),
    [("SIGINT", INTERRUPTED, "graphprover: interrupted"), ("SIGTERM", TERMINATED, "graphprover: terminated")],
)
def test_a_signal_while_the_file_is_written_leaves_the_old_one(folder: Path, sent: str, code: int, line: str) -> None:
    (folder / "proof.bin").write_bytes(b"old")
    (folder / "__pycache__").mkdir()
    before = sorted(folder.iterdir())
    script = f"import os, signal\nos.fsync = lambda file: signal.raise_signal(signal.{sent})"
    run = process(folder, script, "prove", "doubling.py")
    assert (run.returncode, run.stderr.strip()) == (code, line)
    assert (folder / "proof.bin").read_bytes() == b"old" and sorted(folder.iterdir()) == before


@pytest.mark.parametrize("module", ["logging", "graphprover.runtime.files", "numpy", "graphprover.cli", "dask"])
def test_control_c_while_modules_are_imported(folder: Path, module: str) -> None:
    script = f"""
import signal, sys
class Slow:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            try:
                signal.raise_signal(signal.SIGINT)
            except BaseException:  # as libraries do
                pass
sys.meta_path.insert(0, Slow())
"""
    run = process(folder, script, "prove", "doubling.py")
    assert (run.returncode, run.stdout, run.stderr.strip()) == (INTERRUPTED, "", "graphprover: interrupted")


@pytest.mark.parametrize("delay", [0.05, 0.1, 0.2, 0.3, 0.5, 1.0])
def test_control_c_soon_after_the_start(folder: Path, delay: float) -> None:
    """The delay starts when `main` can be called; the start of the interpreter is not covered."""
    slow = PROGRAM.replace("    first = 1", "    import time; time.sleep(60)\n    first = 1")
    (folder / "slow.py").write_text(slow)
    script = "import sys\nfrom graphprover.__main__ import main\nprint('begun', flush=True)\nsys.exit(main())"
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", script, "prove", "slow.py"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, **pipes) as prover:
        assert prover.stdout.readline() == "begun\n"
        time.sleep(delay)
        prover.send_signal(signal.SIGINT)
        _, error = prover.communicate(timeout=600)
    assert (prover.returncode, error.strip()) == (INTERRUPTED, "graphprover: interrupted")


def test_who_ignores_sigterm_still_does(folder: Path) -> None:
    script = "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    script += "fsync = os.fsync\nos.fsync = lambda file: (signal.raise_signal(signal.SIGTERM), fsync(file))"
    assert process(folder, script, "prove", "doubling.py").returncode == OK
    assert (folder / "proof.bin").exists()


def test_a_program_in_shards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = tmp_path / "proof.bin"
    memory = "examples/memory"
    assert main(["prove", memory, "--shards", "2", "-o", str(proof)]) == OK
    assert "shards      2\n" in capsys.readouterr().out
    whole = tmp_path / "whole.bin"
    assert main(["prove", memory, "-o", str(whole)]) == OK and proof.stat().st_size > whole.stat().st_size
    capsys.readouterr()
    assert main(["verify", str(proof), memory, "--expect", "worth=99"]) == OK
    out = capsys.readouterr().out
    assert "shards      2\n" in out and "valid" in out
    assert main(["inspect", str(proof)]) == OK
    assert "shard" in capsys.readouterr().out
    assert main(["plan", memory, "--shards", "2"]) == OK
    shown = capsys.readouterr().out
    assert "+ extensions" in shown and "without cached shards" in shown
    assert main(["plan", memory, "--shards", "2", "--json"]) == OK
    found = json.loads(capsys.readouterr().out)
    assert [len(shard["tables"]) for shard in found["shards"]] == [2, 2] and found["peak_bytes"]["all"]
    assert main(["prove", memory, "--shards", "3", "-o", str(proof)]) == USAGE
    assert "3 shards, each with a table or more: the statement has 2" in capsys.readouterr().err
    pictures = [tmp_path / "plan.svg", tmp_path / "plan.html"]
    assert main(["plan", memory, "--shards", "2", "--svg", str(pictures[0]), "--html", str(pictures[1])]) == OK
    drawn = re.search(r"drawn: (shard [01]), the largest", capsys.readouterr().out)
    assert drawn and all(f"{drawn[1]} of 2, the largest" in picture.read_text() for picture in pictures)


def test_reports_of_shards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(tmp_path / name) for name in ("proof.bin", "out.json", "out.html", "trace.json")]
    files = ["-o", names[0], "--report", names[1], "--report", names[2], "--trace", names[3], "--report"]
    assert main(["prove", "examples/memory", "--shards", "2", *files]) == OK
    shown = capsys.readouterr()
    found = json.loads(Path(names[1]).read_text())
    assert not shown.err and re.search(r"^  shard +commit +prove +cached \(planned\)$", shown.out, re.M)
    assert [[stage["name"] for stage in shard["stages"]] for shard in found["shards"]] == [["commit", "prove"]] * 2
    stages = {stage["name"]: stage for stage in found["stages"]}
    assert [*stages] == ["imports", "prepare", "wait", "prove", "verify", "write"]
    for shard in found["shards"]:
        assert all(stages["prove"]["start"] <= stage["start"] for stage in shard["stages"])
    assert "in 2 shards" in Path(names[2]).read_text() and "commit of shard 1" in Path(names[3]).read_text()
    assert main(["prove", "examples/memory", "--shards", "2", "-o", names[0], "--report", "--json"]) == OK
    told = json.loads(capsys.readouterr().out)["report"]["shards"]
    assert [set(shard["seconds"]) for shard in told] == [{"commit", "prove"}] * 2


def test_reports_of_guests_in_shards(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    guest = str(Path(__file__).parents[2] / "examples/guests/fib_iterative.elf")
    (tmp_path / "input").write_bytes((30).to_bytes(8, "little"))
    options = f"--input {tmp_path}/input --shards 3 --security 30 -o {tmp_path}/proof.bin --report {out}".split()
    assert main(["prove", guest, *options]) == OK
    found = json.loads(out.read_text())
    heads = [table["shard"] for table in found["tables"] if table["name"] == "0.head"]
    assert heads == [0, 1, 2] and len(found["tables"]) == sum(shard["tables"] for shard in found["shards"])
    assert {task["shard"] for task in found["tasks"]} == {0, 1, 2}


def test_a_report_has_a_file_that_can_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    """An invalid report file is an error before the program runs."""
    for options, line in (
        (["--report", "out.txt"], "out.txt is neither FILE.html nor FILE.json; for a text report write"),
        (["--report", "none/out.json"], "none/out.json: cannot write to its folder"),
        (["--trace", "none/out.json"], "none/out.json: cannot write to its folder"),
        (["--trace", "-", "--json"], "standard output (-) can receive only one file"),
    ):
        try:
            code: object = main(["prove", "missing.py", *options])
        except SystemExit as exit_:
            code = exit_.code
        assert code == USAGE and line in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["prove", "--report", "doubling.py"])
    assert "write --report last" in capsys.readouterr().err


def test_reports_and_traces(capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--report", "out.json", "--trace", "trace.json"]
    assert main(["prove", "doubling.py", "--rate", "8", "-o", "three.bin", *files, "--report"]) == OK
    out = capsys.readouterr().out
    found = json.loads(Path("out.json").read_text())
    assert [stage["name"] for stage in found["stages"]] == ["imports", "prepare", "wait", "prove", "verify", "write"]
    assert all(re.search(rf"^  {one['round']} +{one['tasks']} ", out, re.M) for one in found["rounds"])
    assert f"peak memory {found['memory']['peak'] / 2**20:,.0f} MiB" in out
    assert (found["name"], found["label"]) == ("doubling.py", "doubling.py")
    names = {event["name"] for event in json.loads(Path("trace.json").read_text())["traceEvents"]}
    assert {f"{task['round']} of {task['name']}" for task in found["tasks"]} < names

    Path("out.json").unlink()
    assert main(["prove", "doubling.py", "--rate", "8", "-o", "three.bin", "--trace", "trace.json"]) == OK
    assert "quotient" not in capsys.readouterr().out and not Path("out.json").exists()
