"""Programs: Python modules that describe tables and make their traces, by name or by path; or guests, ELF files that
the RV64IM machine runs.

A module defines three functions:

- ``tables() -> list[Air]``: the statement, without public values;
- ``prove_inputs(data: bytes | None) -> list[(trace, public values)]``: for each table its main trace, uint64
  (columns, rows), and its public values, made from the input file if there is one. Raises ValueError for an input it
  cannot take;
- ``describe(public_values) -> dict[str, str]``: what a proof with these public values (a sequence for each table) says.
"""

import atexit
import importlib
import importlib.util
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from graphprover import examples
from graphprover.proof.proof import MAX_LABEL_BYTES, Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.statement.statement import Statement, Table
from graphprover.vm.program.elf import MAGIC, ElfError
from graphprover.vm.statement.guest import HASH_CHARACTERS, Guest, load_guest
from graphprover.vm.statement.key import PREFIX as KEY_PREFIX
from graphprover.vm.statement.key import Key, MalformedKey

FUNCTIONS = ("tables", "prove_inputs", "describe")
KEPT_OPEN = 16  # programs that came from other processes

_imported: dict[str, tuple[Path, str]] = {}  # by module of a program's path: that path, and what errors call it


class ProgramError(Exception):
    """A program that cannot be found or imported, or an input that it does not take."""


@dataclass(frozen=True)
class Program:
    """A program and the name it goes by."""

    name: str  # as it was asked for
    label: str  # of its proofs
    module: ModuleType  # with the three functions

    def statement(self) -> Statement:
        """What a verifier checks: the tables, with whatever public values the proof states."""
        return self._statement

    @cached_property
    def _statement(self) -> Statement:
        # One for all proofs, for it keeps its commitments.
        return Statement([Table(air) for air in self.module.tables()], self.label)

    def statement_of(self, proof: Proof | ShardedProof, *, coming: bool = False) -> Statement:
        """What ``proof`` claims to prove: the same, whatever the proof."""
        return self.statement()

    def statement_for(self, data: bytes | None) -> Statement:
        """What a prover proves about ``data``; raises ProgramError when the program refuses it."""
        airs = self.module.tables()
        try:
            inputs = self.module.prove_inputs(data)
        except ValueError as error:
            raise ProgramError(f"{self.name}: {error}") from error
        if len(inputs) != len(airs):
            raise ProgramError(f"{self.name}: prove_inputs() gives {len(inputs)} traces for {len(airs)} tables")
        tables = [Table(air, values, main) for air, (main, values) in zip(airs, inputs, strict=True)]
        return Statement(tables, self.label)

    def describe(self, public_values: Sequence[Sequence[int]]) -> dict[str, str]:
        """What a proof with these public values says."""
        return self.module.describe([list(values) for values in public_values])

    def to_json(self, public_values: Sequence[Sequence[int]]) -> dict[str, Any]:
        """The same for programs: text too, as only the module knows what it means."""
        return dict(self.describe(public_values))


@dataclass(frozen=True)
class Packed:
    """A program as it travels to another process: bytes, of which nothing runs before it is unpacked."""

    name: str
    label: str
    # An ELF file or a key, the .py file, or all of those of a folder, by their paths there; nothing of an example.
    files: tuple[tuple[str, bytes], ...]


def pack(program: Program | Guest) -> Packed:
    """A program for another process; raises ProgramError where it has no files that could travel.

    A ``.py`` program's are read again: as they are, not as they were when it was opened.
    """
    if isinstance(program, Guest):
        machine = program.machine
        data = machine.to_bytes() if isinstance(machine, Key) else program.compiled().image.file
        if not data:
            raise ProgramError(f"{program.name}: was made by this process, not from an ELF file, so it cannot travel")
        return Packed(program.name, program.label, (("", data),))
    if is_packaged(program.name):
        return Packed(program.name, program.label, ())
    try:
        return Packed(program.name, program.label, tuple(_sources(program.module)))
    except (OSError, AttributeError) as error:  # AttributeError: a module without a file
        raise ProgramError(f"{program.name}: its sources cannot be read: {error}") from error


def _sources(module: ModuleType) -> Iterator[tuple[str, bytes]]:
    assert module.__file__ is not None
    file = Path(module.__file__)
    if not hasattr(module, "__path__"):
        yield file.name, file.read_bytes()
        return
    for path in sorted(file.parent.rglob("*.py")):
        inside = path.relative_to(file.parent)
        if not any(part.startswith(".") for part in inside.parts):
            yield inside.as_posix(), path.read_bytes()


@lru_cache(maxsize=KEPT_OPEN)
def unpack(packed: Packed) -> Program | Guest:
    """The program that was packed, whose code runs here; the same one again for the same bytes.

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


def open_program(name: str) -> Program | Guest:
    """The packaged example called ``name`` (``examples/keccak``), whatever the working directory holds; else the
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


