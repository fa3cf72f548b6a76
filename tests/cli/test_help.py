"""The help, the version and the manual page."""

import re
import shutil
import subprocess

import pytest

from graphprover import __version__
from graphprover.cli.main import COMMANDS, main
from graphprover.runtime.errors import OK


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the output of a command that succeeds, perhaps by argparse's exit."""
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    assert code == OK
    return capsys.readouterr().out


def test_help_is_a_command_and_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    whole = said(["--help"], capsys)
    assert said([], capsys) == said(["help"], capsys) == whole
    assert re.findall(r"^    ([a-z-]+)", whole.partition("first steps")[0], re.MULTILINE) == [*COMMANDS]
    for names in (["prove"], ["cluster"], ["cluster", "start"]):
        assert said(["help", *names], capsys) == said([*names, "--help"], capsys)


def test_the_version_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(["version"], capsys) == said(["--version"], capsys) == f"graphprover {__version__}\n"


def test_the_manual_page(capsys: pytest.CaptureFixture[str]) -> None:
    """It has all commands and options, no line but its own requests starts with a dot, and mandoc reads it."""
    page = said(["help", "--man"], capsys)
    found = re.findall(r'^\.SS "graphprover (.*)"$', page, re.MULTILINE)
    assert {*COMMANDS, "cluster start", "jobs list"} <= {name.replace("\\", "") for name in found}
    assert r"\fB\-\-proximity {johnson,unique}\fR" in page and r"graphprover prove examples/keccak" in page
    assert {line.split()[0] for line in page.splitlines() if line[:1] in ".'" and line} <= {
        *(".TH", ".SH", ".SS", ".PP", ".TP", ".nf", ".fi")
    }
    if shutil.which("mandoc"):
        subprocess.run(["mandoc", "-T", "lint", "-W", "error"], input=page, text=True, check=True, capture_output=True)


def test_the_help_fits_80_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command with the start of its summary; the longest examples of commands may be longer."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main([]) == OK
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for name, summary in COMMANDS.items():
        assert any(line.split()[:2] == [name, summary.split()[0]] for line in lines), name
