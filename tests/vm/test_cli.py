"""``graphprover execute`` as a user meets it."""

import hashlib
from pathlib import Path

import pytest

from graphprover.cli import FAILED, OK, USAGE, main
from tests.vm.assemble import CODE, Segment, X, elf, leave, words

GUESTS = Path(__file__).parents[2] / "examples/guests"


def test_an_execution_is_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"abc")
    result = tmp_path / "result"
    arguments = ["execute", str(GUESTS / "sha256.elf"), "--input", str(data), "--output", str(result)]
    assert main(arguments) == OK
    digest = hashlib.sha256(b"abc")
    assert result.read_bytes() == digest.digest()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["output"] == f"hex {digest.hexdigest()} (32 bytes)"
    assert lines["exit"].split() == ["code", "0"]
    assert int(lines["cycles"].replace(",", "")) > 4000
    assert lines["misaligned"] == "0 loads and stores"
    assert lines["memory"].endswith("KiB") and lines["speed"].endswith("M instructions/s")
    assert lines["addiw"].endswith("%")


def test_the_exit_code_of_the_guest_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guest = tmp_path / "guest.elf"
    guest.write_bytes(elf([Segment(CODE, words(leave(3)), X)]))
    assert main(["execute", str(guest)]) == FAILED
    out = capsys.readouterr().out
    assert out.endswith("output      none\nexit code   3\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-cycles", "100"], "cycle limit (100) at pc 0x"),
        (["--max-memory", "0"], "memory limit (0 bytes, less than program and input need) at pc 0x10000"),
        (["--max-cycles", "0"], "a limit of 0 cycles is not in 1 .. 2^32 - 1"),
    ],
)
def test_limits(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["execute", str(GUESTS / "sha256.elf"), *options]) == FAILED
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and not captured.out


def test_other_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["execute", __file__]) == USAGE
    assert main(["execute", str(tmp_path / "none.elf")]) == USAGE
    err = capsys.readouterr().err
    assert f"{__file__}: no ELF file\n" in err and "none.elf: No such file" in err
