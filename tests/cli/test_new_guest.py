"""``graphprover new-guest``: the contents of the folder and, if compilers are installed, the built guests."""

import errno
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from graphprover.__main__ import INTERRUPTED
from graphprover.cli import new_guest
from graphprover.cli.main import main
from graphprover.cli.new_guest import KITS, sources
from graphprover.protocol.hashing import keccak256
from graphprover.runtime.errors import OK, USAGE
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.program.elf import load_elf

SOURCES = Path(__file__).parents[2] / "examples/guests"
COMPILER = shutil.which("riscv64-unknown-elf-gcc")

needs_compiler = pytest.mark.skipif(not COMPILER, reason="no riscv64-unknown-elf-gcc")


def has_picolibc() -> bool:
    if not COMPILER:
        return False
    found = subprocess.run([COMPILER, "-print-file-name=picolibc.specs"], capture_output=True, text=True, check=True)
    return Path(found.stdout.strip()).is_absolute()


needs_picolibc = pytest.mark.skipif(not has_picolibc(), reason="no picolibc-riscv64-unknown-elf")


def make(folder: Path, *arguments: str, fails: bool = False) -> str:
    """Run `make` in the folder, and return its output."""
    done = subprocess.run(["make", "-B", "-C", str(folder), *arguments], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stdout + done.stderr


def new(folder: Path, source: str = "", language: str = "c") -> Path:
    """Create a new guest folder with another program."""
    assert main(["new-guest", str(folder), "--lang", language]) == OK
    if source:
        (folder / ("main.c" if language == "c" else "src/main.rs")).write_text(source)
    return folder


def run(folder: Path, data: bytes = b"", language: str = "c") -> Execution:
    return execute(load_elf((folder / KITS[language].guest).read_bytes()), data)


@pytest.mark.parametrize("language", KITS)
def test_a_new_folder(language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new one" / "guest"
    assert main(["new-guest", str(folder), "--lang", language]) == OK
    files = {str(file.relative_to(folder)): file for file in folder.rglob("*") if file.is_file()}
    expected = sources(language)
    assert files.keys() == expected.keys()
    for name, source in expected.items():
        assert files[name].read_bytes() == source.read_bytes()
    said, readme = capsys.readouterr().out, files["README.md"].read_text()
    commands = [line.strip() for line in said.splitlines() if line.startswith("  ")]
    assert commands[0] == f"cd '{folder}'" and len(commands) == 6
    assert all(f"    {command}\n" in readme for command in commands[1:])


def test_the_kit_is_complete() -> None:
    """Some language has each file, but the sources of libzkvm.a."""
    parts = {file.name for file in (SOURCES / "sdk").iterdir()}
    assert parts == {part for kit in KITS.values() for part in kit.sdk} | {"accelerators", "runtime"}
    assert {file.name for file in (SOURCES / "templates").iterdir()} == KITS.keys()
    some = {"sdk/include/zkvm.h", "sdk/libzkvm.a", "sdk/rust/src/lib.rs", ".cargo/config.toml"}
    assert some <= sources("rust").keys()
    assert {"Makefile", "main.c", "host/prove.py"} <= sources("c").keys()


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    assert main(["new-guest", str(tmp_path)]) == OK
    assert (tmp_path / "main.c").is_file()


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "main.c").write_text("mine")
    assert main(["new-guest", str(tmp_path)]) == USAGE
    assert "holds something already" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["main.c"]
    for name in ("main.c", "main.c/below"):
        assert main(["new-guest", str(tmp_path / name)]) == USAGE
        assert "main.c" in capsys.readouterr().err
    assert (tmp_path / "main.c").read_text() == "mine"


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("reason", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_folder_is_written_whole_or_not_at_all(
    exists: bool,
    reason: BaseException,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, write_bytes = tmp_path / "guest", Path.write_bytes
    if exists:
        folder.mkdir()

    def write(path: Path, data: bytes) -> int:
        if path.name == "zkvm.ld":
            write_bytes(path, data[:10])
            raise reason
        return write_bytes(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", write)
        if isinstance(reason, OSError):
            assert main(["new-guest", str(folder)]) == USAGE
            place = folder if exists else tmp_path
            line = f"graphprover: {folder}: no space left in {place}: free space there or write elsewhere\n"
            assert capsys.readouterr().err == line
        else:
            with pytest.raises(KeyboardInterrupt):
                main(["new-guest", str(folder)])
    assert list(tmp_path.rglob("*")) == [folder] * exists
    assert main(["new-guest", str(folder)]) == OK


@pytest.mark.parametrize("exists", [False, True])
def test_a_signal_removes_a_folder_that_is_not_whole(exists: bool, tmp_path: Path) -> None:
    folder = tmp_path / "guest"
    if exists:
        folder.mkdir()
    script = """
import signal, sys
from pathlib import Path
write_bytes = Path.write_bytes
def write(path, data):
    write_bytes(path, data)
    if path.name == "zkvm.ld":
        signal.raise_signal(signal.SIGINT)
Path.write_bytes = write
from graphprover.__main__ import main
sys.exit(main())
"""
    command = [sys.executable, "-c", script, "new-guest", str(folder)]
    done = subprocess.run(command, cwd=SOURCES.parents[1], capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (INTERRUPTED, "graphprover: interrupted")
    assert list(tmp_path.rglob("*")) == [folder] * exists


def test_a_package_without_the_kit_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(KITS, "c", new_guest.Kit("C", "main.elf", ("lost.ld",)))
    assert main(["new-guest", str(tmp_path / "guest")]) == USAGE
    assert "installed without its guest kit" in capsys.readouterr().err
    assert not (tmp_path / "guest").exists()


@needs_compiler
def test_the_small_program_and_its_host_program(tmp_path: Path) -> None:
    make(new(tmp_path))
    assert run(tmp_path, b"abc").output == keccak256(b"abc")
    environment = {**os.environ, "PYTHONPATH": str(SOURCES.parents[1])}
    command = [sys.executable, "host/prove.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("proved: "), done.stderr


ARITHMETIC = """
#include "zkvm.h"

int main(void)
{
    const uint8_t *input;
    size_t size;
    double halves;
    uint64_t words[3];

    read_input(&input, &size);
    memcpy(words, input, 16);
    halves = (double)words[0] / 2 + 0.25;
    __int128 product = (__int128)(int64_t)words[0] * (int64_t)words[1];
    words[0] = (uint64_t)(halves * 100);
    words[1] = (uint64_t)(product / 1000007);
    words[2] = (uint64_t)__builtin_popcountll(words[1]);
    write_output((const uint8_t *)words, sizeof words);
    return 0;
}
"""


@needs_compiler
def test_what_the_compiler_calls_is_there(tmp_path: Path) -> None:
    """Floating point and 128 bits are functions of libgcc."""
    make(new(tmp_path, ARITHMETIC))
    left, right = 123_457, 2**62 + 12345
    quotient = left * right // 1_000_007
    expected = (int((left / 2 + 0.25) * 100), quotient, quotient.bit_count())
    assert struct.unpack("<3Q", run(tmp_path, struct.pack("<2Q", left, right)).output) == expected


CONSTRUCTOR = """
#include "zkvm.h"

static int ready;
static __attribute__((constructor(200))) void second(void) { ready = 2 * ready; }
static __attribute__((constructor(101))) void first(void) { ready = 21; }

int main(void)
{
    return ready;
}
"""

THREAD_LOCAL = """
#include "zkvm.h"

static __thread volatile int set = 40;
static __thread volatile long zero;

int main(void)
{
    set += 1;
    zero += 1;
    return set + (int)zero;
}
"""


@needs_compiler
@pytest.mark.parametrize("library", ["", "picolibc"])
@pytest.mark.parametrize("source", [CONSTRUCTOR, THREAD_LOCAL])
def test_the_start_sets_up_what_a_guest_has(source: str, library: str, tmp_path: Path) -> None:
    if library and not has_picolibc():
        pytest.skip("no picolibc-riscv64-unknown-elf")
    make(new(tmp_path, source), f"LIBC={library}")
    assert run(tmp_path).exit_code == 42


LIBRARY = r"""
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void bye(void) { puts("bye"); }

static int by_value(const void *left, const void *right)
{
    long a = *(const long *)left, b = *(const long *)right;
    return (a > b) - (a < b);
}

int main(void)
{
    long *numbers = NULL, number;
    size_t count = 0;
    double sum = 0;

    atexit(bye);
    while (scanf("%ld", &number) == 1) {
        char *other = malloc(100); /* so that what grows has to move */
        numbers = realloc(numbers, (count + 1) * sizeof *numbers);
        numbers[count++] = number;
        free(other);
    }
    qsort(numbers, count, sizeof *numbers, by_value);
    for (size_t i = 0; i < count; i++) {
        printf("%ld ", numbers[i]);
        sum += numbers[i];
    }
    printf("\nroot of the sum %.6f\n", sqrt(sum));
    strtol("99999999999999999999999999", NULL, 10);
    fprintf(stderr, "errno is ERANGE: %d\n", errno == ERANGE);
    char *copy = strdup("copy");
    puts(copy);
    return count == 0;
}
"""


@needs_compiler
def test_a_frame_larger_than_the_stack_is_an_error(tmp_path: Path) -> None:
    source = """
    #include "zkvm.h"
    int main(void) { volatile uint8_t here[SIZE]; here[0] = 7; return here[0]; }
    """
    folder = new(tmp_path / "guest", source.replace("SIZE", "16000000"))
    make(folder)
    assert run(folder).exit_code == 7
    (folder / "main.c").write_text(source.replace("SIZE", "17000000"))
    assert re.search("main.c:3:.* frame size of 1700[0-9]* bytes is larger than 16777216", make(folder, fails=True))


@needs_picolibc
def test_a_c_library(tmp_path: Path) -> None:
    make(new(tmp_path, LIBRARY), "LIBC=picolibc")
    execution = run(tmp_path, b" 5 -3 17\n4\t1000000 2")
    expected = "-3 2 4 5 17 1000000 \nroot of the sum 1000.012500\ncopy\nbye\n"  # stderr is no output
    assert (execution.output.decode(), execution.exit_code) == (expected, 0)
    assert run(tmp_path).exit_code == 1  # no numbers


GROWING = r"""
#include "zkvm.h"

enum { BLOCKS = 12, TURNS = 400 };

int main(void)
{
    uint8_t *blocks[BLOCKS] = {0};
    size_t sizes[BLOCKS] = {0}, random = 1;

    for (int turn = 0; turn < TURNS; turn++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t i = (random >> 40) % BLOCKS, size = (random >> 50) % (turn + 8);
        for (size_t at = 0; at < sizes[i]; at++)
            if (blocks[i][at] != i)
                return 1;
        if (turn % 2) {
            free(blocks[i]);
            blocks[i] = NULL;
        }
        blocks[i] = realloc(blocks[i], size + 1);
        memset(blocks[i], (int)i, sizes[i] = size + 1);
        if (turn % 40 == 0 && OWN)
            memset(allocate(24), 255, 24);
    }
    return 0;
}
"""


@needs_picolibc
@pytest.mark.parametrize("own", [0, 1])
def test_blocks_that_grow_keep_apart(own: int, tmp_path: Path) -> None:
    """malloc() grows its last block in place, unless the guest has allocated (OWN) behind it."""
    make(new(tmp_path, GROWING.replace("OWN", str(own))), "LIBC=picolibc")
    assert run(tmp_path).exit_code == 0


@needs_picolibc
@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ("assert(!argc_of_nobody);", 134, b""),
        ("abort();", 134, b""),
        ('printf("before"); exit(3);', 3, b"before"),
        ("return malloc(1ul << 31) ? 1 : 2;", 2, b""),
    ],
)
def test_ways_to_end(body: str, code: int, said: bytes, tmp_path: Path) -> None:
    includes = "#include <assert.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    source = f"{includes}static volatile int argc_of_nobody = 1;\nint main(void) {{ (void)argc_of_nobody; {body} }}\n"
    make(new(tmp_path, source), "LIBC=picolibc")
    execution = run(tmp_path)
    assert (execution.exit_code, execution.output) == (code, said)
