"""Opens programs: packaged examples, files and folders, and the ones that came from another process as bytes."""

import atexit
import importlib
import importlib.util
import os
import re
import sys
import tempfile
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from graphprover.jobs.errors import IMPORTED, line_of, words_of
from graphprover.jobs.kinds import PROOF, kind_of_file
from graphprover.jobs.programs import Program, ProgramError, TableProgram, is_packaged, packaged_names
from graphprover.proof.compressed import AnyProof
from graphprover.proof.proof import MAX_LABEL_BYTES
from graphprover.protocol.level import Level
from graphprover.protocol.proof import Caps
from graphprover.runtime.files import MAX_PROGRAM_BYTES, MAX_TEXT_BYTES, FileError, read_file
from graphprover.verifier import Verdict
from graphprover.vm.program.elf import ElfError
from graphprover.vm.program.foreign import MAGIC, START, other_file
from graphprover.vm.statement.claim import ANY
from graphprover.vm.statement.guest import Guest, load_guest
from graphprover.vm.statement.key import PREFIX as KEY_PREFIX
from graphprover.vm.statement.key import MalformedKey
from graphprover.vm.statement.statement import HASH_CHARACTERS

FUNCTIONS = ("tables", "prove_inputs", "describe")
SMALLER = "remove its debug information"  # the remedy for a program that is too long
KEPT_OPEN = 16  # programs that came from other processes


def open_program(name: str) -> Program:
    """Open the packaged example called ``name`` (``examples/keccak``), whatever the working directory holds; else the
    program at that path, whose code runs here and now (``./examples/keccak`` is always a path).

    Raises ProgramError, saying why, when there is neither or it is no program.
    """
    path = Path(name)
    if is_packaged(name):
        return load_packaged(name.rstrip("/"))
    if is_guest(path):
        return _guest(name)
    if path.exists():
        return _checked(name, _label(path), _import_path(path, str(path)))
    raise ProgramError(f"{name}: no such file or folder, nor one of the examples: {', '.join(packaged_names())}")


def _label(path: Path, most: int = MAX_LABEL_BYTES) -> str:
    """Return the label of proofs of the program at a path: the name without the folders, which stay private.

    At most ``most`` bytes of UTF-8.
    """
    name = os.path.basename(os.path.abspath(path))  # of "." too, and of a link itself, not of its target
    return name.encode(errors="replace")[:most].decode(errors="ignore")


