"""``graphprover execute``: output, files, limits and interruption."""

import hashlib
import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from graphprover.__main__ import INTERRUPTED
from graphprover.cli.main import main
from graphprover.runtime.errors import FAILED, OK, USAGE
from graphprover.vm.accelerators.keccak.call import KECCAK_F
from graphprover.vm.program.io import OUTPUT_BASE, RANDOM_SEED
from graphprover.vm.program.isa import A0, A7, Instruction, Op
from tests.slow import slow_after
from tests.vm.assemble import CODE, DATA, Segment, X, elf, leave, li, words

GUESTS = Path(__file__).parents[2] / "examples/guests"


def test_an_execution_is_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"abc")
    result = tmp_path / "result"
    arguments = ["execute", str(GUESTS / "sha256.elf"), "--input", str(data), "--output", str(result)]
    assert main([*arguments, "--instructions"]) == OK
    digest = hashlib.sha256(b"abc")
    assert result.read_bytes() == digest.digest()
    said = capsys.readouterr().out
    lines = dict((*line.split(maxsplit=1), "")[:2] for line in said.splitlines())
    assert [*lines][:3] == ["output", "exit", "cycles"]
    assert lines["output"] == f"hex {digest.hexdigest()} (32 bytes)"
    assert lines["exit"].split() == ["code", "0"]
    assert int(lines["cycles"].replace(",", "")) > 4000
    assert lines["misaligned"] == "0 loads and stores"
    assert lines["memory"].endswith("KiB") and lines["speed"].endswith(" cycles/s")
    assert lines["addiw"].endswith("%") and "instructions" in said
    assert main(arguments) == OK
    assert re.sub("speed .*", "", capsys.readouterr().out) == re.sub("speed .*", "", said.partition("instructions")[0])


def test_the_exit_code_of_the_guest_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guest = tmp_path / "guest.elf"
    guest.write_bytes(elf([Segment(CODE, words(leave(3)), X)]))
    assert main(["execute", str(guest)]) == FAILED
    out = capsys.readouterr().out
    assert out.startswith("output      none\nexit code   3\ncycles      3\n")


def test_a_fault_leaves_what_was_put_out_until_then(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guest, result = tmp_path / "guest.elf", tmp_path / "result"
    put_out = [
        *li(5, OUTPUT_BASE),
        *li(6, 1),
        Instruction(Op.SD, rs1=5, rs2=6),
        Instruction(Op.SB, rs1=5, rs2=6, imm=8),
    ]
    guest.write_bytes(elf([Segment(CODE, words([*put_out, 0]), X)]))
    assert main(["execute", str(guest), "--output", str(result)]) == FAILED
    captured = capsys.readouterr()
    assert "illegal instruction at pc" in captured.err and "output so far: hex 01 (1 byte)" in captured.err
    assert captured.err.count("\n") == 1 and not captured.out
    assert result.read_bytes() == b"\1"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-cycles", "100"], "cycle limit (100) at pc 0x"),
        (["--max-cycles", "1", "--max-memory", "1"], "cycle limit (1) at pc 0x10004"),
    ],
)
def test_limits(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["execute", str(GUESTS / "sha256.elf"), *options]) == FAILED
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and not captured.out


