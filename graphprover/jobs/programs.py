"""Programs: Python modules that describe tables and make their traces, by name or by path; or guests, ELF files that
the RV64IM machine runs.

A module defines three functions:

- ``tables() -> list[Air]``: the statement, without public values;
- ``prove_inputs(data: bytes | None) -> list[(trace, public values)]``: for each table its main trace, uint64
  (columns, rows), and its public values, made from the input file if there is one. Raises ValueError for an input it
  cannot take;
- ``describe(public_values) -> dict[str, str]``: the claim of a proof with these public values, a sequence per table.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, Unpack

from graphprover import examples
from graphprover.proof.compressed import AnyProof
from graphprover.proof.mock import MockProof
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.parameters import DEFAULT_HASH
from graphprover.protocol.proof import Caps
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement, Table
from graphprover.verifier import Verdict
from graphprover.verifier.any_proof import parsed, verify_made
from graphprover.verifier.headers import check_level
from graphprover.vm.executor.run_options import RunOptions
from graphprover.vm.statement.claim import ANY, Claim
from graphprover.vm.statement.key import KEY_RATES, Key
from graphprover.vm.statement.statement import Machine

if TYPE_CHECKING:
    from graphprover.device import Device
    from graphprover.statement.cost import Cost
    from graphprover.vm.executor.execute import Execution


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
        proof: AnyProof | MockProof,
        security: float,
        proximity: str,
        *,
        exit_code: int | str = 0,
        preprocessed: Caps = None,
        allow_mock: bool = False,
    ) -> Verdict:
        """Check that a proof is of this program, with this security and, of a guest, with this exit code.

        ``preprocessed``: the maker's own commitments to the preprocessed columns, one a shard; of the base of a
        compressed proof; ``allow_mock``: as in `graphprover.verify`.
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
        proof: AnyProof | MockProof,
        security: float,
        proximity: str,
        *,
        exit_code: int | str = 0,
        preprocessed: Caps = None,
        allow_mock: bool = False,
    ) -> Verdict:
        """Check that a proof is of these tables; raises ProgramError for an exit code, which tables do not have."""
        if exit_code not in (0, ANY):
            raise ProgramError(f"{self.name}: no guest, so it has no exit code")
        proof = parsed(proof, allow_mock)
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


def title_of(program: str, job: str) -> str:
    """Return a text that names a job among jobs of several programs: the program's file, and the job's own name."""
    file = Path(program).name
    return job if Path(file).stem in job else f"{file} {job}"


def is_packaged(name: str) -> bool:
    """Return whether this names a packaged example, perhaps with the slash of the shell's completion."""
    return name.rstrip("/") in packaged_names()


def packaged_names() -> list[str]:
    """Return the names of the programs that are installed with this package: ``examples/NAME``.

    A package without tables belongs to a guest.
    """
    packages = Path(examples.__path__[0]).glob("*/__init__.py")
    return sorted(f"examples/{file.parent.name}" for file in packages if "def tables(" in file.read_text())
