"""A proof of the program that does nothing, with which a process loads or compiles what proofs need."""

from graphprover.device import Device
from graphprover.prover.prove import prove
from graphprover.verifier import verify
from graphprover.vm.executor.execute import execute, smallest
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.run_statement import statement_of_run


def prove_smallest(device: Device | str) -> None:
    """Run, prove and verify it, which takes every kernel of a CPU, and on a GPU all but those of other tables."""
    machine = Machine(smallest())
    execute(machine.image)
    execution = execute(machine.image, record=True)
    statement = statement_of_run(machine, execution)
    verify(prove(statement, device=device), statement)
