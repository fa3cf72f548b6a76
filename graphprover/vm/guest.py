"""A guest program as the command line sees it: see ``graphprover.programs.Program``."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.envelope import Proof
from graphprover.statement import Statement
from graphprover.vm import machine
from graphprover.vm.elf import load_elf
from graphprover.vm.key import MAGIC as KEY_MAGIC
from graphprover.vm.key import Key
from graphprover.vm.machine import Machine, Tables


@dataclass(frozen=True)
class Guest:
    """An ELF file and the machine that runs it, or the verifying key of one."""

    name: str  # as it was asked for
    label: str  # of its proofs
    machine: Tables

    def statement_of(self, proof: Proof) -> Statement:
        """What ``proof`` claims to prove about the program."""
        return self.machine.statement_of(proof)

    def statement_for(self, data: bytes | None) -> Statement:
        """What a prover proves about the program's run on ``data``."""
        # Here, because verifying needs no compiler.
        from graphprover.vm.execute import execute
        from graphprover.vm.trace import statement

        if not isinstance(self.machine, Machine):
            raise ValueError(f"{self.name}: a verifying key, which runs nothing: give the ELF file")
        run = execute(self.machine.image, data or b"", record=True)
        return statement(self.machine, run, self.label)

    def describe(self, public_values: Sequence[Sequence[int]]) -> dict[str, str]:
        """What a proof with these public values says."""
        return machine.describe(public_values)


def load_guest(name: str, label: str, data: bytes) -> Guest:
    """The guest in an ELF file or a verifying key; raises ElfError or MalformedKey."""
    if data.startswith(KEY_MAGIC):
        return Guest(name, label, Key.from_bytes(data))
    return Guest(name, label, Machine(load_elf(data)))
