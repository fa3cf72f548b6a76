"""The guests' library: its bytes and sources, the start and end of guests, memory functions, guards, headers."""

import hashlib
import itertools
import json
import random
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.executor.faults import GuestFault
from graphprover.vm.program.elf import load_elf
from tests.vm.kit import COMPILERS, GCC, LINKERS, SDK, build, found, lacks

SCRIPT = SDK.parents[2] / "scripts/build_kit.py"
DESCRIBED = json.loads((SDK / "libzkvm.json").read_text())
PICOLIBC = Path("/usr/lib/picolibc/riscv64-unknown-elf/lib/rv64im/lp64")  # where Debian has it
GUARD = 768 << 20
STACK = 16 << 20

Builder = Callable[..., Path]


@pytest.fixture(params=[(compiler, linker) for compiler in COMPILERS for linker in LINKERS], ids="-".join)
def builder(request: pytest.FixtureRequest, tmp_path: Path) -> Builder:
    """Return a function that builds a guest with one of the compilers and one of the linkers."""
    if reason := lacks(*request.param):
        pytest.skip(reason)
    return lambda source, *flags: build(source, tmp_path, *request.param, *flags)


def run(file: Path, data: bytes = b"") -> Execution:
    return execute(load_elf(file.read_bytes()), data)


def test_the_archive_is_what_its_description_says() -> None:
    archive = (SDK / "libzkvm.a").read_bytes()
    assert (hashlib.sha256(archive).hexdigest(), len(archive)) == (DESCRIBED["sha256"], DESCRIBED["bytes"])


def test_the_archive_is_built_from_these_sources() -> None:
    """A changed source needs scripts/build_kit.py."""
    folders = ("accelerators", "include", "runtime")
    names = {file.relative_to(SDK) for folder in folders for file in (SDK / folder).rglob("*") if file.is_file()}
    names = {name for name in names if "target" not in name.parts}
    assert DESCRIBED["sources"].keys() == {str(name) for name in names}
    for name, digest in DESCRIBED["sources"].items():
        assert hashlib.sha256((SDK / name).read_bytes()).hexdigest() == digest, name


def test_the_archive_has_no_path_of_the_machine_that_built_it() -> None:
    archive = (SDK / "libzkvm.a").read_bytes()
    assert not re.search(rb"/(home|root|tmp|build|usr)/", archive)


@pytest.mark.slow
def test_the_archive_is_reproducible(tmp_path: Path) -> None:
    """The same compilers give the same bytes, in another folder too."""
    shutil.copytree(SDK, tmp_path / "other place" / "examples/guests/sdk")
    script = tmp_path / "other place" / "scripts" / SCRIPT.name
    script.parent.mkdir()
    for module in SCRIPT.parent.glob("*.py"):
        shutil.copy(module, script.parent)
    shown = subprocess.run([sys.executable, script, "--compilers"], capture_output=True, text=True)
    if shown.returncode or json.loads(shown.stdout) != DESCRIBED["compilers"]:
        pytest.skip(f"these compilers built the archive: {DESCRIBED['compilers']}")
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


ECHO = """
#include "zkvm.h"

int main(void)
{
    const uint8_t *input;
    size_t size;

    read_input(&input, &size);
    write_output(input, size);
    write_output(input, size / 2);
    return (int)size;
}
"""


