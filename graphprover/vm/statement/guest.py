"""A guest program for the command line: an ELF file or a verifying key, with the statements about its runs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.errors import VerificationError
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.vm.program.elf import load_elf
from graphprover.vm.statement import claim
from graphprover.vm.statement.header import header_of
from graphprover.vm.statement.key import PREFIX as KEY_PREFIX
from graphprover.vm.statement.key import Key
from graphprover.vm.statement.statement import Machine, ProgramStatements

if TYPE_CHECKING:
    from graphprover.device import Device
    from graphprover.vm.executor.execute import Execution

ANY = "any"  # accepts every exit code
HASH_CHARACTERS = 64  # hexadecimal digits of a program's hash
_HASH = re.compile(f"[0-9a-f]{{{HASH_CHARACTERS}}}")


class Limits(TypedDict, total=False):
    """Limits of a run, as `execute.execute` takes them."""

    max_cycles: int
    max_memory: int  # bytes


def limits_of(max_cycles: int | None, max_memory: int | None) -> Limits:
    """Return the limits that a user has set; ``max_memory`` is in MiB."""
    given: Limits = {}
    if max_cycles is not None:
        given["max_cycles"] = max_cycles
    if max_memory is not None:
        given["max_memory"] = max_memory << 20
    return given


@dataclass(frozen=True)
class Guest:
    """An ELF file and the machine that runs it, or the verifying key of one."""

    name: str  # the path, as the user wrote it
    label: str  # of the guest's proofs: the file's name and the program's hash
    machine: ProgramStatements

    @overload
    def statement_of(self, proof: Proof, *, coming: bool = False) -> Statement: ...

    @overload
    def statement_of(self, proof: Proof | ShardedProof, *, coming: bool = False) -> Statement | ShardedStatement: ...

    def statement_of(self, proof: Proof | ShardedProof, *, coming: bool = False) -> Statement | ShardedStatement:
        """Return the statement that ``proof`` claims; raise VerificationError if the proof names another program.

        ``coming``: the payloads have not arrived yet. The prover chose the name in the label, and no proof depends on
        it: it only explains why the proof of another program fails.
        """
        _, _, stated = proof.label.rpartition(" ")
        own = self.machine.program_hash.hex()
        if _HASH.fullmatch(stated) and stated != own:
            raise VerificationError(f"this proof is of program {stated}, not of {self.name} ({own})")
        return self.machine.statement_of(proof, coming=coming)

    def compiled(self) -> Machine:
        """Return the machine with its program; raise ValueError for a verifying key, which has none."""
        if not isinstance(self.machine, Machine):
            raise ValueError("a verifying key, which runs nothing: give the ELF file")
        return self.machine

    def execute(self, data: bytes | None = None, **limits: Unpack[Limits]) -> "Execution":
        """Run the program on ``data`` without a record; see `execute.execute` for arguments and errors."""
        from graphprover.vm.executor.execute import execute  # imported late: verifying needs no compiler

        return execute(self.compiled().image, data or b"", **limits)

    def record(self, data: bytes | None = None, **limits: Unpack[Limits]) -> "Execution":
        """Run the program on ``data`` with the record for a proof; see `execute`."""
        from graphprover.vm.executor.execute import execute  # as above

        return execute(self.compiled().image, data or b"", **limits, record=True)

    def statement_about(
        self,
        run: "Execution",
        *,
        state_input: bool = False,
        shards: int = 1,
        shard_size: int | None = None,
        rate: int | None = None,
        device: "Device | None" = None,
    ) -> Statement | ShardedStatement:
        """Return the statement about a recorded run of the program.

        Args:
            execution: The run, with its record.
            state_input: State the input as public values.
            shards: Number of cycle ranges, each proved in a shard; a run in one is not sharded.
            shard_size: Cycles of a range, in place of ``shards``.
            rate: The user's rate 1/``rate``, if any; it selects the layout policy (`shape.policy_at`).
            device: Replays the run to find its tables; by default the CPU.

        Raises:
            ValueError: For more shards than cycles.
        """
        from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
        from graphprover.vm.traces.run_statement import shards_of_run, statement_of_run  # as above

        machine, cycle_ranges = self.compiled(), cycle_ranges_of(run.cycles, shards, shard_size)
        if len(cycle_ranges) == 1:
            return statement_of_run(machine, run, self.label, state_input=state_input, device=device, rate=rate)
        return shards_of_run(machine, run, cycle_ranges, self.label, state_input=state_input, device=device, rate=rate)

    def statement_for(
        self,
        data: bytes | None,
        *,
        state_input: bool = False,
        shards: int = 1,
        shard_size: int | None = None,
        rate: int | None = None,
        **limits: Unpack[Limits],
    ) -> Statement | ShardedStatement:
        """Run the program on ``data`` and return the statement about that run; see `statement_about`."""
        run = self.record(data, **limits)
        return self.statement_about(run, state_input=state_input, shards=shards, shard_size=shard_size, rate=rate)

    def describe(self, public_values: Sequence[Sequence[int]]) -> dict[str, str]:
        """Describe the claim of a proof with these public values."""
        return claim.describe(public_values)

    def to_json(self, public_values: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Return the claim of a proof with these public values as JSON."""
        return claim.claim_of(public_values).to_json()


def claimed(statement: Statement | ShardedStatement) -> claim.Claim:
    """Return the claim of a future proof of this statement."""
    tables = statement.statements[0].tables[1:] if isinstance(statement, ShardedStatement) else statement.tables
    return claim.claim_of([table.public_values or () for table in tables])


def claim_in(proof: Proof | ShardedProof) -> claim.Claim:
    """Return the claim of a proof; raise VerificationError if it is malformed."""
    return claim.claim_of(header_of(proof).first)


def other_exit_code(code: int, wanted: int | str | None) -> str | None:
    """Return an error about the exit code, or None if it is the expected one (0 by default)."""
    if wanted == ANY or code == (wanted or 0):
        return None
    return f"exit code {code}, not {wanted or 0}"


def load_guest(name: str, label: str, data: bytes) -> Guest:
    """Load the guest of an ELF file or of a verifying key; raise ElfError or MalformedKey.

    Its proofs are labelled with ``label`` and the program's hash.
    """
    machine = Key.from_bytes(data) if data.startswith(KEY_PREFIX) else Machine(load_elf(data))
    return Guest(name, f"{label} {machine.program_hash.hex()}", machine)
