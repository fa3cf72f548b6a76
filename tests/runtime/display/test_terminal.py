"""The command line in a terminal: a bar, drawn tables, and completion by a shell."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graphprover.__main__ import INTERRUPTED
from graphprover.cli.main import main
from graphprover.runtime.display.section import Section, plain
from graphprover.runtime.errors import FAILED, OK, USAGE

ROOT = Path(__file__).parents[2]
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SCRIPT = """
import sys
from graphprover.__main__ import main
{first}
code = main()
{last}
sys.exit(code)
"""


def in_terminal(
    folder: Path, *arguments: str, first: str = "", last: str = "", code: int = OK, **environment: str
) -> str:
    """Return a command's raw output in a terminal of 100 columns; ``first`` and ``last`` run before and after it."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(first=first, last=last), *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "TERM": "xterm"} | environment,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    shown, ended = b"", False
    while not ended:  # the process's end of the terminal stays open here: its last output may be lost when it is closed
        ended = process.poll() is not None
        while select.select([ours], [], [], 0.02)[0]:
            shown += os.read(ours, 1 << 16)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == code, shown.decode()
    return shown.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("terminal")
    assert main(["prove", "examples/memory", "-o", str(folder / "proof.bin"), "--security", "60"]) == OK
    return folder


def test_a_bar_follows_the_proof(folder: Path) -> None:
    shown = in_terminal(folder, "prove", "examples/memory", "--security", "60", "-o", "again.bin")
    assert "━" in shown and re.search(r"(\d+)/\1 ", CODES.sub("", shown))
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h"), "the cursor is there again"
    assert (folder / "again.bin").read_bytes() == (folder / "proof.bin").read_bytes()
    debugged = in_terminal(folder, "prove", "examples/memory", "-o", "again.bin", GRAPHPROVER_DEBUG="1")
    assert "━" not in debugged and re.search(r"graphs.builder: lookup of 0.reads, 1.memory on CpuDevice", debugged)


def test_a_bar_follows_a_batch(folder: Path) -> None:
    jobs = [f'[[job]]\nprogram = "{name}"\n' for name in ("examples/memory", "failing.py", "examples/fibonacci")]
    failing = "from graphprover.examples.memory import *\ndef prove_inputs(data):\n    raise ValueError('no')\n"
    (folder / "failing.py").write_text(failing)
    (folder / "jobs.toml").write_text('[defaults]\nsecurity = 30\noutput = "{name}.bin"\n' + "\n".join(jobs))
    shown = CODES.sub("", in_terminal(folder, "batch", "jobs.toml", code=FAILED)).replace("\r", "\n")
    assert "━" in shown and "3/3" in shown and "1 failed" in shown and " left " in shown
    assert re.search(r"^2/3 failing: failed: failing\.py: no$", shown, re.MULTILINE)
    assert "1/3 memory" not in shown and shown.endswith("\n3 jobs: 2 made in " + shown.rpartition(" in ")[2])


def test_an_interruption_shows_the_cursor_again(folder: Path) -> None:
    first = (
        "import signal, graphprover.graphs.rounds.fri as fri\nfri.fold_tree = lambda *_, **more: signal.raise_signal(2)"
    )
    shown = in_terminal(folder, "prove", "examples/memory", first=first, code=INTERRUPTED)
    assert "\x1b[?25l" in shown and shown.endswith("\x1b[?25h\ngraphprover: interrupted\n")


def test_tables_are_drawn_where_rich_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = in_terminal(folder, "inspect", "proof.bin")
    assert "───" in drawn and "queries: main rows" in drawn
    text = in_terminal(folder, "inspect", "proof.bin", first="sys.modules['rich'] = None")
    assert main(["inspect", str(folder / "proof.bin")]) == OK
    assert text == capsys.readouterr().out and "───" not in text


def test_who_verifies_in_a_terminal_needs_no_rich(folder: Path) -> None:
    last = "print([name for name in ('rich', 'numba', 'dask', 'shtab') if name in sys.modules])"
    for command in (["verify", "proof.bin", "--security", "60"], ["check", "examples/memory"]):
        assert in_terminal(folder, *command, last=last).endswith("[]\n")


def test_a_narrow_terminal_folds_text_and_no_number(folder: Path) -> None:
    plan = ["plan", "examples/memory", "--device", "cpu"]
    wide = CODES.sub("", in_terminal(folder, *plan, COLUMNS="300"))
    narrow = CODES.sub("", in_terminal(folder, *plan, COLUMNS="90"))
    assert "…" not in narrow + wide and max(map(len, narrow.splitlines())) <= 90
    assert len(narrow.splitlines()) > len(wide.splitlines())
    numbers = re.compile(r"\d+\.\d k|\d+ KiB")
    assert numbers.findall(narrow) == numbers.findall(wide) != []


def test_columns_of_numbers_stand_to_the_right() -> None:
    section = Section(
        [("name", "size", "share", "after"), ("a", 1234, "-", "x"), ("bcdef", "", "9.0 KiB", "")], "title"
    )
    assert plain(section).splitlines() == [
        "title",
        "  name    size    share  after",
        "  a      1,234        -  x",
        "  bcdef         9.0 KiB",
    ]


COMPLETE = """
source completion
COMP_WORDS=(graphprover "$@"); COMP_CWORD=$#; COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
_shtab_graphprover graphprover "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == OK
    (tmp_path / "completion").write_text(capsys.readouterr().out)
    (tmp_path / "proof.bin").touch()

    def completed(*words: str) -> list[str]:
        command = ["bash", "-c", COMPLETE, "bash", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()

    assert completed("verif") == ["verify"]
    assert set(completed("")) >= {"prove", "verify", "setup", "inspect", "export", "plan", "completion"}
    assert completed("verify", "pro") == completed("verify", "--input", "pro") == ["proof.bin"]
    assert completed("prove", "--prox") == ["--proximity"] and completed("batch", "--res") == ["--resume"]
    assert completed("batch", "pro") == completed("batch", "--summary", "pro") == ["proof.bin"]
    assert completed("prove", "--proximity", "u") == ["unique"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
def test_fish_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "fish"]) == OK
    (tmp_path / "completion.fish").write_text(capsys.readouterr().out)
    (tmp_path / "proof.bin").touch()

    def completed(line: str) -> set[str]:
        command = ["fish", "-N", "-c", 'source completion.fish; complete -C "$argv"', f"graphprover {line}"]
        environment = os.environ | {"HOME": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return {found.split("\t")[0] for found in done.stdout.splitlines()}

    assert completed("ver") == {"verify", "version"}
    assert completed("verify pro") == completed("verify --input pro") == {"proof.bin"}
    assert completed("prove --prox") == {"--proximity"} and completed("batch --res") == {"--resume"}
    assert completed("prove --proximity u") == {"unique"} and completed("completion f") == {"fish"}
    assert completed("cluster st") == {"start", "status", "stop"} and completed("cluster start ") == {
        "cuda",
        "processes",
    }


def test_zsh_is_written_for_and_no_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "zsh"]) == OK
    assert capsys.readouterr().out.startswith("#compdef graphprover\n")
    with pytest.raises(SystemExit) as stop:
        main(["completion", "csh"])
    assert stop.value.code == USAGE
