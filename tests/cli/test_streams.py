"""The file name ``-``: standard input for input files, standard output for output files."""

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from graphprover import Proof
from graphprover.cli.json_output import proof_of_run
from graphprover.cli.main import main
from graphprover.cli.text_output import run_lines, seconds_line
from graphprover.protocol.errors import VerificationError
from graphprover.prover.made import Made
from graphprover.runtime import files
from graphprover.runtime.errors import FAILED, OK, USAGE
from graphprover.telemetry.model import GuestRun
from graphprover.vm.statement.key import PREFIX as KEY_PREFIX
from tests.graphs.test_proof_graph import FEW
from tests.vm.assemble import CODE, Segment, X, elf, leave, words

ROOT = Path(__file__).parents[2]
GUEST = str(ROOT / "examples/guests/fib_iterative.elf")
TURNS = (9).to_bytes(8, "little")
WEAK = ["--security", "60"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a proof of the guest that states its input."""
    folder = tmp_path_factory.mktemp("proof")
    (folder / "turns").write_bytes(TURNS)
    output = folder / "proof.bin"
    arguments = ["--input", str(folder / "turns"), "--commit-input", *WEAK, "-o", str(output)]
    assert main(["prove", GUEST, *arguments]) == OK
    return output.read_bytes()


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the verifying key of the guest."""
    output = tmp_path_factory.mktemp("key") / "guest.vk"
    assert main(["setup", GUEST, "-o", str(output)]) == OK
    return output.read_bytes()


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Set the contents of standard input."""
    return lambda data: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def run(data: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "graphprover", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, input=data, env=environment, capture_output=True)


def test_a_pipe_from_prove_to_verify(proof: bytes) -> None:
    proved = run(TURNS, "prove", GUEST, "--input", "-", "--commit-input", *WEAK, "-o", "-")
    assert proved.returncode == OK and proved.stdout == proof
    assert f"proof       standard output, {len(proof):,} bytes" in proved.stderr.decode()
    verified = run(proved.stdout, "verify", "-", GUEST, *WEAK, "--output", "-")
    assert verified.returncode == OK and verified.stdout == (34).to_bytes(8, "little")
    assert verified.stderr.decode().endswith("valid\n")
    assert not list(Path().iterdir())


def test_prove_ends_with_the_seconds_and_the_next_command(capsys: pytest.CaptureFixture[str]) -> None:
    """A default file with a proof of another program is named before it is replaced; one of the same program is not."""
    assert main(["prove", GUEST, "--exit-code", "any", *WEAK]) == OK
    out, err = capsys.readouterr()
    *_, last = out.splitlines()
    assert re.search(r"^seconds +\d+\.\d", out, re.MULTILINE) and "another" not in err
    assert last == f"verify it: graphprover verify proof.bin {GUEST} --security 60"
    assert main(last.split()[3:]) == OK and main([*last.split()[3:], "--expect", "cycles=89"]) == OK
    capsys.readouterr()
    assert b"verify it" not in run(b"", "prove", GUEST, "-o", "-", *WEAK).stderr
    assert main(["prove", GUEST, *WEAK]) == OK
    assert "proof.bin has" not in capsys.readouterr().err
    assert main(["prove", "examples/fibonacci", *WEAK]) == OK
    assert "proof.bin has a proof of 'fib_iterative.elf " in (err := capsys.readouterr().err) and "-o FILE" in err


def test_the_speed_is_of_the_proof_alone() -> None:
    stages = {"prepare": 4.0, "wait": 100.0, "prove": 8.0, "verify": 50.0}
    proof = Proof("", FEW, (3,), ((),), b"")
    made = Made(proof, None, stages, 2.0, run=GuestRun(cycles=1_076_985, misaligned_accesses=0))
    run = proof_of_run(made)
    assert run["cycles_per_second"] == 107_698.5
    assert seconds_line(run) | run_lines(run) == {
        "seconds": "12.0, 2.0 of them for compiling kernels, once",
        "cycles": "1,076,985",
        "speed": "107,698 cycles/s",
        "misaligned": "0 loads and stores",
    }
    assert proof_of_run(replace(made, compile_seconds=12.0))["cycles_per_second"] is None
    assert proof_of_run(replace(made, seconds={"verify": 1.0}, kept=True))["cycles_per_second"] is None
    assert seconds_line(proof_of_run(replace(made, compile_seconds=0.0, run=None))) == {"seconds": "12.0"}


def test_what_is_read(proof: bytes, stdin, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    Path("proof.bin").write_bytes(proof)
    for data, arguments, code in (
        (TURNS, ["verify", "proof.bin", GUEST, *WEAK, "--input", "-"], OK),
        (b"other", ["verify", "proof.bin", GUEST, *WEAK, "--input", "-"], FAILED),
        ((34).to_bytes(8, "little"), ["verify", "proof.bin", GUEST, *WEAK, "--expect-output", "-"], OK),
        (proof, ["inspect", "-"], OK),
        (proof, ["export", "-", GUEST], OK),
        (proof[:-1], ["verify", "-", GUEST, *WEAK], FAILED),
        (elf([Segment(CODE, words(leave(3)), X)]), ["execute", "-"], FAILED),
        (TURNS, ["check", GUEST, "--input", "-"], OK),
    ):
        stdin(data)
        assert main(arguments) == code, capsys.readouterr().err
    assert "-: not valid: the proof ends inside" in capsys.readouterr().err


def test_what_is_written(folder: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["setup", GUEST, "-o", "guest.vk"]) == OK
    assert capsysbinary.readouterr().out.startswith(b"key hash")
    assert main(["setup", GUEST, "-o", "-"]) == OK
    out, err = capsysbinary.readouterr()
    assert out == (folder / "guest.vk").read_bytes() and b"written to standard output" in err
    assert main(["plan", "examples/fibonacci", "--svg", "-"]) == OK
    out, err = capsysbinary.readouterr()
    assert out.startswith(b"<svg") and out.endswith(b"</svg>\n") and b"peak memory" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "-", GUEST, "--input", "-"],
        ["verify", "proof.bin", GUEST, "--input", "-", "--expect-output", "-"],
        ["execute", "-", "--input", "-"],
        ["verify", "proof.bin", "--output", "-", "--json"],
        ["prove", "examples/fibonacci", "-o", "-", "--json"],
    ],
)
def test_a_stream_serves_one_purpose(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == USAGE
    out, err = capsys.readouterr()
    assert err.startswith("graphprover: standard ") and "-" in err
    assert "--json" not in arguments or json.loads(out)["error"] in err


def test_what_is_read_as_a_proof_is_bounded(
    stdin,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],  # type: ignore[no-untyped-def]
) -> None:
    monkeypatch.setattr(files, "MAX_PROOF_BYTES", 1 << 10)
    stdin(bytes(2000))
    assert main(["verify", "-"]) == USAGE and "-: more than" in capsys.readouterr().err


def test_proofs_in_shards_are_longer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(files, "MAX_PROOF_BYTES", 1 << 10)
    monkeypatch.setattr(files, "MAX_SHARDS_BYTES", 3 << 10)
    path = tmp_path / "proof"
    path.write_bytes(data := files.SHARDS_MAGIC + bytes(2 << 10))
    assert files.read_proof(path) == data
    path.write_bytes(files.SHARDS_MAGIC + bytes(3 << 10))
    with pytest.raises(files.FileError, match="more than"):
        files.read_proof(path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize(
    "arguments",
    [
        *(["--help"], ["--version"], ["prove", "--help"]),
        *(["check", "examples/fibonacci"], ["completion", "bash"], ["verify", "none"]),
    ],
    ids=" ".join,
)
def test_standard_output_that_is_full(arguments: list[str], buffered: bool) -> None:
    """The error is one line without a traceback, for outputs below and above the buffer size."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "" if buffered else "1"}
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "graphprover", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment, text=True)
    if arguments == ["verify", "none"]:  # prints nothing to stdout
        assert (done.returncode, done.stderr) == (USAGE, "graphprover: none: No such file or directory\n")
    else:
        assert (done.returncode, done.stderr) == (USAGE, "graphprover: standard output: No space left on device\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_proof_outlives_a_full_standard_output(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "graphprover", "prove", "examples/fibonacci", "-o", "-"]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, env=environment, text=True)
    (rescued,) = tmp_path.glob("*.bin")
    line = f"graphprover: standard output: No space left on device; the proof was saved as {rescued}: move it"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (USAGE, line)
    assert main(["verify", str(rescued), "examples/fibonacci"]) == OK


def test_a_loop_of_links_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert main(["prove", "examples/fibonacci", "-o", str(loop)]) == USAGE
    assert capsys.readouterr().err == f"graphprover: {loop}: Too many levels of symbolic links\n"


@pytest.mark.parametrize("arguments", [["check", "examples/fibonacci"], ["completion", "bash"]])
def test_nobody_reads_standard_output(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}
    command = [sys.executable, "-m", "graphprover", *arguments]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=environment, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (OK, "")


def test_two_files_of_a_command_are_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out.json")
    prove = ["prove", "examples/fibonacci", "-o"]
    for options in (
        [*prove, out, "--report", out],
        [*prove, str(tmp_path / "proof"), "--report", out, "--trace", f"{tmp_path}/./out.json"],
        ["plan", "examples/fibonacci", "--svg", out, "--html", out],
    ):
        assert main(options) == USAGE
        assert "out.json: two options name this output file" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_in_python_too(stdin) -> None:  # type: ignore[no-untyped-def]
    stdin(b"noise")
    with pytest.raises(VerificationError, match=r"^-: "):
        Proof.load("-")


CLOSED_OUT, CLOSED_IN = "graphprover: standard output is closed\n", "graphprover: standard input is closed\n"


def closing(redirections: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command with streams that a shell closes."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    line = f'exec "$@" {redirections}'
    command = ["sh", "-c", line, "sh", sys.executable, "-m", "graphprover", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["completion", "bash"],
        ["prove", "--help"],
        ["prove", "examples/fibonacci", "-o", "own.bin"],
        ["verify", "proof.bin", GUEST, *WEAK],
        ["verify", "proof.bin", GUEST, *WEAK, "--json"],
        ["verify", "proof.bin", GUEST, *WEAK, "--output", "-"],
        ["setup", GUEST, "-o", "guest.vk"],
        ["setup", GUEST, "-o", "-"],
        ["inspect", "proof.bin"],
        ["plan", "examples/fibonacci"],
        ["check", "examples/fibonacci"],
        ["execute", GUEST],
        ["cluster", "status"],
    ],
    ids=" ".join,
)
def test_standard_output_that_is_closed(arguments: list[str], proof: bytes) -> None:
    Path("proof.bin").write_bytes(proof)
    done = closing(">&-", *arguments)
    assert (done.returncode, done.stderr.splitlines(keepends=True)[-1]) == (USAGE, CLOSED_OUT)
    assert "Traceback" not in done.stderr and Path("proof.bin").read_bytes() == proof


def test_a_closed_standard_output_that_gets_nothing(proof: bytes) -> None:
    """The exit code is of the command: nothing had to be printed."""
    Path("proof.bin").write_bytes(proof[:-1])
    done = closing(">&-", "verify", "proof.bin", GUEST, *WEAK)
    assert done.returncode == FAILED and done.stderr.startswith("graphprover: proof.bin: not valid: ")
    assert closing(">&-", "verify", "none").returncode == USAGE


def test_standard_input_that_is_closed(proof: bytes) -> None:
    for arguments in (["check", "examples/fibonacci", "--input", "-"], ["verify", "-", GUEST]):
        done = closing("<&-", *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (USAGE, "", CLOSED_IN)
    Path("proof.bin").write_bytes(proof)
    assert closing("<&-", "verify", "proof.bin", GUEST, *WEAK).returncode == OK


def test_standard_error_that_is_closed(proof: bytes) -> None:
    """Its lines go nowhere: Python would print them to standard output, which may get a file."""
    done = closing("2>&-", "verify", "none")
    assert (done.returncode, done.stdout) == (USAGE, "")
    Path("proof.bin").write_bytes(proof)
    done = closing("2>&-", "verify", "proof.bin", GUEST, *WEAK, "--output", "-")
    assert (done.returncode, done.stdout.encode()) == (OK, (34).to_bytes(8, "little"))
    for arguments in ([], ["prove"], ["verify", "none"]):
        done = closing("<&- >&- 2>&-", *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (USAGE, "", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_an_error_that_cannot_be_written_keeps_the_exit_code(proof: bytes) -> None:
    Path("proof.bin").write_bytes(proof[:-1])
    assert closing("2>/dev/full", "verify", "proof.bin", GUEST, *WEAK).returncode == FAILED


@pytest.mark.parametrize(
    "arguments",
    [
        ["execute", GUEST, "--output"],
        ["verify", "proof.bin", GUEST, *WEAK, "--output"],
        ["setup", GUEST, "-o"],
        ["prove", "examples/fibonacci", "-o"],
        ["prove", "examples/fibonacci", "-o", "own.bin", "--trace"],
        ["plan", "examples/fibonacci", "--html"],
    ],
    ids=" ".join,
)
def test_outputs_go_into_a_pipe(arguments: list[str], proof: bytes) -> None:
    """All commands open a pipe and write to it."""
    Path("proof.bin").write_bytes(proof)
    os.mkfifo("fifo")
    reader = subprocess.Popen(["cat", "fifo"], stdout=subprocess.PIPE)
    assert main([*arguments, "fifo"]) == OK
    through, _ = reader.communicate(timeout=600)
    assert Path("fifo").is_fifo()
    assert main([*arguments, "file"]) == OK
    assert len(through) > 1 and (through == Path("file").read_bytes() or "--trace" in arguments)  # a trace has times


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="no /proc")
def test_the_path_of_standard_output_is_standard_output(proof: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(TURNS, "prove", GUEST, "--input", "-", "--commit-input", *WEAK, "-o", "/dev/stdout")
    assert done.returncode == OK and done.stdout == proof and b"standard output" in done.stderr
    assert main(["setup", GUEST, "-o", "/dev/stdout", "--json"]) == USAGE
    assert "can receive only one file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["prove", "big.elf"],
        ["prove", "big.vk"],
        ["prove", "big.py"],
        ["prove", GUEST, "--input", "big"],
        ["batch", "big"],
        ["verify", "big"],
        ["verify", "proof.bin", "big.vk", *WEAK],
        ["verify", "proof.bin", GUEST, *WEAK, "--input", "big"],
        ["verify", "proof.bin", GUEST, *WEAK, "--expect-output", "big"],
        ["compress", "big"],
        ["aggregate", "big"],
        ["setup", "big.elf"],
        ["inspect", "big"],
        ["inspect", "big.elf"],
        ["export", "big"],
        ["plan", GUEST, "--input", "big"],
        ["check", "examples/fibonacci", "--input", "big"],
        ["execute", "big.elf"],
        ["execute", GUEST, "--input", "big"],
        ["submit", GUEST, "--input", "big"],
        ["submit", GUEST, "--token-file", "big"],
        ["warm", "big.elf"],
    ],
    ids=" ".join,
)
def test_files_that_are_too_long_are_not_read(
    arguments: list[str], proof: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("proof.bin").write_bytes(proof)
    for name, start in (("big", b""), ("big.elf", b"\x7fELF"), ("big.vk", KEY_PREFIX), ("big.py", b"")):
        Path(name).write_bytes(start)
        os.truncate(name, 2 << 30)  # no byte of the disk
    assert main(arguments) == USAGE
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and ": more than " in error and " bytes" in error and "big" in error


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["verify", "guest.vk", "proof.bin"], "guest.vk is a verifying key, proof.bin a proof: swap them"),
        (["verify", GUEST, "proof.bin"], f"{GUEST} is an ELF file, proof.bin a proof: swap them"),
        (["verify", "tables.py", "proof.bin"], "tables.py is a .py file, proof.bin a proof: swap them"),
        (["verify", "guest.vk"], "guest.vk: a verifying key, not a proof: the proof comes first, then PROGRAM"),
        (["verify", "proof.bin", "proof.bin", *WEAK], "proof.bin: a proof, not a program: `graphprover verify` and"),
        (["compress", "guest.vk", "proof.bin"], "guest.vk is a verifying key, proof.bin a proof: swap them"),
        (["aggregate", "guest.vk"], "guest.vk: a verifying key, not a proof: programs are given by --program"),
        (["export", GUEST, "proof.bin"], f"{GUEST} is an ELF file, proof.bin a proof: swap them"),
        (["inspect", GUEST, "guest.vk"], f"{GUEST} is a program, guest.vk a verifying key: swap them"),
        (["inspect", GUEST, "proof.bin"], f"{GUEST} is a program, proof.bin a proof: swap them"),
        (["inspect", "guest.vk", "proof.bin"], "guest.vk is a verifying key, proof.bin a proof: swap them"),
        (["prove", "proof.bin"], "proof.bin: a proof, not a program"),
        (["prove", "guest.vk"], "guest.vk: a verifying key, which runs nothing: give the ELF file"),
        (["plan", "proof.bin"], "proof.bin: a proof, not a program"),
        (["check", "proof.bin"], "proof.bin: a proof, not a program"),
        (["submit", "proof.bin"], "proof.bin: a proof, not a program"),
        (["setup", "proof.bin"], "proof.bin: a proof, not a program"),
        (["setup", "guest.vk", "-o", "x"], "guest.vk: a verifying key, not an ELF file; only guests"),
        (["warm", "guest.vk"], "guest.vk: a verifying key, not an ELF file; only guests"),
        (["execute", "proof.bin"], "proof.bin: a proof, not an ELF file"),
        (["execute", "guest.vk"], "guest.vk: a verifying key, not an ELF file"),
        (["batch", "proof.bin"], "proof.bin: a proof, not a TOML file of jobs"),
    ],
    ids=lambda given: " ".join(map(os.path.basename, given)) if isinstance(given, list) else "",
)
def test_a_file_in_the_place_of_another_one(
    arguments: list[str], line: str, proof: bytes, key: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("proof.bin").write_bytes(proof)
    Path("guest.vk").write_bytes(key)
    Path("tables.py").touch()
    assert main(arguments) == USAGE
    error = capsys.readouterr().err
    assert error.startswith(f"graphprover: {line}") and error.count("\n") == 1
