"""``graphprover new-guest``: create a folder with the guest kit and a small program."""

import argparse
import shlex
from importlib import resources
from pathlib import Path

from graphprover.cli.args import OK, Command
from graphprover.cli.paths import path_argument
from graphprover.runtime.files import FileError, write_folder

# The sources of a build for this computer, at the same places as in examples/guests.
HOST = {f"sdk/host/{name}": f"sdk/host/{name}" for name in ("host.mk", "keccak.c", "linux_riscv64.c", "native.c")}

# For each language: the files of a new folder, and their sources in examples/guests.
KITS = {
    "c": {
        "README.md": "templates/c/README.md",
        "main.c": "templates/c/main.c",
        "Makefile": "Makefile",
        "sdk/include/zkvm.h": "sdk/include/zkvm.h",
        "sdk/include/zkvm_accelerators.h": "sdk/include/zkvm_accelerators.h",
        "sdk/include/zkvm_io.h": "sdk/include/zkvm_io.h",
        "sdk/libzkvm.a": "sdk/libzkvm.a",
        "sdk/libzkvm.json": "sdk/libzkvm.json",
        "sdk/zkvm.ld": "sdk/zkvm.ld",
        **HOST,
    },
    "rust": {
        "README.md": "templates/rust/README.md",
        "src/main.rs": "templates/rust/src/main.rs",
        "Cargo.toml": "templates/rust/Cargo.toml",
        "Makefile": "templates/rust/Makefile",
        "sdk/guest.ld": "sdk/guest.ld",
        "sdk/zkvm.rs": "sdk/zkvm.rs",
    },
}
GUESTS = {"c": "main.elf", "rust": "guest.elf"}  # file that `make` builds from the small program


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        "new-guest",
        run,
        "Create a folder for a new guest program.",
        "The folder receives the kit, a Makefile, a small program and a README. Guests are written in C, with or "
        "without a C library, or in Rust. The README lists the Debian packages of the compilers for RV64IM.",
        ["sums", "sums --language rust"],
    )
    parser.add_argument("folder", type=path_argument, metavar="FOLDER", help="A new folder, or an empty one.")
    parser.add_argument("--language", choices=sorted(KITS), default="c", help="Language of the guest. Default: c.")


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover new-guest``; raise FileError if the folder is not empty or cannot be written."""
    make_folder(options.folder, options.language)
    guest = GUESTS[options.language]
    print(
        f"{options.folder}: a guest in {options.language.capitalize()}; its README lists the packages to compile it\n"
        "next:\n"
        f"  cd {shlex.quote(str(options.folder))}\n"
        "  make\n"
        f"  graphprover execute {guest} --input README.md\n"
        f"  graphprover prove {guest} --input README.md -o proof.bin\n"
        f"  graphprover verify proof.bin {guest}"
    )
    return OK


def make_folder(folder: Path, language: str) -> None:
    """Create `folder` with the kit of a language, completely or not at all.

    Args:
        folder: A new folder, or an empty one.
        language: A key of KITS.

    Raises:
        FileError: The folder is a file, is not empty or cannot be written, or the installed package lacks the kit.
    """
    guests = resources.files("graphprover") / "examples" / "guests"
    try:
        contents = {file: (guests / source).read_bytes() for file, source in KITS[language].items()}
    except OSError as error:
        raise FileError(
            f"{error.filename}: {error.strerror}: graphprover was installed without its guest kit"
        ) from error
    write_folder(folder, contents)
