"""Programs against the standard's headers alone, built by unmodified compilers and linkers with libzkvm.a and zkvm.ld.

Each program is also built for this computer. What it puts out there is the reference for every other build.
"""

import importlib.util
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from graphprover.vm.executor.execute import execute
from graphprover.vm.program.elf import load_elf
from tests.vm.kit import SDK

STOCK = Path(__file__).parent / "stock"
HOST = (SDK / "host/native.c", SDK / "host/keccak.c", SDK / "host/sha256.c", SDK / "host/arithmetic.c")

MACHINE = ("-march=rv64im", "-mabi=lp64", "-mcmodel=medany", "-ffreestanding", "-O2")
CLANG = ("--target=riscv64-unknown-elf", *MACHINE)
ZIG = ("zig",) if shutil.which("zig") else (sys.executable, "-m", "ziglang")
ZIG_MACHINE = ("-target", "riscv64-freestanding-none", "-mcpu=generic_rv64+m", "-mcmodel=medany", "-O2")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
LANGUAGES: dict[str, tuple[str, ...]] = {"c": ("-std=c11",), "cpp": ("-std=c++11", "-fno-exceptions", "-fno-rtti")}

COMPILERS: dict[str, dict[str, tuple[str, ...]]] = {
    "gcc": {"c": ("riscv64-unknown-elf-gcc", *MACHINE), "cpp": ("riscv64-unknown-elf-g++", *MACHINE)},
    "clang": {"c": ("clang-19", *CLANG), "cpp": ("clang++-19", *CLANG)},
    "zig": {"c": (*ZIG, "cc", *ZIG_MACHINE), "cpp": (*ZIG, "c++", *ZIG_MACHINE)},
}
LINKERS = {
    "GNU ld": ("riscv64-unknown-elf-ld",),
    "LLD": ("ld.lld-19",),
    "LLD with gp": ("ld.lld-19", "--relax-gp"),
    "zig": (*ZIG, "ld.lld"),
}
PAIRS = [
    ("gcc", "GNU ld"),
    ("gcc", "LLD"),
    ("clang", "GNU ld"),
    ("clang", "LLD"),
    ("clang", "LLD with gp"),
    ("zig", "zig"),
]
SIZES = [0, 1, 8, 500]


def need(*commands: Sequence[str]) -> None:
    """Skip the test if a tool is missing."""
    for command in commands:
        if not shutil.which(command[0]) or (command == ZIG[: len(command)] and not has_zig()):
            pytest.skip(f"no {command[0]}")


def has_zig() -> bool:
    return shutil.which("zig") is not None or importlib.util.find_spec("ziglang") is not None


def run(*command: str | Path, data: bytes = b"", code: int = 0) -> bytes:
    done = subprocess.run(command, input=data, capture_output=True)
    assert done.returncode == code, done.stderr.decode()
    return done.stdout


def data_of(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def built(language: str, compiler: str, linker: str, folder: Path, *more: str) -> Path:
    """Build the program of a language as a guest: with a compiler, the headers, the archive and the script alone."""
    command = COMPILERS[compiler][language]
    need(command, LINKERS[linker], *((ZIG,) if "zig" in (compiler, linker) else ()))
    main, elf = folder / "main.o", folder / "main.elf"
    flags = (*LANGUAGES[language], *WARNINGS, f"-I{SDK / 'include'}", *more)
    run(*command, *flags, "-c", STOCK / f"portable.{language}", "-o", main)
    run(*LINKERS[linker], "-o", elf, main, f"-L{SDK}", "-lzkvm", "-T", SDK / "zkvm.ld")
    return elf


@pytest.fixture(scope="module", params=LANGUAGES)
def reference(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[bytes]]:
    """Return a language, and what its program puts out for each size of the input when built for this computer."""
    language, folder = request.param, tmp_path_factory.mktemp("host")
    need(("gcc",), ("g++",))
    sanitize = "-fsanitize=address,undefined"
    objects = [folder / f"{file.stem}.o" for file in HOST]
    for source, target in zip(HOST, objects, strict=True):
        run("gcc", "-std=c11", *WARNINGS, sanitize, "-g", f"-I{SDK / 'include'}", "-c", source, "-o", target)
    compiler = {"c": "gcc", "cpp": "g++"}[language]
    flags = (*LANGUAGES[language][:1], "-g", sanitize, f"-I{SDK / 'include'}")
    run(compiler, *flags, STOCK / f"portable.{language}", *objects, "-o", folder / "main")
    codes = {"c": [0] * len(SIZES), "cpp": [size % 7 for size in SIZES]}[language]
    return language, [
        run(folder / "main", data=data_of(size), code=code) for size, code in zip(SIZES, codes, strict=True)
    ]


@pytest.mark.parametrize(("compiler", "linker"), PAIRS)
def test_compilers_and_linkers_agree(
    reference: tuple[str, list[bytes]], compiler: str, linker: str, tmp_path: Path
) -> None:
    language, expected = reference
    image = load_elf(built(language, compiler, linker, tmp_path).read_bytes())
    for size, output in zip(SIZES, expected, strict=True):
        execution = execute(image, data_of(size))
        assert execution.output == output
        assert execution.exit_code == (size % 7 if language == "cpp" else 0)


@pytest.mark.parametrize(
    ("compiler", "linker", "model"), [("gcc", "GNU ld", "medany"), ("clang", "LLD with gp", "medlow")]
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_linkers_replace_addresses_by_offsets_from_gp(
    language: str, compiler: str, linker: str, model: str, tmp_path: Path
) -> None:
    """LLD does so for the addresses of the model medlow alone."""
    need(("riscv64-unknown-elf-objdump",))
    elf = built(language, compiler, linker, tmp_path, f"-mcmodel={model}")
    code = run("riscv64-unknown-elf-objdump", "-d", "--no-show-raw-insn", elf).decode()
    main = code[code.index("<main>:") :]
    assert "(gp)" in main or ",gp," in main
    assert execute(load_elf(elf.read_bytes()), b"abc").exit_code == {"c": 0, "cpp": 3}[language]