def is_packaged(name: str) -> bool:
    """Whether this names a packaged example, as the shell may complete it."""
    return name.rstrip("/") in packaged_names()


def _label(path: Path, most: int = MAX_LABEL_BYTES) -> str:
    """What proofs of the program at ``path`` are labelled with: its name alone, so that they do not tell where it lay.

    At most ``most`` bytes of UTF-8.
    """
    name = os.path.basename(os.path.abspath(path))  # of "." too, and of a link rather than of what it names
    return name.encode(errors="replace")[:most].decode(errors="ignore")


def is_guest(path: Path) -> bool:
    """Whether there is an ELF file, or a verifying key of one; raises ProgramError for a file that cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(KEY_PREFIX)).startswith((MAGIC, KEY_PREFIX))
    except (FileNotFoundError, IsADirectoryError):
        return False
    except OSError as error:
        raise ProgramError(f"{path}: {error.strerror}") from error


def _guest(name: str) -> Guest:
    """The guest in such a file; raises ProgramError for one that the machine does not run."""
    path = Path(name)
    return _loaded(name, _label(path, MAX_LABEL_BYTES - HASH_CHARACTERS - 1), path.read_bytes())


def _loaded(name: str, label: str, data: bytes) -> Guest:
    try:
        return load_guest(name, label, data)
    except (ElfError, MalformedKey) as error:
        raise ProgramError(f"{Path(name)}: {error}") from error


def load_packaged(name: str) -> Program:
    """The packaged example called ``name``, whatever the working directory holds; safe for a name that a proof states.

    Raises ProgramError for any other name.
    """
    if name not in packaged_names():
        raise ProgramError(f"{name!r} is none of the packaged examples: {', '.join(packaged_names())}")
    return _checked(name, name, importlib.import_module(f"graphprover.{name.replace('/', '.')}"))


def packaged_names() -> list[str]:
    """The programs installed with this package: ``examples/NAME``."""
    return sorted(f"examples/{file.parent.name}" for file in Path(examples.__path__[0]).glob("*/__init__.py"))


def _import_path(path: Path, shown: str) -> ModuleType:
    """The module at a path, which errors call ``shown``."""
    path = Path(os.path.abspath(path))  # what is imported later is found from any working directory
    file = path / "__init__.py" if path.is_dir() else path
    if file.suffix != ".py" or not file.is_file():
        kinds = "a .py file, a folder with an __init__.py, an ELF file nor a verifying key"
        raise ProgramError(f"{shown}: neither {kinds}")
    # A name of its own for every path, so that the modules of one program are never taken for another's.
    name = "graphprover_program_" + re.sub(r"\W", "_", str(path.resolve()))
    spec = importlib.util.spec_from_file_location(
        name, file, submodule_search_locations=[str(path)] if path.is_dir() else None
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _imported[name] = path, shown
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ProgramError(f"{line_of(error) or shown}: cannot be imported: {words_of(error)}") from error
    return module


def line_of(error: BaseException) -> str | None:
    """Find where in a program an error was raised, however deep the code that the program called.

    Args:
        error: The error, with its traceback.

    Returns:
        FILE:LINE of the innermost line of a program that was imported by its path; None if there is none.
    """
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__")).partition(".")[0]
        file = module in _imported and _shown(module, frame.f_code.co_filename)
        found = f"{file}:{line}" if file else found
    if isinstance(error, SyntaxError):  # which is of a file that did not run
        files = (_shown(module, str(error.filename)) for module in _imported)
        found = next((f"{file}:{error.lineno}" for file in files if file), found)
    return found


def _shown(module: str, file: str) -> str | None:
    """What errors call a file of a program; None for a file that is not of it."""
    path, shown = _imported[module]
    if not Path(file).is_relative_to(path):
        return None
    return str(Path(shown, Path(file).relative_to(path)))


def words_of(error: BaseException) -> str:
    """Say in words what an error says, without its type unless there is nothing else.

    Args:
        error: The error.

    Returns:
        Its message, perhaps of several lines.
    """
    match error:
        case OSError(strerror=str(reason)):
            return reason if error.filename is None else f"{error.filename}: {reason}"
        case SyntaxError(msg=str(reason)):
            return reason
        case KeyError():
            return f"no key {error}"
        case MemoryError() if not error.args:
            return "out of memory"
    return str(error) or type(error).__name__


def _checked(name: str, label: str, module: ModuleType) -> Program:
    for function in FUNCTIONS:
        if not callable(getattr(module, function, None)):
            raise ProgramError(f"{name}: no function {function}(); a program defines {', '.join(FUNCTIONS)}")
    return Program(name, label, module)
