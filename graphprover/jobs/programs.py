"""Programs: Python modules that describe tables and make their traces, by name or by path; or guests, ELF files that
the RV64IM machine runs.

A module defines three functions:

- ``tables() -> list[Air]``: the statement, without public values;
- ``prove_inputs(data: bytes | None) -> list[(trace, public values)]``: for each table its main trace, uint64
  (columns, rows), and its public values, made from the input file if there is one. Raises ValueError for an input it
  cannot take;
- ``describe(public_values) -> dict[str, str]``: the claim of a proof with these public values, a sequence per table.
"""

import atexit
import importlib
import importlib.util
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, Unpack

from graphprover import examples
from graphprover.jobs.kinds import PROOF, kind_of_file
from graphprover.proof.compressed import AnyProof
from graphprover.proof.proof import MAX_LABEL_BYTES, Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.level import Level
from graphprover.protocol.parameters import DEFAULT_HASH
from graphprover.protocol.proof import Caps
from graphprover.runtime.errors import one_line
from graphprover.runtime.files import MAX_PROGRAM_BYTES, MAX_TEXT_BYTES, FileError, read_file
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement, Table
from graphprover.verifier import Verdict
from graphprover.verifier.any_proof import verify_made
from graphprover.verifier.headers import check_level
from graphprover.vm.program.elf import ElfError
from graphprover.vm.program.foreign import MAGIC, START, other_file
from graphprover.vm.statement.claim import ANY, Claim
from graphprover.vm.statement.guest import Guest, RunOptions, load_guest
from graphprover.vm.statement.key import KEY_RATES, Key, MalformedKey
from graphprover.vm.statement.key import PREFIX as KEY_PREFIX
from graphprover.vm.statement.statement import HASH_CHARACTERS, Machine

if TYPE_CHECKING:
    from graphprover.device import Device
    from graphprover.statement.cost import Cost
    from graphprover.vm.executor.execute import Execution

FUNCTIONS = ("tables", "prove_inputs", "describe")
SMALLER = "remove its debug information"  # the remedy for a program that is too long
KEPT_OPEN = 16  # programs that came from other processes

_imported: dict[str, tuple[Path, str]] = {}  # by module of a program's path: that path, and what errors call it


class ProgramError(Exception):
    """A program that cannot be found or imported, or an input that it does not take."""


