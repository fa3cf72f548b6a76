"""Mistakes of newcomers: one line on stderr says what is wrong and what to do."""

import os
from collections.abc import Sequence
from pathlib import Path
from shutil import copyfile

import pytest

from graphprover.cli.main import main
from graphprover.runtime.errors import FAILED, OK, USAGE

ROOT = Path(__file__).parents[2]
GUESTS = ROOT / "examples/guests"

TYPE, MACHINE, CLASS = 16, 18, 4  # offsets of fields in an ELF header


def patched(data: bytes, offset: int, value: int) -> bytes:
    """Return an ELF file with another number in a byte of its header."""
    return data[:offset] + bytes([value]) + data[offset + 1 :]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a guest, its key and proof, a proof of tables, and files that are none of these."""
    folder = tmp_path_factory.mktemp("mistakes")
    copyfile(GUESTS / "fib_iterative.elf", folder / "guest.elf")
    guest = (folder / "guest.elf").read_bytes()
    other = (GUESTS / "sha256.elf").read_bytes()
    for name, data in {
        "other.elf": other,
        "rv32.elf": patched(guest, CLASS, 1),
        "x86.elf": patched(guest, MACHINE, 62),
        "guest.o": patched(guest, TYPE, 1),
        "shared.so": patched(guest, TYPE, 3),
        "cut.elf": guest[:100],
        "library.a": b"!<arch>\n/",
        "run.sh": b"#!/bin/sh\n./guest\n",
        "guest.c": b"int main(void)\n{\n}\n",
        "data": b"some input\n",
        "noise": bytes(range(256)),
        "empty": b"",
        "broken.py": b"def tables(:\n",
        "half.py": b"def tables(): return []\n",
        "wrong.toml": b"x",
        "none.toml": b"",
        "key.toml": b'[[job]]\npogram = "guest.elf"\noutput = "a.bin"\n',
        "guest.toml": b'[[job]]\nprogram = "gest.elf"\noutput = "a.bin"\n',
        "rate.toml": b'[[job]]\nprogram = "guest.elf"\noutput = "a.bin"\nrate = 3\n',
        "output.toml": b'[[job]]\nprogram = "guest.elf"\n',
    }.items():
        (folder / name).write_bytes(data)
    for name in ("made", "bare"):
        (folder / name).mkdir()
    (folder / "made" / "main.elf").write_bytes(guest)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["prove", "guest.elf", "-o", "proof.bin"]) == OK
        assert main(["prove", "examples/fibonacci", "-o", "tables.bin"]) == OK
        assert main(["setup", "guest.elf", "-o", "guest.vk"]) == OK
    (folder / "cut.bin").write_bytes((folder / "proof.bin").read_bytes()[:1000])
    (folder / "cut.vk").write_bytes((folder / "guest.vk").read_bytes()[:100])
    return folder


NO_SERVICE = ["--url", "http://127.0.0.1:1"]
CASES: list[tuple[Sequence[str], int, str, str]] = [  # command, exit code, words of the problem and of the remedy
    # Files in each other's place.
    (["verify", "guest.vk", "proof.bin"], USAGE, "guest.vk is a verifying key", "swap them"),
    (["verify", "guest.elf", "proof.bin"], USAGE, "guest.elf is an ELF file", "swap them"),
    (["compress", "guest.elf", "proof.bin"], USAGE, "guest.elf is an ELF file", "swap them"),
    (["export", "guest.elf", "proof.bin"], USAGE, "guest.elf is an ELF file", "swap them"),
    (["inspect", "guest.vk", "proof.bin"], USAGE, "guest.vk is a verifying key", "swap them"),
    (["verify", "guest.elf"], USAGE, "an ELF file, not a proof", "the proof comes first, then PROGRAM"),
    (["aggregate", "proof.bin", "guest.vk"], USAGE, "guest.vk: a verifying key, not a proof", "--program"),
    (["prove", "proof.bin"], USAGE, "a proof, not a program", "`graphprover verify`"),
    (["setup", "proof.bin"], USAGE, "a proof, not a program", "`graphprover verify`"),
    (["prove", "guest.vk"], USAGE, "a verifying key, which runs nothing", "give the ELF file"),
    (["export", "proof.bin", "guest.vk"], USAGE, "a verifying key lacks the columns", "give the ELF file"),
    (["batch", "guest.elf"], USAGE, "an ELF file, not a TOML file of jobs", "graphprover batch --help"),
    (["prove", "guest.elf", "data"], USAGE, "unrecognized arguments: data", "--input data"),
    # Programs that the machine does not run.
    (["prove", "rv32.elf"], USAGE, "for RV32", "-march=rv64im"),
    (["prove", "x86.elf"], USAGE, "for x86-64", "by a compiler for RISC-V"),
    (["prove", "guest.o"], USAGE, "an object file (ET_REL), not linked", "link it with -lzkvm"),
    (["prove", "shared.so"], USAGE, "position-independent executable", "-static -no-pie"),
    (["prove", "library.a"], USAGE, "an archive of object files", "link a program with it"),
    (["prove", "run.sh"], USAGE, "a script", "take the ELF file"),
    (["prove", "guest.c"], USAGE, "no program, but text", "graphprover new-guest"),
    (["setup", "guest.c"], USAGE, "no program, but text", "graphprover new-guest"),
    (["execute", "guest.c"], USAGE, "no ELF file, but text", "graphprover new-guest"),
    (["prove", "empty"], USAGE, "an empty file", "did the linker fail?"),
    (["prove", "noise"], USAGE, "no program", "an ELF file for RV64IM"),
    (["prove", "made"], USAGE, "a folder without an __init__.py", "take the guest main.elf in it"),
    (["prove", "bare"], USAGE, "a folder without an __init__.py", "take an ELF file"),
    (["prove", "gest.elf"], USAGE, "gest.elf: no such file", "examples/keccak"),
    (["prove", "broken.py"], USAGE, "cannot be imported", "broken.py:1"),
    (["prove", "half.py"], USAGE, "no function prove_inputs()", "a program defines tables, prove_inputs, describe"),
    (["prove", "https://host/guest.elf"], USAGE, "URLs (https://) are not supported", "copy the file to this host"),
    # Tables in the place of a guest, and options for guests.
    (["execute", "examples/keccak"], USAGE, "tables, not a guest", "`graphprover check`"),
    (["setup", "examples/keccak"], USAGE, "not an ELF file", "only guests have verifying keys"),
    (["submit", "examples/keccak"], USAGE, "a service proves guests only", "give an ELF file"),
    (["prove", "examples/keccak", "--max-cycles", "5"], USAGE, "--max-cycles: only for guests", "is no guest"),
    # Proofs that do not say what is expected.
    (["verify", "tables.bin", "guest.vk"], FAILED, "not valid", "the proof names 'examples/fibonacci'"),
    (["verify", "proof.bin", "other.elf"], FAILED, "not valid", "the program is 'other.elf "),
    (["verify", "proof.bin"], USAGE, "is no packaged example", "give the program"),
    (["verify", "cut.bin", "guest.vk"], FAILED, "not valid", "the proof ends inside"),
    (["verify", "proof.bin", "cut.vk"], USAGE, "no verifying key", "recreate it with `graphprover setup`"),
    (["verify", "proof.bin", "guest.vk", "--exit-code", "3"], FAILED, "exit code 0, not 3", "--exit-code 0 or any"),
    (["verify", "proof.bin", "guest.vk", "--expect-output-hex", "0xdead"], FAILED, "the output differs", "hex 0000"),
    (["verify", "proof.bin", "guest.vk", "--expect-output-hex", "hi"], USAGE, "'hi' is no sequence", "hexadecimal"),
    (["verify", "proof.bin", "guest.vk", "--input", "data"], FAILED, "states no input", "--commit-input"),
    (["verify", "proof.bin", "guest.vk", "--expect", "output=0"], USAGE, "cannot be compared", "--expect-output FILE"),
    (["verify", "proof.bin", "guest.vk", "--expect", "cycle=1"], USAGE, "unknown key", "'cycles'"),
    # Values of options.
    (["prove", "guest.elf", "--rate", "3"], USAGE, "'3' is not", "2, 4, 8, 16, 32 or 64"),
    (["prove", "guest.elf", "--rate", "8", "--fast"], USAGE, "not allowed with", "--rate"),
    (["prove", "guest.elf", "--device", "gpu"], USAGE, "device 'gpu'", "give auto, cpu, cuda"),
    (["prove", "guest.elf", "--executor", "10.0.0.1:8786"], USAGE, "'10.0.0.1:8786' is neither", "tcp://ADDRESS"),
    (["prove", "guest.elf", "--workers", "3"], USAGE, "threads starts no workers", "processes and cuda do"),
    (["prove", "guest.elf", "--report", "out.txt"], USAGE, "out.txt is neither", "FILE.html"),
    (["prove", "guest.elf", "-o", "bare"], USAGE, "is a folder", "name a file in it"),
    (["prove", "guest.elf", "-o", "-", "--json"], USAGE, "only one file", "--json"),
    (["prove", "guest.elf", "--max-cycles", "10"], FAILED, "cycle limit (10)", "--max-cycles raises the limit"),
    (["prove", "guest.elf", "--max-cost", "1"], FAILED, "the limit is 1", "raise --max-cost to"),
    (["prove", "--small", "guest.elf"], USAGE, "'guest.elf' is not a positive number", "put PROGRAM first"),
    (["serve", "--port", "99999"], USAGE, "'99999' is not a port", "1 to 65535"),
    (["serve", "--host", "0.0.0.0"], USAGE, "without a token", "--tokens FILE"),
    (["serve", "--add-token", "alice"], USAGE, "--add-token", "give the file with --tokens FILE"),
    (["submit", "guest.elf", *NO_SERVICE], FAILED, "127.0.0.1:1 does not answer", "is the service running?"),
    (["submit", "guest.elf", "--url", "host"], USAGE, "'host' is no URL", "such as http://"),
    # Commands and options.
    (["prove", "guest.elf", "--profile", "x.html"], USAGE, "unrecognized", "an option of `graphprover execute`"),
    (["jobs"], USAGE, "are required: ACTION", "(list, fetch, show, cancel, report)"),
    (["proof", "guest.elf"], USAGE, "'proof' is no command", "did you mean prove?"),
    (["run", "guest.elf"], USAGE, "'run' is no command", "graphprover --help"),
    (["cluster", "sta"], USAGE, "'sta' is no action", "did you mean start?"),
    (["prove", "guest.elf", "--inptu", "data"], USAGE, "unrecognized arguments: --inptu", "did you mean --input?"),
    (["prove"], USAGE, "required: PROGRAM", "graphprover prove --help"),
    (["verify"], USAGE, "required: PROOF;", "graphprover verify --help"),
    # Files of jobs.
    (["batch", "wrong.toml"], USAGE, "not TOML", "Expected '='"),
    (["batch", "none.toml"], USAGE, "none.toml: the file has no", "[[job]]"),
    (["batch", "key.toml"], USAGE, "pogram: unknown key", "did you mean program?"),
    (["batch", "guest.toml"], USAGE, "gest.elf: no such file", "examples/keccak"),
    (["batch", "rate.toml"], USAGE, "rate: 3 is not", "2, 4, 8, 16, 32 or 64"),
    (["batch", "output.toml"], USAGE, "output: missing", "give a file"),
]


@pytest.mark.parametrize(("command", "code", "problem", "remedy"), CASES, ids=[" ".join(case[0]) for case in CASES])
def test_a_mistake_is_one_line_with_a_remedy(
    command: Sequence[str],
    code: int,
    problem: str,
    remedy: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    before = {*os.listdir(), "__pycache__"}  # of a program that was imported
    try:
        ended = main(command)
    except SystemExit as stop:  # from argparse
        ended = stop.code  # type: ignore[assignment]
    out, err = capfd.readouterr()
    assert (ended, err.count("\n")) == (code, 1), err
    assert err.startswith("graphprover: ") and problem in err and remedy in err, err
    assert out.count("\n") == ("--json" in command)
    assert {*os.listdir(), "__pycache__"} == before
