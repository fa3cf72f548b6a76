"""Proofs of the program that does nothing, which load or compile all kernels of a process."""

from graphprover.device import CpuDevice, Device
from graphprover.graphs.executor_names import THREADS
from graphprover.protocol.level import LayerLevel, Level
from graphprover.protocol.parameters import DEFAULT_HASH
from graphprover.prover.layer_tree import compressed, layers_by
from graphprover.prover.local import make
from graphprover.prover.prepare import ready
from graphprover.prover.tree_choice import target_of
from graphprover.statement.statement import Statement
from graphprover.verifier import verify
from graphprover.vm.executor.execute import execute, smallest
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.run_statement import statement_of_run


def prove_smallest(device: Device | str, hash_name: str = DEFAULT_HASH) -> None:
    """Run, prove and verify it, which takes every kernel of a CPU, and on a GPU all but those of other tables."""
    statement = _statement()
    made = make(ready(statement, Level(hash=hash_name)), device=device, verified=False, waits=False)
    verify(made.proof, statement)


def compress_smallest() -> None:
    """Compress a proof of it with few queries, which takes all further kernels of a CPU."""
    statement, level = _statement(), Level(security=20, rate=2, pow_bits=0)
    made = make(ready(statement, level), device="cpu", verified=False, waits=False)
    layers, device = (LayerLevel(security=20, pow_bits=0),), CpuDevice()
    compressed(made, statement, level, layers, layers_by(THREADS, device, waits=False), target_of(device))


def _statement() -> Statement:
    """Run the program, also without a record, and return the statement about the run."""
    machine = Machine(smallest())
    execute(machine.image)
    return statement_of_run(machine, execute(machine.image, record=True))
