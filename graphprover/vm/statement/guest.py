"""A guest program as the command line sees it: see ``graphprover.jobs.programs.Program``."""

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

ANY = "any"  # exit code
HASH_CHARACTERS = 64  # of a program's hash, in hexadecimal digits
_HASH = re.compile(f"[0-9a-f]{{{HASH_CHARACTERS}}}")


class Limits(TypedDict, total=False):
    """Those of a run, as `execute.execute` takes them."""

    max_cycles: int
    max_memory: int  # bytes


def limits_of(max_cycles: int | None, max_memory: int | None) -> Limits:
    """Those that users have given, memory in MiB."""
    given: Limits = {}
    if max_cycles is not None:
        given["max_cycles"] = max_cycles
    if max_memory is not None:
        given["max_memory"] = max_memory << 20
    return given


@dataclass(frozen=True)
class Guest:
    """An ELF file and the machine that runs it, or the verifying key of one."""

    name: str  # as it was asked for
    label: str  # of its proofs: the file's name and the program's hash
    machine: ProgramStatements

    @overload
    def statement_of(self, proof: Proof, *, coming: bool = False) -> Statement: ...

    @overload
    def statement_of(self, proof: Proof | ShardedProof, *, coming: bool = False) -> Statement | ShardedStatement: ...

    def statement_of(self, proof: Proof | ShardedProof, *, coming: bool = False) -> Statement | ShardedStatement:
        """What ``proof`` claims to prove about the program; raises VerificationError where it names another.

        ``coming``: its payloads are not there yet.

        The prover chose that name, and nothing is verified by it: it says in plain words why the proof would fail.
        """
        _, _, stated = proof.label.rpartition(" ")
        own = self.machine.program_hash.hex()
        if _HASH.fullmatch(stated) and stated != own:
            raise VerificationError(f"this proof is of program {stated}, not of {self.name} ({own})")
        return self.machine.statement_of(proof, coming=coming)

    def compiled(self) -> Machine:
        """The machine with its program; raises ValueError for a verifying key, which has none."""
        if not isinstance(self.machine, Machine):
            raise ValueError("a verifying key, which runs nothing: give the ELF file")
        return self.machine

    def execute(self, data: bytes | None = None, **limits: Unpack[Limits]) -> "Execution":
        """The program's run on ``data``, without a record; arguments and errors are those of `execute.execute`."""
        from graphprover.vm.executor.execute import execute  # here, because verifying needs no compiler

        return execute(self.compiled().image, data or b"", **limits)

    def record(self, data: bytes | None = None, **limits: Unpack[Limits]) -> "Execution":
        """The same with the record that a proof is made of."""
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
        """What a prover proves about a recorded run of the program, and with ``state_input`` on which input it was.

        ``shards``: how many cycle ranges the run is cut into, a shard each; or ``shard_size``: of how many cycles.
        Where that makes one, the statement is in no shards. ``rate``: of the proof, where one was asked for: at 8 the
        run has fewer tables, of more cells (`shape.policy_at`). ``device``: what replays the run to know its tables, by
        default the CPU. Raises ValueError for more shards than cycles.
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
        """The same about the program's run on ``data``."""
        run = self.record(data, **limits)
        return self.statement_about(run, state_input=state_input, shards=shards, shard_size=shard_size, rate=rate)

    def describe(self, public_values: Sequence[Sequence[int]]) -> dict[str, str]:
        """What a proof with these public values says."""
        return claim.describe(public_values)

    def to_json(self, public_values: Sequence[Sequence[int]]) -> dict[str, Any]:
        """The same for programs."""
        return claim.claim_of(public_values).to_json()


def claimed(statement: Statement | ShardedStatement) -> claim.Claim:
    """What a proof of this statement about a run will say."""
    tables = statement.statements[0].tables[1:] if isinstance(statement, ShardedStatement) else statement.tables
    return claim.claim_of([table.public_values or () for table in tables])


def claim_in(proof: Proof | ShardedProof) -> claim.Claim:
    """What a proof says; raises VerificationError where it makes no sense."""
    return claim.claim_of(header_of(proof).first)


def other_exit_code(code: int, wanted: int | str | None) -> str | None:
    """What is wrong with the exit code of a guest, None where it is the one wanted (0 unless given)."""
    if wanted == ANY or code == (wanted or 0):
        return None
    return f"exit code {code}, not {wanted or 0}"


def load_guest(name: str, label: str, data: bytes) -> Guest:
    """The guest in an ELF file or a verifying key; raises ElfError or MalformedKey.

    Its proofs are labelled with ``label`` and the program's hash.
    """
    machine = Key.from_bytes(data) if data.startswith(KEY_PREFIX) else Machine(load_elf(data))
    return Guest(name, f"{label} {machine.program_hash.hex()}", machine)
