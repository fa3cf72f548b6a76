"""Guests compiled by the tests against the library of examples/guests/sdk, with each compiler and linker there is."""

import shutil
import subprocess
from pathlib import Path

SDK = Path(__file__).parents[2] / "examples/guests/sdk"
TARGET = ("-march=rv64im", "-mabi=lp64", "-mcmodel=medany")
GCC, GNU_LD = "riscv64-unknown-elf-gcc", "riscv64-unknown-elf-ld"


def found(*names: str) -> str | None:
    """Return the first of some programs that is installed."""
    return next((name for name in names if shutil.which(name)), None)


COMPILERS: dict[str, tuple[str | None, ...]] = {
    "gcc": (found(GCC), "-ffreestanding"),
    "clang": (found("clang-19", "clang"), "--target=riscv64-unknown-elf", "-ffreestanding"),
}
LINKERS = {"ld": found(GNU_LD), "lld": found("ld.lld-19", "ld.lld")}


def lacks(compiler: str, linker: str) -> str:
    """Return why no guest can be built by a compiler and a linker, or nothing."""
    missing = [name for name, there in ((compiler, COMPILERS[compiler][0]), (linker, LINKERS[linker])) if not there]
    return f"no {' and no '.join(missing)} for RISC-V" if missing else ""


def build(source: str, folder: Path, compiler: str, linker: str, *flags: str) -> Path:
    """Compile a source and link it with libzkvm.a and nothing else; return the ELF file."""
    (folder / "main.c").write_text(source)
    own = [flag for flag in COMPILERS[compiler] if flag is not None]
    compiled = (*own, *TARGET, "-O2", "-Wall", f"-I{SDK / 'include'}", *flags)
    subprocess.run([*compiled, "-c", "main.c", "-o", "main.o"], cwd=folder, check=True)
    command = [str(LINKERS[linker]), "main.o", f"-L{SDK}", "-lzkvm", "-T", str(SDK / "zkvm.ld"), "-o", "main.elf"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "main.elf"