def is_guest(path: Path) -> bool:
    """Return whether a file is an ELF file or a verifying key; raises ProgramError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(KEY_PREFIX)).startswith((MAGIC, KEY_PREFIX))
    except (FileNotFoundError, IsADirectoryError):
        return False
    except OSError as error:
        raise ProgramError(f"{path}: {error.strerror}") from error


def _guest(name: str) -> Guest:
    """Load the guest of an ELF file or a key; raises ProgramError if the machine does not run it."""
    path = Path(name)
    try:
        data = read_file(path, MAX_PROGRAM_BYTES, SMALLER)
    except FileError as error:
        raise ProgramError(str(error)) from error
    return _loaded(name, _label(path, MAX_LABEL_BYTES - HASH_CHARACTERS - 1), data)


def _loaded(name: str, label: str, data: bytes) -> Guest:
    try:
        return load_guest(name, label, data)
    except (ElfError, MalformedKey) as error:
        raise ProgramError(f"{Path(name)}: {error}") from error


def load_packaged(name: str) -> TableProgram:
    """Load the packaged example called ``name``, whatever the working directory holds.

    It is safe for a name that a proof states. Raises ProgramError for any other name.
    """
    if name not in packaged_names():
        raise ProgramError(f"{name!r} is none of the packaged examples: {', '.join(packaged_names())}")
    return _checked(name, name, importlib.import_module(f"graphprover.{name.replace('/', '.')}"))


def _checked(name: str, label: str, module: ModuleType) -> TableProgram:
    for function in FUNCTIONS:
        if not callable(getattr(module, function, None)):
            raise ProgramError(f"{name}: no function {function}(); a program defines {', '.join(FUNCTIONS)}")
    return TableProgram(name, label, module)


def _import_path(path: Path, shown: str) -> ModuleType:
    """Import the module at a path, which errors call ``shown``."""
    path = Path(os.path.abspath(path))  # later imports succeed from any working directory
    file = path / "__init__.py" if path.is_dir() else path
    if file.suffix != ".py" or not file.is_file():
        raise ProgramError(f"{shown}: {_no_program(path)}")
    if file.stat().st_size > MAX_TEXT_BYTES:
        raise ProgramError(f"{shown}: more than {MAX_TEXT_BYTES:,} bytes, so it is no program: name another file")
    # A name of its own for every path, so that the modules of one program are never taken for another's.
    name = "graphprover_program_" + re.sub(r"\W", "_", str(path.resolve()))
    spec = importlib.util.spec_from_file_location(
        name, file, submodule_search_locations=[str(path)] if path.is_dir() else None
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    IMPORTED[name] = path, shown
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ProgramError(f"{line_of(error) or shown}: cannot be imported: {words_of(error)}") from error
    return module


def _no_program(path: Path) -> str:
    """Return the kind of a file or folder that is no program, and the remedy."""
    if path.is_dir():
        guest = min((file.name for file in path.glob("*.elf")), default="")
        remedy = f"take the guest {guest} in it" if guest else "take an ELF file for RV64IM, or a folder of tables"
        return f"a folder without an __init__.py: {remedy}"
    if kind_of_file(path) == PROOF:
        return "a proof, not a program: `graphprover verify` and `inspect` take proofs"
    what = ""
    if path.is_file():
        with path.open("rb") as file:
            what = other_file(file.read(START))
    return f"no program, but {what}" if what else "no program: neither an ELF file for RV64IM nor a .py file of tables"


@dataclass(frozen=True)
class Packed:
    """A program as bytes for another process; none of its code runs before `unpack`."""

    name: str
    label: str
    # An ELF file or a key, the .py file, or all .py files of a folder, by their paths there; nothing of an example.
    files: tuple[tuple[str, bytes], ...]


def pack(program: Program) -> Packed:
    """Return a program as bytes for another process; raises ProgramError if it has no files.

    The sources of a ``.py`` program are read now, not when it was opened.
    """
    files = program.files()
    if files is None:
        raise ProgramError(f"{program.name}: was made by this process, not from an ELF file, so it cannot travel")
    return Packed(program.name, program.label, files)


@lru_cache(maxsize=KEPT_OPEN)
def unpack(packed: Packed) -> Program:
    """Open the program that was packed, whose code runs here; equal bytes give the same program.

    Raises ProgramError as `open_program` does.
    """
    name, label, files = packed.name, packed.label, packed.files
    if not files:
        return load_packaged(label)
    (first, data), *_ = files
    if not first:
        return replace(_loaded(name, "", data), label=label)
    folder = tempfile.TemporaryDirectory(prefix="graphprover-")
    root = Path(folder.name)
    try:
        for inside, text in files:
            (root / inside).parent.mkdir(parents=True, exist_ok=True)
            (root / inside).write_bytes(text)
        module = _import_path(root if (root / "__init__.py").is_file() else root / first, name)
        program = _checked(name, label, module)
    except BaseException:
        folder.cleanup()
        raise
    atexit.register(folder.cleanup)  # not before: its functions may import more of it
    return program


@dataclass(frozen=True)
class PackedCheck:
    """The verification of proofs of one program at one level, which travels to another process of this host."""

    packed: Packed
    level: Level

    def load(self) -> None:
        """Open the program, which is kept open."""
        unpack(self.packed)

    def __call__(self, proof: AnyProof, caps: Caps) -> Verdict:
        """Check a proof; arguments and errors are as for `Program.verify`."""
        program, level = unpack(self.packed), self.level
        return program.verify(proof, level.security, level.proximity, exit_code=ANY, preprocessed=caps)
