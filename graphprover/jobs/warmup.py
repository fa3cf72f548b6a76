"""Proofs of the program that does nothing, which load or compile all kernels of a process."""

from graphprover.device import Device
from graphprover.prover.compress import compress
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


def compress_smallest() -> None:
    """Compress a proof of it with few queries, which takes all further kernels of a CPU."""
    machine = Machine(smallest())
    statement = statement_of_run(machine, execute(machine.image, record=True))
    proof = prove(statement, device="cpu", security=20, rate=2, pow_bits=0)
    compress(proof, statement, device="cpu", security=20, rate=2, pow_bits=0)