def test_input_output_and_exit_code(builder: Builder) -> None:
    file = builder(ECHO)
    for data in (b"", b"a", bytes(range(200))):
        execution = run(file, data)
        assert (execution.output, execution.exit_code) == (data + data[: len(data) // 2], len(data))


BEFORE_AND_AFTER_MAIN = """
#include "zkvm.h"

static volatile int ready;
static __thread volatile int set = 40;
static __thread volatile long zero, aligned __attribute__((aligned(64)));
static uint64_t zeros[1000];

static void put(char byte) { write_output((const uint8_t *)&byte, 1); }
static __attribute__((constructor(200))) void second(void) { put('2'); ready = 2 * ready; }
static __attribute__((constructor(101))) void first(void) { put('1'); ready = 21; }
static __attribute__((destructor(101))) void last(void) { put('z'); }
static __attribute__((destructor(200))) void late(void) { put('y'); }
static void at_end(void) { put('b'); }
static void added(void) { put('!'); atexit(at_end); }
static void again(void) { put('a'); }

int main(void)
{
    put('m');
    for (int i = 0; i < 1000; i++)
        if (zeros[i])
            return 1;
    set += 1;
    zero += 1;
    aligned += 2;
    if (ready != 42 || set != 41 || zero != 1 || aligned != 2 || (uintptr_t)&aligned % 64)
        return 2;
    atexit(added);
    for (int i = 0; i < 100; i++)
        atexit(again);
    if (EXITS)
        exit(42);
    return 42;
}
"""


@pytest.mark.parametrize("exits", [0, 1])
def test_what_happens_before_and_after_main(exits: int, builder: Builder) -> None:
    """Constructors, thread-local storage, atexit() in reverse, destructors."""
    execution = run(builder(BEFORE_AND_AFTER_MAIN, f"-DEXITS={exits}"))
    assert (execution.output, execution.exit_code) == (b"12m" + 100 * b"a" + b"!byz", 42)


ENDS = """
#include "zkvm.h"

_Noreturn void __assert_fail(const char *assertion, const char *file, unsigned int line, const char *function);
_Noreturn void _exit(int code);
static void put(void) { write_output((const uint8_t *)"x", 1); }

int main(void)
{
    const uint8_t *input;
    size_t size;

    read_input(&input, &size);
    atexit(put);
    if (size == 0)
        abort();
    if (size == 1)
        __assert_fail("1 == 2", "main.c", 4294967295u, "main");
    if (size == 2)
        _exit(3);
    if (size == 3)
        allocate((size_t)1 << 31);
    if (size == 4)
        exit(-1);
    write_output(0, (size_t)1 << 31);
}
"""


def test_ways_to_end(builder: Builder) -> None:
    file = builder(ENDS)
    for size, (code, output) in enumerate([(134, b""), (134, b""), (3, b""), (254, b""), (2**64 - 1, b"x")]):
        execution = run(file, bytes(size))
        assert (execution.exit_code, execution.output) == (code, output)
    with pytest.raises(GuestFault, match=r"breakpoint .* in write_output"):
        run(file, bytes(5))


RECURSION = """
#include "zkvm.h"

static __attribute__((noinline)) int deep(volatile int *above)
{
    volatile int here[SIZE / 4];

    here[0] = above ? above[0] + 1 : 1;
    return deep(here) + here[0];
}

int main(void)
{
    return deep(0);
}
"""


@pytest.mark.parametrize("size", [64, 4096, 500_000])
def test_recursion_without_end_reaches_the_guard(size: int, builder: Builder) -> None:
    """The gap also stops frames of many pages."""
    file = builder(RECURSION, f"-DSIZE={size}")
    floor = symbols(file)["__zkvm_stack_end"] - STACK
    with pytest.raises(GuestFault, match=r"unmapped|stack") as caught:
        run(file)
    found = re.search(r"0x[0-9a-f]+", caught.value.detail)
    assert found and floor - 16 - GUARD <= int(found[0], 16) < floor


LARGE_FRAME = """
#include "zkvm.h"

static volatile uint64_t data = 1;

/* Write into the data if the frame reaches down to it, and else at the frame's far end. */
__attribute__((noinline)) static void deep(void)
{
    volatile uint8_t here[SIZE];

    *((intptr_t)here <= (intptr_t)&data ? (volatile uint8_t *)&data : here) = 7;
}

int main(void)
{
    deep();
    return (int)data;
}
"""


@pytest.mark.parametrize("mib", [18, 40, 512, 760])
def test_a_frame_cannot_jump_over_the_guard(mib: int, builder: Builder) -> None:
    file = builder(LARGE_FRAME, f"-DSIZE={mib << 20}")
    end = symbols(file)["__zkvm_stack_end"]
    with pytest.raises(GuestFault, match="stack overflow") as caught:
        run(file)
    found = re.search(r"0x[0-9a-f]+", caught.value.detail)
    assert found and end - (mib << 20) - 4096 < int(found[0], 16) <= end - (mib << 20)


NULL = """
#include "zkvm.h"

int main(void)
{
    const uint8_t *input;
    size_t size;

    read_input(&input, &size);
    volatile uint64_t *address = *(uint64_t *volatile *)input;
    if (size == 9)
        *address = 1;
    return (int)*address;
}
"""


@pytest.mark.parametrize("address", [0, 8, 0xFF8, 0x8000])
@pytest.mark.parametrize("more", [b"", b"w"])
def test_the_null_page_is_a_fault(address: int, more: bytes, builder: Builder) -> None:
    file = builder(NULL)
    with pytest.raises(GuestFault, match=rf"(unmapped|null).*{address:#x}"):
        run(file, struct.pack("<Q", address) + more)


def test_no_words_exist_in_the_guards(builder: Builder) -> None:
    """So that no proof can have an access to them: what exists is part of the program's hash."""
    file = builder(ECHO)
    image, floor = load_elf(file.read_bytes()), symbols(file)["__zkvm_stack_end"] - STACK
    assert image.zero_base in (floor - 8, floor)  # the end of the stack is aligned to 16
    low = [int(address) for address in image.addresses if address < image.zero_base - 8]
    assert min(low, default=floor) >= 0x10000 and max(low, default=0) < image.zero_base - 8 - GUARD


MEMORY = """
#include "zkvm.h"

void *(*volatile copy)(void *, const void *, size_t) = (void *(*)(void *, const void *, size_t))memcpy;
void *(*volatile move)(void *, const void *, size_t) = memmove;
void *(*volatile set)(void *, int, size_t) = memset;
int (*volatile compare)(const void *, const void *, size_t) = memcmp;

static uint8_t room[1024] __attribute__((aligned(64)));

/* The input is a list of calls: which, to, from, size, and a byte. Each writes the memory around its target. */
int main(void)
{
    const uint8_t *input;
    size_t size;

    read_input(&input, &size);
    const uint16_t *call = (const uint16_t *)input;
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = (uint8_t)(i * 7 % 5 * 50 + i / 64);
    for (; size; size -= 10, call += 5) {
        uint8_t *to = room + call[1];
        void *result = to;
        int order = 0;
        if (call[0] == 0)
            result = copy(to, room + call[2], call[3]);
        if (call[0] == 1)
            result = move(to, room + call[2], call[3]);
        if (call[0] == 2)
            result = set(to, call[4] | 0x5500, call[3]);
        if (call[0] == 3)
            order = compare(to, room + call[2], call[3]);
        if (result != to)
            return 1;
        uint8_t sign = order < 0 ? 1 : order > 0 ? 2 : 0;
        write_output(&sign, 1);
        if (call[0] != 3)
            write_output(to - 16, (size_t)call[3] + 32);
    }
    return 0;
}
"""
COPY, MOVE, SET, COMPARE = range(4)
LONGEST = 130


def memory_calls() -> Iterator[tuple[int, int, int, int, int]]:
    """Yield calls of the memory functions: all sizes up to 130 with all alignments, and many overlaps."""
    random_ = random.Random(35)
    for size, to in itertools.product(range(LONGEST + 1), range(256, 264)):
        yield from ((COPY, to, source, size, 0) for source in range(512, 520))
        yield SET, to, 0, size, random_.randrange(256)
        far = {size - 1, size, size + 1, random_.randrange(size + 1)}
        for distance in {*range(10), 15, 16, 17, 31, 32, 33, 63, 64, 65} | far:
            yield from ((MOVE, to, to + step, size, 0) for step in (distance, -distance))
            yield SET, 64 + random_.randrange(800), 0, 8, random_.randrange(256)
        for source in range(512, 520):
            yield MOVE, to, source, size, 0  # equal, and then different in one byte
            yield COMPARE, to, source, size, 0
            yield SET, to + random_.randrange(size + 1), 0, 1, random_.randrange(256)
            yield COMPARE, to, source, size, 0
            yield COMPARE, source, to, size, 0


def memory_results(calls: Iterable[tuple[int, int, int, int, int]]) -> bytes:
    """Return what the calls give by Python's bytes."""
    room, results = bytearray(i * 7 % 5 * 50 + i // 64 for i in range(1024)), bytearray()
    for kind, to, source, size, byte in calls:
        left, right = bytes(room[to : to + size]), bytes(room[source : source + size])
        if kind == COMPARE:
            results.append(1 if left < right else 2 if left > right else 0)
        else:
            room[to : to + size] = bytes([byte]) * size if kind == SET else right
            results += b"\0" + room[to - 16 : to + size + 16]
    return bytes(results)


def test_memory_functions_are_those_of_c(tmp_path: Path) -> None:
    if reason := lacks("gcc", "ld"):
        pytest.skip(reason)
    calls = list(memory_calls())
    data = struct.pack(f"<{5 * len(calls)}H", *itertools.chain.from_iterable(calls))
    assert run(build(MEMORY, tmp_path, "gcc", "ld"), data).output == memory_results(calls)


IMPLICIT = """
#include "zkvm.h"

struct large { uint64_t words[500]; };
extern struct large here, there;
struct large here, there;

int main(void)
{
    there = here; /* compilers call memcpy */
    struct large zero = {0}; /* and memset */
    here = zero;
    return (int)there.words[7];
}
"""


def symbols(file: Path) -> dict[str, int]:
    """Return the addresses of a file's symbols."""
    with file.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return {symbol.name: symbol["st_value"] for symbol in table.iter_symbols()}


def code(file: Path, name: str) -> bytes:
    """Return the first instructions of a function."""
    image, address = load_elf(file.read_bytes()), symbols(file)[name]
    return image.code[(address - image.code_base) // 4 :][:12].tobytes()


def test_memory_functions_of_the_library_win_where_only_the_compiler_calls_them(builder: Builder) -> None:
    """They are in one object with _start, which every guest has."""
    file = builder(IMPLICIT, "-fno-builtin")
    table = symbols(file)
    assert {"memcpy", "memmove", "memset", "memcmp", "strlen"} <= table.keys()
    assert 0 < table["memcpy"] - table["_start"] < 1024
    assert run(file).exit_code == 0


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("first", ["-lzkvm -lc", "-lc -lzkvm"])
def test_they_win_over_those_of_a_c_library(linker: str, first: str, tmp_path: Path) -> None:
    """Where the C library is first, there is an error: its functions never win without a word."""
    if reason := lacks("gcc", linker):
        pytest.skip(reason)
    if not (PICOLIBC / "libc.a").is_file():
        pytest.skip("no picolibc-riscv64-unknown-elf")
    own = build(IMPLICIT, tmp_path, "gcc", linker, "-fno-builtin")
    expected = {name: code(own, name) for name in ("memcpy", "memset")}
    command = [str(LINKERS[linker]), "main.o", f"-L{SDK}", f"-L{PICOLIBC}", *first.split(), "-T", str(SDK / "zkvm.ld")]
    done = subprocess.run([*command, "-o", "other.elf"], cwd=tmp_path, capture_output=True, text=True)
    if done.returncode:
        assert first == "-lc -lzkvm" and re.search("(multiple|duplicate).* mem|mem.*multiple", done.stderr)
    else:
        other = tmp_path / "other.elf"
        assert {name: code(other, name) for name in expected} == expected


WEAK = """
#include "zkvm.h"

/* As Rust's compiler_builtins has them. */
__attribute__((weak)) void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    (void)from, (void)size;
    write_output((const uint8_t *)"weak", 4);
    return to;
}

static volatile size_t size = 32;

int main(void)
{
    static uint8_t from[32] = "strong", to[32];

    memcpy(to, from, size);
    write_output(to, 6);
    return 0;
}
"""


def test_they_win_over_weak_ones(builder: Builder) -> None:
    assert run(builder(WEAK, "-fno-builtin")).output == b"strong"


@pytest.mark.parametrize("header", ["zkvm.h", "zkvm_io.h", "zkvm_accelerators.h"])
@pytest.mark.parametrize("standard", ["c11", "c17", "c++11", "c++17"])
@pytest.mark.parametrize("compiler", ["gcc", "clang", "riscv64-unknown-elf-gcc"])
def test_headers_are_clean(header: str, standard: str, compiler: str) -> None:
    plus = "++" in standard
    names = {
        "gcc": ("g++",) if plus else ("gcc",),
        "clang": ("clang++-19", "clang++") if plus else ("clang-19", "clang"),
        GCC: ("riscv64-unknown-elf-g++",) if plus else (GCC,),
    }
    if not (program := found(*names[compiler])):
        pytest.skip(f"no {compiler}")
    flags = [f"-std={standard}", "-Wall", "-Wextra", "-pedantic", "-Werror", "-ffreestanding", f"-I{SDK / 'include'}"]
    language = "c++" if plus else "c"
    source = f'#include "{header}"\n#include "{header}"\nint main() {{ return 0; }}\n'.replace("()", "(void)", not plus)
    command = [program, *flags, "-fsyntax-only", "-x", language, "-"]
    subprocess.run(command, input=source, text=True, check=True)


def test_the_accelerators_header_is_the_published_one() -> None:
    """eth-act/zkvm-standards, main, 12 May 2026."""
    published = "4ea21714a3dd8d7f3bcc249deb6b82d12cc052e61456db6b56d25a685173042f"
    assert hashlib.sha256((SDK / "include/zkvm_accelerators.h").read_bytes()).hexdigest() == published


RANDOM = """
#include "zkvm.h"

int main(void)
{
    write_output((const uint8_t *)0xBFFFFFF8, 8);
    for (int i = 0; i < 3; i++) {
        uint64_t word = zkvm_random_u64();
        write_output((const uint8_t *)&word, sizeof word);
    }
    return 0;
}
"""


def test_random_numbers_are_those_of_splitmix64(builder: Builder) -> None:
    """From the last word of the input's region."""
    seed, *words = struct.unpack("<4Q", run(builder(RANDOM)).output)
    assert words == [mixed((seed + (i + 1) * 0x9E3779B97F4A7C15) % 2**64) for i in range(3)]
    assert mixed(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF  # published, for a seed of 0


def mixed(word: int) -> int:
    """Return the output of SplitMix64 for a state."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31
