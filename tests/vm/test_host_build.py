"""The same guest as a program of this computer, of Linux on RV64, and of the machine."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from graphprover.cli.new_guest import make_folder
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.elf import load_elf
from tests.naive import keccak256

SDK = Path(__file__).parents[2] / "examples/guests/sdk"
HOST = SDK / "host"
SOFTWARE = (HOST / "keccak.c", HOST / "sha256.c", HOST / "arithmetic.c")  # of host calls
INCLUDE = f"-I{SDK / 'include'}"
SANITIZE = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover")
MACHINE = ("-march=rv64im", "-mabi=lp64", "-mcmodel=medany", "-ffreestanding", "-O2", "-Wall", "-Wextra", "-Werror")
LINK: tuple[str | Path, ...] = ("-nostdlib", "-static", "-T", SDK / "zkvm.ld", f"-L{SDK}")
CROSS, QEMU = "riscv64-unknown-elf-gcc", "qemu-riscv64"

needs_host = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
needs_qemu = pytest.mark.skipif(not (shutil.which(CROSS) and shutil.which(QEMU)), reason=f"no {CROSS} or {QEMU}")

GUEST = """
#include "zkvm.h"

static int ready;
static uint64_t last[4];
static __attribute__((constructor)) void get_ready(void) { ready = 3; }
static void finish(void) { write_output((const uint8_t *)"end", 3); }

int main(void)
{
    const uint8_t *input;
    size_t size;
    zkvm_keccak256_hash hash;
    uint64_t *words = allocate(3 * sizeof *words);

    atexit(finish);
    read_input(&input, &size);
    read_input(&input, &size);
    zkvm_keccak256(input, size, &hash);
    write_output(hash.data, sizeof hash.data);
    for (size_t i = 0; i < size; i++)
        last[i % 4] = last[i % 4] * 31 + input[i];
    words[0] = size;
    words[1] = last[3];
    words[2] = (uint64_t)(_heap_end - _heap_start) >= 1 << 30;
    write_output((const uint8_t *)words, 3 * sizeof *words);
    zkvm_print((const uint8_t *)"printed\\n", 8);
    return ready;
}
""".replace("static int ready", "extern uint8_t _heap_start[], _heap_end[];\nstatic int ready")

BROKEN = """
#include "zkvm.h"

int main(void)
{
    const uint8_t *input;
    size_t size;

    read_input(&input, &size);
    return input[size];
}
"""


def compiled(folder: Path, kind: str, source: str = GUEST) -> Path:
    """Build a guest as a program of a kind: "host", "qemu" or "elf"."""
    main, program = folder / "main.c", folder / f"main.{kind}"
    main.write_text(source)
    if kind == "host":
        command: list[str | Path] = ["gcc", *SANITIZE, INCLUDE, main, HOST / "native.c", *SOFTWARE]
    else:
        command = [CROSS, *MACHINE, INCLUDE, main]
        if kind == "qemu":
            command += ["-Wl,-e,__zkvm_linux_start", HOST / "linux_riscv64.c", *SOFTWARE]
        command += [*LINK, "-lzkvm"]
    done = subprocess.run([*command, "-o", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def run(*command: str | Path, data: bytes = b"", **environment: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(command, input=data, capture_output=True, env=environment or None)


def data_of(size: int) -> bytes:
    return random.Random(size).randbytes(size)


@needs_host
@needs_qemu
def test_a_guest_computes_the_same_everywhere(tmp_path: Path) -> None:
    host, qemu = compiled(tmp_path, "host"), compiled(tmp_path, "qemu")
    image = load_elf(compiled(tmp_path, "elf").read_bytes())
    for size in (0, 1, 135, 136, 137, 272, 100_000):
        data = data_of(size)
        execution = execute(image, data)
        assert execution.output.startswith(keccak256(data)) and execution.output.endswith(b"end")
        assert execution.exit_code == 3
        for command in ((host,), (QEMU, qemu)):
            done = run(*command, data=data)
            assert (done.stdout, done.stderr, done.returncode) == (execution.output, b"printed\n", 3)


@needs_qemu
def test_the_objects_of_a_guest_are_linked_again(tmp_path: Path) -> None:
    """What runs under QEMU is the compiled code of the guest, at other addresses."""
    elf, qemu = compiled(tmp_path, "elf"), compiled(tmp_path, "qemu")
    code = {}
    for program in (elf, qemu):
        listing = subprocess.run(
            ["riscv64-unknown-elf-objdump", "-d", "--no-addresses", "--no-show-raw-insn", program],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        main = listing[listing.index("<main>:") :].splitlines()[1:]
        code[program] = [line.split()[0] for line in main[: main.index("")] if line.strip()]
    assert code[elf] == code[qemu]


@needs_host
@needs_qemu
def test_the_makefile_of_a_new_folder_builds_both(tmp_path: Path) -> None:
    make_folder(tmp_path, "c")
    (tmp_path / "main.c").write_text(GUEST)
    subprocess.run(["make", "-s", "main.elf", "main.host", "main.qemu"], cwd=tmp_path, check=True)
    output = execute(load_elf((tmp_path / "main.elf").read_bytes()), b"abc").output
    for command in ((tmp_path / "main.host",), (QEMU, tmp_path / "main.qemu")):
        assert run(*command, data=b"abc").stdout == output
    (tmp_path / "main.c").write_text(LACKS)
    done = subprocess.run(["make", "-s", "main.host"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode and "zkvm_ripemd160" in done.stderr


LACKS = """
#include "zkvm.h"

