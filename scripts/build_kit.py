"""Build the guests' library, examples/guests/sdk/libzkvm.a, and describe it in libzkvm.json.

    python scripts/build_kit.py           # write both files
    python scripts/build_kit.py --check   # build elsewhere, and fail unless the bytes equal the committed files
    python scripts/build_kit.py --compilers  # print the versions of the compilers, as libzkvm.json has them

The same sources and compilers give the same bytes in any folder. The compilers are Debian's gcc-riscv64-unknown-elf,
binutils-riscv64-unknown-elf, picolibc-riscv64-unknown-elf, rustc-web, cargo-web and rust-web-src; cargo
fetches the crates that accelerators/Cargo.lock pins.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from accelerators import BINUTILS, RUST, accelerator_objects, binutils
from compiler_functions import compiler_objects

SDK = Path(__file__).resolve().parents[1] / "examples/guests/sdk"
TARGET = ("-march=rv64im", "-mabi=lp64", "-mcmodel=medany", "-misa-spec=2.2")
# What costs a proof is the number of instructions, and the machine takes misaligned words: hence the tuning.
CFLAGS = (
    *TARGET,
    "-std=c11",
    "-O2",
    "-mtune=size",
    "-mno-strict-align",
    "-ffreestanding",
    "-fbuiltin",
    "-fno-tree-loop-distribute-patterns",
    "-fno-tree-scev-cprop",
    "-ffunction-sections",
    "-fdata-sections",
    "-Wall",
    "-Wextra",
    "-pedantic",
    "-Werror",
    "-I../include",
)
LIBRARY = ("--specs=picolibc.specs",)  # for the part that knows picolibc's types
START = (
    "start.S",
    "memory.c",
    "sbrk.c",
    "atomic.c",
)  # one object: a guest with _start has all four, before a C library's and a compiler's versions


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="Compare with the files of the repository.")
    parser.add_argument("--compilers", action="store_true", help="Print the versions of the compilers as JSON.")
    options = parser.parse_args(arguments)
    if not shutil.which(f"{BINUTILS}gcc"):
        sys.exit(f"no {BINUTILS}gcc: apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf")
    if options.compilers:
        print(json.dumps(compilers(), allow_nan=False))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        archive = build(SDK, Path(folder))
    description = describe(SDK, archive)
    files = {SDK / "libzkvm.a": archive, SDK / "libzkvm.json": description}
    if options.check:
        differ = [file for file, data in files.items() if not file.is_file() or file.read_bytes() != data]
        for file in differ:
            print(f"{file}: differs from what its sources give: run scripts/build_kit.py", file=sys.stderr)
        return int(bool(differ))
    for file, data in files.items():
        file.write_bytes(data)
    return 0


def build(sdk: Path, folder: Path) -> bytes:
    """Return the archive of a kit's sources.

    Args:
        sdk: The folder `sdk`, with sources.
        folder: An empty folder for objects.

    Raises:
        subprocess.CalledProcessError: A compiler refused a source.
    """
    objects = [*runtime_objects(sdk, folder), *accelerator_objects(folder), *compiler_objects(folder)]
    archive = folder / "libzkvm.a"
    binutils("ar", "rcD", archive, *objects)
    return archive.read_bytes()


def runtime_objects(sdk: Path, folder: Path) -> list[Path]:
    """Compile C and assembly, and return one object for each source; the sources in START share the first object."""
    sources = sorted(file.name for file in (sdk / "runtime").glob("*.[cS]") if file.name not in START)
    start = [compiled(sdk / "runtime", name, folder) for name in START]
    joined = folder / "start_memory.o"
    binutils("ld", "-r", *start, "-o", joined)
    binutils("objcopy", "--strip-symbol=atomic.c", joined)  # a guest without atomics should not name their file
    return [joined, *(compiled(sdk / "runtime", name, folder) for name in sources)]


def compiled(sources: Path, name: str, folder: Path) -> Path:
    """Compile a file of C or assembly, by its relative name: an object states no path of this machine."""
    target = folder / f"{Path(name).stem}.o"
    flags = (*(LIBRARY if name == "picolibc.c" else ()), *CFLAGS)
    subprocess.run([f"{BINUTILS}gcc", *flags, "-c", name, "-o", target], check=True, cwd=sources)
    binutils("objcopy", "--remove-section=.comment", target)
    return target


def describe(sdk: Path, archive: bytes) -> bytes:
    """Return the contents of libzkvm.json: the archive's hash and size, compilers, and the hash of each source."""
    described = {
        "sha256": hashlib.sha256(archive).hexdigest(),
        "bytes": len(archive),
        "compilers": compilers(),
        "sources": {name: hashlib.sha256((sdk / name).read_bytes()).hexdigest() for name in sources(sdk)},
    }
    return (json.dumps(described, indent=1, allow_nan=False) + "\n").encode()


def compilers() -> dict[str, str]:
    """Return the versions of all that has a part in the archive's bytes."""
    return {
        "gcc": output(f"{BINUTILS}gcc", "-dumpfullversion"),
        "binutils": output(f"{BINUTILS}ld", "--version").splitlines()[0].rpartition(" ")[2],
        "picolibc": picolibc_version(),
        "rustc": output(str(RUST / "rustc"), "--version").split()[1],
    }


def sources(sdk: Path) -> list[str]:
    """Return the names of all files that the archive is made of, in order."""
    folders = ("accelerators", "include", "runtime")
    files = (file for folder in folders for file in (sdk / folder).rglob("*") if file.is_file())
    names = (file.relative_to(sdk) for file in files)
    return sorted(str(name) for name in names if "target" not in name.parts)


def picolibc_version() -> str:
    """Return the release of picolibc's headers."""
    source = "#include <picolibc.h>\n__PICOLIBC_VERSION__\n"
    command = (f"{BINUTILS}gcc", *LIBRARY, "-E", "-P", "-")
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    return text.strip().strip('"')


def output(*command: str) -> str:
    """Return the standard output of a program of the toolchain."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
