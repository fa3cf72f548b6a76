"""A guest program as the command line sees it: see ``graphprover.programs.Program``."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.envelope import Proof
from graphprover.statement import Statement
from graphprover.vm import machine
from graphprover.vm.elf import load_elf
from graphprover.vm.machine import Machine


@dataclass(frozen=True)
class Guest:
    """An ELF file, and the machine that runs it."""

    name: str  # as it was asked for
    label: str  # of its proofs
    machine: Machine

    def statement_of(self, proof: Proof) -> Statement:
        """What ``proof`` claims to prove about the program."""
        return self.machine.statement_of(proof)

    def statement_for(self, data: bytes | None) -> Statement:
        """What a prover proves about the program's run on ``data``."""
        # Here, because verifying needs no compiler.
        from graphprover.vm.execute import execute
        from graphprover.vm.trace import statement

        run = execute(self.machine.image, data or b"", record=True)
        return statement(self.machine, run, self.label)

    def describe(self, public_values: Sequence[Sequence[int]]) -> dict[str, str]:
        """What a proof with these public values says."""
        return machine.describe(public_values)


def load_guest(name: str, label: str, data: bytes) -> Guest:
    """The guest in an ELF file; raises ElfError."""
    return Guest(name, label, Machine(load_elf(data)))