int main(void)
{
    zkvm_ripemd160_hash hash;

    return zkvm_ripemd160(hash.data, sizeof hash.data, &hash);
}
"""

RANDOM = """
#include "zkvm.h"

int main(void)
{
    uint64_t words[3];

    for (int i = 0; i < 3; i++)
        words[i] = zkvm_random_u64();
    write_output((const uint8_t *)words, sizeof words);
    return 0;
}
"""


@needs_host
@needs_qemu
def test_random_numbers_continue_from_a_seed(tmp_path: Path) -> None:
    host, qemu = compiled(tmp_path, "host", RANDOM), compiled(tmp_path, "qemu", RANDOM)
    first, second = (run(host, ZKVM_RANDOM_SEED=seed).stdout for seed in ("0", "0x5"))
    assert first[:8] == (0xE220A8397B1DCDAF).to_bytes(8, "little")  # SplitMix64's first word of seed 0
    assert len({first[i : i + 8] for i in (0, 8, 16)} | {second[i : i + 8] for i in (0, 8, 16)}) == 6
    assert run(host).stdout == first == run(QEMU, qemu).stdout


@needs_host
def test_a_sanitizer_notices_a_read_behind_the_input(tmp_path: Path) -> None:
    done = run(compiled(tmp_path, "host", BROKEN), data=b"abc")
    assert done.returncode not in (0, ord("c")) and b"heap-buffer-overflow" in done.stderr


@needs_host
@needs_qemu
@pytest.mark.parametrize("kind", ["host", "qemu"])
def test_output_that_cannot_be_written_is_an_error(kind: str, tmp_path: Path) -> None:
    program = compiled(tmp_path, kind)
    command: list[str | Path] = [program] if kind == "host" else [QEMU, program]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, input=b"", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode not in (0, 3) and b"standard output" in done.stderr


@needs_host
@needs_qemu
@pytest.mark.parametrize("kind", ["host", "qemu"])
def test_input_that_cannot_be_read_is_an_error(kind: str, tmp_path: Path) -> None:
    program = compiled(tmp_path, kind)
    command: list[str | Path] = [program] if kind == "host" else [QEMU, program]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 3
    with open("/dev/null", "wb") as only_written:
        done = subprocess.run(command, stdin=only_written, capture_output=True)
    assert done.returncode not in (0, 3) and b"standard input" in done.stderr
