"""Functions of libzkvm.a from Rust's compiler_builtins: those that compilers call for numbers, and most of <math.h>.

gcc finds them in libgcc, and clang in compiler-rt, which stock packages do not have for RISC-V.
"""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from accelerators import BINUTILS, TARGET, binutils, rust_environment

# Names as in GCC's manual: of integers of 32 to 128 bits, float, double and long double. Those of <math.h> are for the
# middle two; no function of C has the suffixes of the types f16 and f128.
WANTED = re.compile(r"__(?!rust|gnu)[a-z]+[0-9]?")
MATH = re.compile(r"(?!mem|bcmp|strlen)[a-z][a-z0-9_]*(?<!f16)(?<!f128)")
MANIFEST = """
[package]
name = "nothing"
version = "0.0.0"
edition = "2021"

[profile.release]
panic = "abort"
codegen-units = 10000 # an object for each function
"""


def compiler_objects(folder: Path) -> list[Path]:
    """Compile the functions into one object for each, with its parts in further objects.

    Args:
        folder: The existing folder for the objects.

    Returns:
        The objects, by name. Their functions are weak, and call no others than `memcpy` and `memset`.

    Raises:
        subprocess.CalledProcessError: a compiler failed; its messages are on stderr.
        ValueError: The functions call something that is not among them.
    """
    with tempfile.TemporaryDirectory() as temporary:
        crate = Path(temporary)
        (crate / "src").mkdir()
        (crate / "src/lib.rs").write_text("#![no_std]\n")
        (crate / "Cargo.toml").write_text(MANIFEST)
        environment = rust_environment(crate / "target")
        command = [environment["CARGO"], "build", "--quiet", "--release", f"--target={TARGET}", "-Zbuild-std=core"]
        subprocess.run(command, cwd=crate, env=environment, check=True)
        (library,) = crate.glob(f"target/{TARGET}/release/deps/libcompiler_builtins-*.rlib")
        members = crate / "members"
        members.mkdir()
        binutils("ar", "x", library, cwd=members)
        results = []
        for number, member in enumerate(_needed(sorted(members.glob("*.o")))):
            results.append(folder / f"compiler_{number:03}.o")
            remove = ("--strip-debug", "--discard-locals", "-R.comment", "-R.eh_frame", "-R.note.GNU-stack")
            binutils("objcopy", *remove, member, results[-1])
        return results


def _needed(members: list[Path]) -> list[Path]:
    """Return the objects that define wanted functions, and the objects that define their callees."""
    defined: dict[str, Path] = {}
    undefined: dict[Path, list[str]] = {}
    for member in members:
        undefined[member] = []
        for kind, name in _symbols(member):
            if kind == "U":
                undefined[member].append(name)
            else:
                defined[name] = member
    needed: set[Path] = set()
    names = [name for name in defined if WANTED.fullmatch(name) or MATH.fullmatch(name)]
    while names:
        name = names.pop()
        if name in ("memcpy", "memset"):
            continue
        if name not in defined:
            raise ValueError(f"{name}: not a function of compiler_builtins")
        if defined[name] not in needed:
            needed.add(defined[name])
            names += undefined[defined[name]]
    return [member for member in members if member in needed]


def _symbols(member: Path) -> list[tuple[str, str]]:
    """Return the type and name of each global symbol."""
    command = [f"{BINUTILS}nm", "--extern-only", "--format=posix", os.fspath(member)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [(kind, name) for name, kind, *_ in (line.split() for line in lines)]