class Program(Protocol):
    """A subject of proofs: tables (`TableProgram`) or the runs of a guest (`Guest`).

    Commands and jobs ask a program through this interface, and not for its kind.
    """

    has_runs: ClassVar[bool]  # whether it has cycles, an exit code, limits and verifying keys

    @property
    def name(self) -> str:
        """The name that the program was opened by."""

    @property
    def label(self) -> str:
        """The label of its proofs."""

    @property
    def program_hash(self) -> str | None:
        """The hash of a guest, in hexadecimal digits; None for tables."""

    @property
    def elf(self) -> Machine | None:
        """The machine with the program of an ELF file; None for anything else."""

    @property
    def only_key(self) -> Key | None:
        """The verifying key that the program was opened from; None for anything else."""

    def statement(self) -> Statement | None:
        """Return the tables without traces, or None if they depend on a run."""

    def statement_of(self, proof: Proof | ShardedProof, *, coming: bool = False) -> Statement | ShardedStatement:
        """Return the statement that a proof claims to prove; ``coming``: it is a header without payloads."""

    def verify(
        self,
        proof: AnyProof,
        security: float,
        proximity: str,
        *,
        exit_code: int | str = 0,
        preprocessed: Caps = None,
    ) -> Verdict:
        """Check that a proof is of this program, with this security and, of a guest, with this exit code.

        ``preprocessed``: the maker's own commitments to the preprocessed columns, one a shard; of the base of a
        compressed proof.
        """

    def record(self, data: bytes | None = None, **options: Unpack[RunOptions]) -> Any:
        """Run the program on ``data``, and return what `statement_about` takes."""

    def statement_about(
        self,
        run: Any,
        *,
        commit_input: bool = False,
        shards: int = 1,
        shard_size: int | None = None,
        rate: int | None = None,
        device: "Device | None" = None,
    ) -> Statement | ShardedStatement:
        """Return the statement about a recorded run, in one shard or several."""

    def statement_for(
        self,
        data: bytes | None,
        *,
        shards: int = 1,
        shard_size: int | None = None,
        rate: int | None = None,
        **options: Unpack[RunOptions],
    ) -> Statement | ShardedStatement:
        """Return the statement about the program's run on ``data``."""

    def execute(self, data: bytes | None = None, **options: Unpack[RunOptions]) -> "Execution":
        """Run a guest without a record; raises ValueError for tables."""

    def cost_about(self, run: Any, *, device: "Device | None" = None) -> "Cost":
        """Return the cost of proving a guest's recorded run; raises ValueError for tables."""

    def key(self, hashes: Collection[str] = (DEFAULT_HASH,), rates: Collection[int] = KEY_RATES) -> Key:
        """Return the verifying key of a guest.

        Args:
            hashes: The hashes of the proofs that the key verifies.
            rates: Their rates: N stands for 1/N.

        Raises:
            ValueError: for tables, which have no key.
        """

    def commit(self, hash: str, log_blowup: int) -> None:
        """Commit to the program's own columns ahead of the first verification, if the commitment is shared."""

    def files(self) -> tuple[tuple[str, bytes], ...] | None:
        """Return the files that another process opens the program from, as in `Packed`; None if there are none."""

    def describe(self, public_values: Sequence[Sequence[int]]) -> dict[str, str]:
        """Return the claim of a proof with these public values, for people."""

    def to_json(self, public_values: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Return the claim of a proof with these public values, for programs."""

    def says(self, proof: Proof | ShardedProof) -> dict[str, Any]:
        """Return the claim of a valid proof, for programs."""

    def claim_in(self, proof: Proof | ShardedProof) -> Claim | None:
        """Return the claim about a run in the header of a proof; None for tables."""

    def rehearse(self, data: bytes | None, **options: Unpack[RunOptions]) -> "Execution | None":
        """Run a guest without a record, before another process proves the run; None for tables."""

    def claim_about(self, run: "Execution", *, commit_input: bool = False) -> Claim | None:
        """Return the claim of a proof of a guest's run; None for tables."""

    def cycles(self, statement: Statement | ShardedStatement) -> int | None:
        """Return the cycles of the run that a statement is about; None for tables."""

    def layout_policy(self, rate: int | None) -> Any:
        """Return the policy by which a run's tables are laid out for a proof at this rate; None for tables."""


@dataclass(frozen=True)
class TableProgram:
    """A Python module that describes tables and makes their traces."""

    name: str  # as it was asked for
    label: str  # of its proofs
    module: ModuleType  # with the three functions

    has_runs: ClassVar[bool] = False
    program_hash: ClassVar[None] = None
    elf: ClassVar[None] = None
    only_key: ClassVar[None] = None

    def statement(self) -> Statement:
        """Return the tables without traces; their public values are the ones that a proof states."""
        return self._statement

    @cached_property
    def _statement(self) -> Statement:
        # One for all proofs, for it keeps its commitments.
        return Statement([Table(air) for air in self.module.tables()], self.label)

    def statement_of(self, proof: Proof | ShardedProof, *, coming: bool = False) -> Statement:
        """Return the tables without traces, the same for every proof."""
        return self.statement()

    def verify(
        self,
        proof: AnyProof,
        security: float,
        proximity: str,
        *,
        exit_code: int | str = 0,
        preprocessed: Caps = None,
    ) -> Verdict:
        """Check that a proof is of these tables; raises ProgramError for an exit code, which tables do not have."""
        if exit_code not in (0, ANY):
            raise ProgramError(f"{self.name}: no guest, so it has no exit code")
        check_level(proof.header, security)  # before the statement, which may be expensive to make
        return verify_made(proof, self.statement_of(proof.header), security, proximity, preprocessed)

    def record(self, data: bytes | None = None, **options: Unpack[RunOptions]) -> Statement:
        """Make the traces from ``data``; raises ProgramError if the program refuses it."""
        airs = self.module.tables()
        try:
            inputs = self.module.prove_inputs(data)
        except ValueError as error:
            raise ProgramError(f"{self.name}: {error}") from error
        if len(inputs) != len(airs):
            raise ProgramError(f"{self.name}: prove_inputs() gives {len(inputs)} traces for {len(airs)} tables")
        tables = [Table(air, values, main) for air, (main, values) in zip(airs, inputs, strict=True)]
        return Statement(tables, self.label)

    def statement_about(
        self,
        run: Statement,
        *,
        commit_input: bool = False,
        shards: int = 1,
        shard_size: int | None = None,
        rate: int | None = None,
        device: "Device | None" = None,
    ) -> Statement | ShardedStatement:
        """Return the tables with their traces, assigned to this number of shards; no other option has an effect.

        Raises:
            ValueError: for more shards than tables.
        """
        if shards == 1:
            return run
        from graphprover.prover.assign import deal  # here, because verifying needs no planner

        return deal(run, shards)

    def statement_for(
        self,
        data: bytes | None,
        *,
        shards: int = 1,
        shard_size: int | None = None,
        rate: int | None = None,
        **options: Unpack[RunOptions],
    ) -> Statement | ShardedStatement:
        """Return the statement about ``data``; raises ProgramError if the program refuses it."""
        return self.statement_about(self.record(data), shards=shards)

    def describe(self, public_values: Sequence[Sequence[int]]) -> dict[str, str]:
        """Return the claim of a proof with these public values, for people."""
        return self.module.describe([list(values) for values in public_values])

    def to_json(self, public_values: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Return the same for programs: text, because only the module knows its meaning."""
        return dict(self.describe(public_values))

    def says(self, proof: Proof | ShardedProof) -> dict[str, Any]:
        """Return the claim of a valid proof, for programs."""
        if proof.joint is None:
            return self.to_json(proof.proofs[0].public_values)
        # The head of each shard has the numbers of the shard's tables.
        shards = (zip(shard.public_values[0], shard.public_values[1:], strict=True) for shard in proof.proofs)
        return self.to_json([values for _, values in sorted(chain.from_iterable(shards))])

    def files(self) -> tuple[tuple[str, bytes], ...]:
        """Return the ``.py`` file, or all of a folder, read now; no file of a packaged example."""
        if is_packaged(self.name):
            return ()
        try:
            return tuple(_sources(self.module))
        except (OSError, AttributeError) as error:  # AttributeError: a module without a file
            raise ProgramError(f"{self.name}: its sources cannot be read: {error}") from error

    def execute(self, data: bytes | None = None, **options: Unpack[RunOptions]) -> NoReturn:
        """Raise ValueError: tables have no runs."""
        raise ValueError(f"{self.name}: no guest, so it has neither runs nor a verifying key")

    def cost_about(self, run: Any, *, device: "Device | None" = None) -> NoReturn:
        """Raise ValueError: tables have no runs."""
        self.execute()

    def key(self, hashes: Collection[str] = (), rates: Collection[int] = ()) -> NoReturn:
        """Raise ValueError: tables have no verifying keys."""
        self.execute()

    def commit(self, hash: str, log_blowup: int) -> None:
        """Do nothing: a statement of tables caches its commitments."""

    def claim_in(self, proof: Proof | ShardedProof) -> None:
        """Return None: the proof is about no run."""

    def rehearse(self, data: bytes | None, **options: Unpack[RunOptions]) -> None:
        """Return None: tables have no runs."""

    def claim_about(self, run: "Execution", *, commit_input: bool = False) -> None:
        """Return None: the proof is about no run."""

    def cycles(self, statement: Statement | ShardedStatement) -> None:
        """Return None: tables have no runs."""

    def layout_policy(self, rate: int | None) -> None:
        """Return None: the tables are the same at every rate."""


@dataclass(frozen=True)
class Packed:
    """A program as bytes for another process; none of its code runs before `unpack`."""

    name: str
    label: str
    # An ELF file or a key, the .py file, or all of those of a folder, by their paths there; nothing of an example.
    files: tuple[tuple[str, bytes], ...]


def pack(program: Program) -> Packed:
    """Return a program as bytes for another process; raises ProgramError if it has no files.

    The sources of a ``.py`` program are read now, not when it was opened.
    """
    files = program.files()
    if files is None:
        raise ProgramError(f"{program.name}: was made by this process, not from an ELF file, so it cannot travel")
    return Packed(program.name, program.label, files)


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


def is_packaged(name: str) -> bool:
    """Return whether this names a packaged example, perhaps with the slash of the shell's completion."""
    return name.rstrip("/") in packaged_names()


def _label(path: Path, most: int = MAX_LABEL_BYTES) -> str:
    """Return the label of proofs of the program at a path: the name without the folders, which stay private.

    At most ``most`` bytes of UTF-8.
    """
    name = os.path.basename(os.path.abspath(path))  # of "." too, and of a link rather than of what it names
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


def packaged_names() -> list[str]:
    """Return the names of the programs that are installed with this package: ``examples/NAME``.

    A package without tables belongs to a guest.
    """
    packages = Path(examples.__path__[0]).glob("*/__init__.py")
    return sorted(f"examples/{file.parent.name}" for file in packages if "def tables(" in file.read_text())


def _import_path(path: Path, shown: str) -> ModuleType:
    """Import the module at a path, which errors call ``shown``."""
    path = Path(os.path.abspath(path))  # later imports succeed from any working directory
    file = path / "__init__.py" if path.is_dir() else path
    if file.suffix != ".py" or not file.is_file():
        if kind_of_file(path) == PROOF:
            raise ProgramError(f"{shown}: a proof, not a program: `graphprover verify` and `inspect` take proofs")
        kinds = "an ELF file, a .py file nor a folder with an __init__.py"
        replacing = "(nor a verifying key, which replaces the program of a proof)"
        raise ProgramError(f"{shown}: neither {kinds} {replacing}{_instead(file)}")
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
    _imported[name] = path, shown
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ProgramError(f"{line_of(error) or shown}: cannot be imported: {words_of(error)}") from error
    return module


def _instead(path: Path) -> str:
    """Return the kind of a file that is no program, for the end of a message; empty if it is unknown or no file."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        what = other_file(file.read(START))
    return f", but {what}" if what else ""


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
    """Return the name of a program's file in errors; None for a file of no program."""
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


def message_of(error: BaseException) -> str:
    """Return an error as one line, with file and line of a user's program, and with the type of an unexpected error."""
    if line := line_of(error):
        return one_line(f"{line}: {words_of(error)}")
    ours = type(error).__module__.partition(".")[0] == __name__.partition(".")[0]
    expected = ours or type(error) is ValueError or isinstance(error, OSError | ImportError | MemoryError)
    return one_line(words_of(error) if expected else f"{type(error).__name__}: {error}")


def _checked(name: str, label: str, module: ModuleType) -> TableProgram:
    for function in FUNCTIONS:
        if not callable(getattr(module, function, None)):
            raise ProgramError(f"{name}: no function {function}(); a program defines {', '.join(FUNCTIONS)}")
    return TableProgram(name, label, module)
