"""A guest's debug text on standard error: once for a command, also if it runs the guest several times."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphprover.cli.main import main
from graphprover.runtime.errors import FAILED, OK, USAGE
from graphprover.vm.program.io import DEBUG_PRINT
from graphprover.vm.program.isa import A0, A1
from tests.vm.assemble import CODE, DATA, Segment, X, elf, leave, li, words

ROOT = Path(__file__).parents[2]
SHOWS = [*li(A0, DATA), *li(A1, 6), DEBUG_PRINT]
TEXT = "hello!"  # gets a newline
WEAK = ["--security", "30"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, then in (("shows.elf", leave()), ("faults.elf", [0]), ("fails.elf", leave(3))):
        Path(name).write_bytes(elf([Segment(CODE, words([*SHOWS, *then]), X), Segment(DATA, TEXT.encode())]))
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["execute", "shows.elf"],
        ["execute", "shows.elf", "--cells", "--profile", "profile.json"],
        ["prove", "shows.elf", *WEAK, "-o", "proof.bin"],
        ["prove", "shows.elf", *WEAK, "--shards", "2"],
        ["prove", "shows.elf", *WEAK, "--small", "1000"],
        ["plan", "shows.elf", "--device", "cuda"],
        ["plan", "shows.elf", *WEAK, "--small", "1000"],
        ["inspect", "shows.elf", *WEAK, "--small", "1000"],
    ],
    ids=" ".join,
)
def test_a_command_shows_it_once(command: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--json"]) == OK
    out, err = capfd.readouterr()
    json.loads(out)
    lines = [line for line in err.splitlines() if "kernels" not in line]
    assert lines == [TEXT]


def test_check_shows_it(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "shows.elf"]) == OK
    out, err = capfd.readouterr()
    assert err == f"{TEXT}\n" and out.startswith("shows.elf: ")


@pytest.mark.parametrize("command", [["execute"], ["prove", *WEAK], ["plan", "--small"], ["check"]])
def test_it_precedes_a_fault(command: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main([command[0], "faults.elf", *command[1:]]) == FAILED
    lines = [line for line in capfd.readouterr().err.splitlines() if "kernels" not in line]
    assert lines[0] == TEXT and lines[1].startswith("graphprover: ") and "illegal instruction" in lines[1]


def test_workers_show_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    options = [*WEAK, "--executor", "processes", "--workers", "1"]
    assert main(["prove", "shows.elf", *options]) == OK
    assert capfd.readouterr().err.splitlines().count(TEXT) == 1


def test_it_can_be_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "shows.elf", *WEAK, "--drop-debug"]) == OK
    Path("jobs.toml").write_text('[[job]]\nprogram = "shows.elf"\noutput = "a"\nsecurity = 30\ndrop_debug = true\n')
    assert main(["batch", "jobs.toml"]) == OK
    assert TEXT not in capfd.readouterr().err
    assert main(["prove", "examples/memory", *WEAK, "--drop-debug"]) == USAGE
    assert "--drop-debug: only for guests" in capfd.readouterr().err


BATCH = """
[defaults]
security = 30
output = "{name}.bin"

[[job]]
name = "one"
program = "shows.elf"

[[job]]
name = "two"
program = "fails.elf"
exit_code = 3
"""


@pytest.mark.parametrize("options", [[], ["--resume"], ["--executor", "processes", "--workers", "1"]])
def test_a_batch_names_the_job(options: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    Path("jobs.toml").write_text(BATCH)
    if options == ["--resume"]:
        main(["batch", "jobs.toml"])
        capfd.readouterr()
    assert main(["batch", "jobs.toml", *options, "--json"]) == OK
    out, err = capfd.readouterr()
    assert json.loads(out)["failed"] == 0
    lines = [line for line in err.splitlines() if TEXT in line]
    if "processes" in options:
        lines.sort()  # the client runs the guests of several jobs in threads
    assert lines == [f"one: {TEXT}", f"two: {TEXT}"]


def test_an_interrupted_run_has_shown_it(folder: Path) -> None:
    """Read the text of a run that never ends, and end it."""
    code = [*li(A0, DATA), *li(A1, 7), DEBUG_PRINT, 0x0000006F]  # jal x0, 0
    Path("endless.elf").write_bytes(elf([Segment(CODE, words(code), X), Segment(DATA, b"hello!\n")]))
    command = [sys.executable, "-m", "graphprover", "execute", "endless.elf", "--max-cycles", str(2**32 - 1)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr
        assert process.stderr.readline() == b"hello!\n"
        process.kill()
