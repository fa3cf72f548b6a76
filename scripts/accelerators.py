"""The accelerator functions of libzkvm.a, compiled from the Rust workspace examples/guests/sdk/accelerators."""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

WORKSPACE = Path(__file__).parents[1] / "examples/guests/sdk/accelerators"

# Each group is one object of the archive: a guest links only the groups that it calls.
GROUPS = {
    "blake2f": ("zkvm_blake2f",),
    "hashes": ("zkvm_ripemd160",),
}
TARGET = "riscv64im-unknown-none-elf"
RUST = Path(os.environ.get("GRAPHPROVER_RUST", "/usr/bin"))  # has a cargo and a rustc with the library's sources
BINUTILS = "riscv64-unknown-elf-"

# Functions of Rust's own library that libzkvm.a has as well, in a faster version.
MEMORY_FUNCTIONS = ("memcpy", "memmove", "memset", "memcmp", "strlen")


def accelerator_objects(folder: Path) -> list[Path]:
    """Compile the accelerator functions into one relocatable object for each group.

    An object defines the functions of its group, and no other global symbol. It needs Debian's packages rustc, cargo,
    rust-src and binutils-riscv64-unknown-elf (GRAPHPROVER_RUST: the folder of another cargo and rustc, which must have
    the source of Rust's library); cargo fetches the crates that Cargo.lock pins. The same compiler gives the same
    bytes in any folder.

    Args:
        folder: The existing folder for the objects. Set CARGO_TARGET_DIR to cache the compiled crates.

    Returns:
        The objects, by name.

    Raises:
        subprocess.CalledProcessError: a compiler or linker failed; its messages are on stderr.
    """
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(os.environ.get("CARGO_TARGET_DIR") or temporary)
        environment = rust_environment(target)
        return [_object(group, target, folder, environment) for group in sorted(GROUPS)]


def rust_environment(target: Path) -> dict[str, str]:
    """Return the environment in which cargo compiles for the machine."""
    sysroot = subprocess.run(
        [RUST / "rustc", "--print", "sysroot"], check=True, capture_output=True, text=True
    ).stdout.strip()
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    flags = [
        "-Ctarget-feature=+unaligned-scalar-mem",
        "-Cpasses=lower-atomic",
        "-Crelocation-model=static",
        f"--remap-path-prefix={WORKSPACE}=/accelerators",
        f"--remap-path-prefix={sysroot}/lib/rustlib/src/rust=/rust",
    ]
    flags += [f"--remap-path-prefix={source}=/crates" for source in sorted((home / "registry/src").glob("*"))]
    return {
        **os.environ,
        "CARGO": str(RUST / "cargo"),
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
        "CARGO_TARGET_DIR": str(target),
        "RUSTC": str(RUST / "rustc"),
        "RUSTC_BOOTSTRAP": "1",
    }


def _object(group: str, target: Path, folder: Path, environment: Mapping[str, str]) -> Path:
    """Compile one group."""
    command = [environment["CARGO"], "rustc", "--quiet", "--locked", "--release", f"--package=zkvm-{group}"]
    options = ["--lib", "--crate-type=staticlib", f"--target={TARGET}", "-Zbuild-std=core"]
    subprocess.run([*command, *options], cwd=WORKSPACE, env=environment, check=True)
    archive = target / TARGET / "release" / f"libzkvm_{group}.a"
    result = folder / f"{group}.o"
    with tempfile.TemporaryDirectory() as temporary:
        members = Path(temporary)
        binutils("ar", "x", archive, cwd=members)
        renamed = [f"--redefine-sym={name}=unused_{name}" for name in MEMORY_FUNCTIONS]
        for member in members.glob("compiler_builtins-*"):
            binutils("objcopy", *renamed, member)
        roots = [f"--require-defined={name}" for name in GROUPS[group]]
        linked = members / "linked"
        binutils("ld", "-r", "-melf64lriscv", "--gc-sections", *roots, *sorted(members.iterdir()), "-o", linked)
        kept = [f"--keep-global-symbol={name}" for name in GROUPS[group]]
        # The linker's plugin, of an older LLVM, cannot read the bitcode: `ar` would list no symbols of the object.
        removed = [f"--remove-section={name}" for name in (".comment", ".eh_frame", ".llvmbc", ".llvmcmd")]
        binutils("objcopy", "--strip-debug", "--discard-locals", *removed, *kept, linked, result)
    return result


def binutils(tool: str, *arguments: str | Path, cwd: Path | None = None) -> None:
    """Run a tool of the machine's binutils, with its messages shown."""
    subprocess.run([BINUTILS + tool, *map(str, arguments)], cwd=cwd, check=True)
