"""A guest: a program of the RV64IM machine, behind the interface `graphprover.jobs.programs.Program`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, overload

from graphprover.proof.compressed import AnyProof
from graphprover.proof.mock import MockProof
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.parameters import DEFAULT_HASH
from graphprover.protocol.proof import Caps
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.verifier import Verdict
from graphprover.vm.executor.run_options import RunOptions
from graphprover.vm.program.elf import load_elf
from graphprover.vm.statement.claim import Claim, claim_of
from graphprover.vm.statement.key import KEY_RATES, Key, proof_kinds
from graphprover.vm.statement.key import PREFIX as KEY_PREFIX
from graphprover.vm.statement.shape import LayoutPolicy, policy_at
from graphprover.vm.statement.statement import Machine, ProgramStatements

if TYPE_CHECKING:
    from graphprover.device import Device
    from graphprover.statement.cost import Cost
    from graphprover.vm.executor.execute import Execution


@dataclass(frozen=True)
class Guest:
    """An ELF file and the machine that runs it, or the verifying key of one."""

    name: str  # the path, as the user wrote it
    label: str  # of the guest's proofs: the file's name and the program's hash
    machine: ProgramStatements

    has_runs: ClassVar[bool] = True

    @property
    def program_hash(self) -> str:
        """The hash of the program, in hexadecimal digits."""
        return self.machine.program_hash.hex()

    @property
    def elf(self) -> Machine | None:
        """The machine with its program; None for a verifying key."""
        return self.machine if isinstance(self.machine, Machine) else None

    @property
    def only_key(self) -> Key | None:
        """The verifying key that the guest was opened from; None for an ELF file."""
        return self.machine if isinstance(self.machine, Key) else None

    def statement(self) -> None:
        """Return None: which tables a guest has depends on its run."""

    @overload
    def statement_of(self, proof: Proof, *, coming: bool = False) -> Statement: ...

    @overload
    def statement_of(self, proof: Proof | ShardedProof, *, coming: bool = False) -> Statement | ShardedStatement: ...

    def statement_of(self, proof: Proof | ShardedProof, *, coming: bool = False) -> Statement | ShardedStatement:
        """Return the statement that a proof claims to prove about the program, as `ProgramStatements.statement_of`."""
        return self.machine.statement_of(proof, coming=coming)

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
        """Check that a proof is about a run of the program with this exit code, as `ProgramStatements.verify`."""
        return self.machine.verify(
            proof, security, proximity, exit_code=exit_code, preprocessed=preprocessed, allow_mock=allow_mock
        )

    def compiled(self) -> Machine:
        """Return the machine with its program; raises ValueError for a verifying key, which has none."""
        if self.elf is None:
            raise ValueError("a verifying key, which runs nothing: give the ELF file")
        return self.elf

    def key(self, hashes: Collection[str] = (DEFAULT_HASH,), rates: Collection[int] = KEY_RATES) -> Key:
        """Return the verifying key of the program for proofs with these hashes and rates.

        A guest that was opened from a key has that key, whatever its hashes and rates.
        """
        from graphprover.vm.statement.setup import make_key

        return self.only_key or make_key(self.compiled(), proof_kinds(hashes, rates))

    def files(self) -> tuple[tuple[str, bytes], ...] | None:
        """Return the ELF file or key, as `graphprover.jobs.opening.Packed` has it; None if there is no file."""
        data = self.only_key.to_bytes() if self.only_key else self.compiled().image.file
        return (("", data),) if data else None

    def commit(self, hash: str, log_blowup: int) -> None:
        """Commit to the columns of the program, which takes most of the time of the first verification."""
        if self.elf:
            self.elf.commit(hash, log_blowup)

    def execute(self, data: bytes | None = None, **options: Unpack[RunOptions]) -> "Execution":
        """Run the program on ``data`` without a record; arguments and errors are those of `execute.execute`."""
        from graphprover.vm.executor.execute import execute  # here, because verifying needs no compiler

        return execute(self.compiled().image, data or b"", **options)

    def record(self, data: bytes | None = None, **options: Unpack[RunOptions]) -> "Execution":
        """Run the program on ``data`` with the record that a proof is made of."""
        from graphprover.vm.executor.execute import execute  # as above

        return execute(self.compiled().image, data or b"", **options, record=True)

    def statement_about(
        self,
        run: "Execution",
        *,
        commit_input: bool = False,
        shards: int = 1,
        shard_size: int | None = None,
        rate: int | None = None,
        device: "Device | None" = None,
    ) -> Statement | ShardedStatement:
        """Return the statement about a recorded run of the program.

        Args:
            run: The run, with its record.
            commit_input: Whether the statement has the input.
            shards: The number of cycle ranges that the run is cut into, one a shard.
            shard_size: The cycles of a shard, instead of ``shards``.
            rate: The rate of the proof is 1/``rate``, if one was asked for: from 8 on the run has fewer tables, of
                more cells (`shape.policy_at`).
            device: Replays the run to find its tables; by default the CPU.

        Raises:
            ValueError: for more shards than cycles.
        """
        from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
        from graphprover.vm.traces.run_statement import shards_of_run, statement_of_run  # as above

        machine, cycle_ranges = self.compiled(), cycle_ranges_of(run.cycles, shards, shard_size)
        if len(cycle_ranges) == 1:
            return statement_of_run(machine, run, self.label, commit_input=commit_input, device=device, rate=rate)
        return shards_of_run(
            machine, run, cycle_ranges, self.label, commit_input=commit_input, device=device, rate=rate
        )

    def cost_about(self, run: "Execution", *, device: "Device | None" = None) -> "Cost":
        """Return the cost of proving a recorded run; ``device`` replays the run, by default the CPU.

        It is the cost of a proof in one shard, at the default layout policy, without a stated input.
        """
        from graphprover.statement.cost import cost_of_tables  # as above
        from graphprover.vm.traces.run_statement import statement_of_run

        statement = statement_of_run(self.compiled(), run, device=device)
        heights = (table.main.shape[1] for table in statement.tables if table.main is not None)
        return cost_of_tables(zip(statement.descriptions, heights, strict=True), run.cycles)

    def describe(self, public_values: Sequence[Sequence[int]]) -> dict[str, str]:
        """Return the claim of a proof with these public values, for people."""
        return self.claim_of(public_values).describe()

    def to_json(self, public_values: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Return the claim of a proof with these public values, for programs."""
        return self.claim_of(public_values).to_json()

    def claim_of(self, public_values: Sequence[Sequence[int]]) -> Claim:
        """Return the claim of a proof with these public values; raises VerificationError if they make no sense."""
        return claim_of(public_values, self.machine.program_hash)

    def claim_in(self, proof: Proof | ShardedProof) -> Claim:
        """Return the claim in the header of a proof; raises VerificationError if it makes no sense."""
        return self.machine.claim_in(proof)

    def rehearse(self, data: bytes | None, **options: Unpack[RunOptions]) -> "Execution":
        """Run the program as `execute` does, by default with as much memory as `record` may use."""
        from graphprover.vm.executor.execute import half_of_memory  # as above

        return self.execute(data, **(RunOptions(max_memory=half_of_memory()) | options))

    def claim_about(self, run: "Execution", *, commit_input: bool = False) -> Claim:
        """Return the claim of a proof of a run."""
        return Claim(
            run.output, run.exit_code, run.cycles, self.machine.program_hash, run.input if commit_input else None
        )

    def says(self, proof: Proof | ShardedProof) -> dict[str, Any]:
        """Return the claim of a valid proof, for programs."""
        return self.claim_in(proof).to_json()

    def cycles(self, statement: Statement | ShardedStatement) -> int:
        """Return the cycles of the run that a statement is about."""
        tables = statement.statements[0].tables[statement.heads :]
        return self.claim_of([table.public_values or () for table in tables]).cycles

    def layout_policy(self, rate: int | None) -> LayoutPolicy:
        """Return the policy by which a run's tables are laid out for a proof at this rate."""
        return policy_at(rate)


def load_guest(name: str, label: str, data: bytes) -> Guest:
    """Load the guest of an ELF file or a verifying key; raises ElfError or MalformedKey.

    Its proofs have ``label`` and the program's hash as their label.
    """
    machine = Key.from_bytes(data) if data.startswith(KEY_PREFIX) else Machine(load_elf(data))
    return Guest(name, f"{label} {machine.program_hash.hex()}", machine)
