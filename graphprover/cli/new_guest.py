"""``graphprover new-guest``: create a folder with the guest kit and a small program."""

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from graphprover.cli.args import Command
from graphprover.cli.paths import path_argument
from graphprover.runtime.errors import OK
from graphprover.runtime.files import FileError, write_folder

LIBRARY = ("NOTICE.md", "include", "libzkvm.a", "libzkvm.json", "zkvm.ld")  # of every kit
BUILT = {"target", "__pycache__"}  # folders that compilers leave in a checkout
RENAMED = {"cargo.toml": ".cargo/config.toml"}


@dataclass(frozen=True)
class Kit:
    """The contents of a new folder of a language: the files of its template, and these files of examples/guests."""

    name: str  # of the language
    guest: str  # the file that `make` builds from the small program
    sdk: tuple[str, ...] = LIBRARY  # files and folders of examples/guests/sdk
    others: tuple[str, ...] = ()  # files of examples/guests


KITS = {
    "c": Kit("C", "main.elf", (*LIBRARY, "host"), ("Makefile",)),
    "cpp": Kit("C++", "main.elf", (*LIBRARY, "host")),
    "rust": Kit("Rust", "guest.elf", (*LIBRARY, "riscv64im-graphprover.json", "rust")),
    "zig": Kit("Zig", "main.elf", (*LIBRARY, "host", "zig")),
}


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "The folder receives the kit, a Makefile, a small program, a host program and a README, which lists the "
        "packages of the compilers.",
        ["sums", "sums --lang rust"],
    )
    parser.add_argument("folder", type=path_argument, metavar="FOLDER", help="A new folder, or an empty one.")
    parser.add_argument("--lang", choices=sorted(KITS), default="c", help="Language of the guest. Default: c.")


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover new-guest``; raise FileError if the folder is not empty or cannot be written."""
    make_folder(options.folder, options.lang)
    kit = KITS[options.lang]
    print(
        f"{options.folder}: a guest in {kit.name}; its README lists the packages to compile it\n"
        "next:\n"
        f"  cd {shlex.quote(str(options.folder))}\n"
        "  make\n"
        f"  graphprover execute {kit.guest} --input README.md\n"
        f"  graphprover prove {kit.guest} --input README.md -o proof.bin\n"
        f"  graphprover verify proof.bin {kit.guest}\n"
        "  python host/prove.py"
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
    try:
        contents = {name: source.read_bytes() for name, source in sources(language).items()}
    except OSError as error:
        raise FileError(
            f"{error.filename}: {error.strerror}: graphprover was installed without its guest kit"
        ) from error
    write_folder(folder, contents)


def sources(language: str) -> dict[str, Traversable]:
    """Return the files of a new folder by name, and where each is copied from.

    Args:
        language: A key of KITS.

    Raises:
        OSError: The installed package lacks the kit.
    """
    guests, kit = resources.files("graphprover") / "examples" / "guests", KITS[language]
    template = {RENAMED.get(name, name): file for name, file in _files(guests / "templates" / language)}
    parts = {part: _files(guests / "sdk" / part) for part in kit.sdk}
    sdk = {f"sdk/{part}{'/' if name else ''}{name}": file for part, files in parts.items() for name, file in files}
    return {**template, **sdk, **{name: guests / name for name in kit.others}}


def _files(place: Traversable, name: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield the files below a folder, by their names there; a file is its only one, without a name."""
    if not place.is_dir():
        yield name, place
        return
    for entry in sorted(place.iterdir(), key=lambda entry: entry.name):
        if entry.name not in BUILT:
            yield from _files(entry, f"{name}/{entry.name}" if name else entry.name)
