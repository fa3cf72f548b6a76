"""A proof of the program that does nothing, with which a process loads or compiles what proofs need."""

from graphprover.device import Device
from graphprover.prover import prove
from graphprover.vm.execute import execute, smallest
from graphprover.vm.run_statement import statement_of_run
from graphprover.vm.setup import make_key
from graphprover.vm.statement import Machine


def prove_smallest(device: Device | str) -> None:
    """Run and prove it, and make its key: on a CPU that takes every kernel."""
    machine = Machine(smallest())
    execute(machine.image)
    execution = execute(machine.image, record=True)
    make_key(machine)
    prove(statement_of_run(machine, execution), device=device)