@pytest.mark.parametrize(
    "command",
    [["prove", "-o"], ["check"], ["plan"], ["inspect"], ["execute", "--cells"]],
    ids=lambda command: command[0],
)
def test_limits_of_what_is_recorded(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """These commands count the record, so they fail at a limit that suffices for the guest alone."""
    more = [str(tmp_path / "proof")] if command[-1] == "-o" else []
    guest = str(GUESTS / "json.elf")
    data = tmp_path / "data"
    data.write_bytes(b"[" + b"1," * 2000 + b"1]")
    for limit, message in (
        (["--max-cycles", "1000"], "cycle limit (1,000) at pc 0x"),
        (["--max-memory", "1"], "memory limit (1,048,576 bytes: a run of "),
    ):
        assert main([*command, *more, guest, "--input", str(data), *limit]) == FAILED
        captured = capsys.readouterr()
        assert message in captured.err and captured.err.count("\n") == 1
    assert "and its record take " in captured.err and "; allow more with --max-memory) at pc 0x" in captured.err
    assert main(["execute", guest, "--input", str(data), "--max-memory", "1"]) == OK
    assert not (tmp_path / "proof").exists()


SEED = 2**64 - 2


@pytest.mark.parametrize("given", slow_after(1, [hex(SEED), str(SEED)]))
def test_a_random_seed_reaches_the_guest(given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Execute and prove a guest that outputs its seed, also by workers, and see the seed that a run has read."""
    guest, proof = tmp_path / "guest.elf", tmp_path / "proof"
    move = [*li(5, RANDOM_SEED), Instruction(Op.LD, 6, 5), *li(7, OUTPUT_BASE), Instruction(Op.SD, rs1=7, rs2=6, imm=8)]
    guest.write_bytes(elf([Segment(CODE, words([*move, *li(6, 8), Instruction(Op.SD, rs1=7, rs2=6), *leave()]), X)]))
    expected = SEED.to_bytes(8, "little").hex()
    assert main(["execute", str(guest), "--random-seed", given, "--json", "--cells"]) == OK
    found = json.loads(capsys.readouterr().out)
    assert (found["random_seed"], found["output"]["hex"]) == (SEED, expected)
    assert main(["execute", str(guest), "--random-seed", given]) == OK
    assert f"random seed  {SEED}\n" in capsys.readouterr().out
    for command in (["check"], ["plan", "--small"]):
        assert main([command[0], str(guest), *command[1:], "--random-seed", given]) == OK
    for by in (["threads"], ["processes", "--workers", "1"]):
        options = ["--random-seed", given, "--security", "30", "--executor", *by, "-o", str(proof)]
        assert main(["prove", str(guest), *options]) == OK
        verify = ["verify", str(proof), str(guest), "--security", "30"]
        assert main([*verify, "--expect-output-hex", expected]) == OK


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ([str(GUESTS / "json.elf"), "--random-seed", "-1"], "--random-seed: '-1' is not a number below 2^64"),
        (
            [str(GUESTS / "json.elf"), "--random-seed", str(2**64)],
            f"--random-seed: '{2**64}' is not a number below 2^64",
        ),
        ([str(GUESTS / "json.elf"), "--random-seed", "1", "--commit-input"], "--random-seed: is 0 with --commit-input"),
        (["examples/memory", "--random-seed", "1"], "--random-seed: only for guests, and examples/memory is no guest"),
    ],
)
def test_a_random_seed_that_cannot_be(
    options: list[str], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with suppress(SystemExit):
        assert main(["prove", *options, "-o", str(tmp_path / "proof")]) == USAGE
    assert error in capsys.readouterr().err and not (tmp_path / "proof").exists()


def test_tables_have_no_cycles_to_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "examples/memory", "--max-cycles", "5"]) == USAGE
    assert "--max-cycles: only for guests, and examples/memory is no guest" in capsys.readouterr().err


# Host calls without end: of all loops the one that takes longest for its cycles, nine minutes for the default limit.
CALLS = [*li(A0, DATA), *li(A7, KECCAK_F), Instruction(Op.ECALL), Instruction(Op.JAL, imm=-4)]

INTERRUPTED_WHILE_IT_RUNS = """
import signal, sys
from graphprover.__main__ import main
from graphprover.vm.executor.execute import prepare
prepare()
signal.signal(signal.SIGVTALRM, lambda *_: signal.raise_signal(signal.SIGINT))
signal.setitimer(signal.ITIMER_VIRTUAL, 1)  # processor second, when the guest is certainly running
sys.exit(main())
"""


@pytest.mark.parametrize("command", ["execute", "prove"])
def test_control_c_ends_a_running_guest(command: str, tmp_path: Path) -> None:
    guest = tmp_path / "guest.elf"
    guest.write_bytes(elf([Segment(CODE, words(CALLS), X), Segment(DATA, bytes(200))]))
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_IT_RUNS, command, str(guest)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (run.returncode, run.stdout, run.stderr.strip()) == (INTERRUPTED, "", "graphprover: interrupted")


def test_other_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["execute", __file__]) == USAGE
    assert main(["execute", str(tmp_path / "none.elf")]) == USAGE
    err = capsys.readouterr().err
    assert f"{__file__}: no ELF file, but text: " in err and "none.elf: No such file" in err
