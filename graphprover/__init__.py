"""graphprover: a STARK prover in which a proof is a task graph."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphprover.air import Air, Bus
    from graphprover.jobs.job import Job
    from graphprover.jobs.programs import ProgramError
    from graphprover.jobs.result import Result
    from graphprover.proof.compressed import CompressedProof
    from graphprover.proof.proof import Proof
    from graphprover.proof.sharded import ShardedProof, load_proof
    from graphprover.protocol.errors import VerificationError
    from graphprover.proving.aggregate import aggregate
    from graphprover.proving.batch import prove_many
    from graphprover.proving.compress import compress
    from graphprover.proving.delayed import graph
    from graphprover.proving.plan import plan
    from graphprover.proving.prove import prove
    from graphprover.proving.prover import Prover
    from graphprover.runtime.files import FileError
    from graphprover.statement.check import check
    from graphprover.statement.statement import Statement, Table
    from graphprover.telemetry.observation import Observation
    from graphprover.telemetry.subscribe import observed
    from graphprover.verifier import Verdict, verify
    from graphprover.verifier.compressed import verify_aggregate
    from graphprover.vm.executor.faults import GuestFault
    from graphprover.vm.statement.claim import Claim
    from graphprover.vm.statement.key import Key

__version__ = "0.1.0"

__all__ = [
    "Air",
    "Bus",
    "Claim",
    "CompressedProof",
    "FileError",
    "GuestFault",
    "Job",
    "Key",
    "Observation",
    "ProgramError",
    "Proof",
    "Prover",
    "Result",
    "ShardedProof",
    "Statement",
    "Table",
    "Verdict",
    "VerificationError",
    "aggregate",
    "check",
    "compress",
    "graph",
    "load_proof",
    "observed",
    "plan",
    "prove",
    "prove_many",
    "verify",
    "verify_aggregate",
]


_HOMES = {
    "Air": "air",
    "Bus": "air",
    "Claim": "vm.statement.claim",
    "CompressedProof": "proof.compressed",
    "FileError": "runtime.files",
    "GuestFault": "vm.executor.faults",
    "Job": "jobs.job",
    "Key": "vm.statement.key",
    "Observation": "telemetry.observation",
    "ProgramError": "jobs.programs",
    "Proof": "proof.proof",
    "ShardedProof": "proof.sharded",
    "Prover": "proving.prover",
    "Result": "jobs.result",
    "Statement": "statement.statement",
    "Table": "statement.statement",
    "Verdict": "verifier",
    "VerificationError": "protocol.errors",
    "aggregate": "proving.aggregate",
    "check": "statement.check",
    "compress": "proving.compress",
    "graph": "proving.delayed",
    "load_proof": "proof.sharded",
    "observed": "telemetry.subscribe",
    "plan": "proving.plan",
    "prove": "proving.prove",
    "prove_many": "proving.batch",
    "verify": "verifier",
    "verify_aggregate": "verifier.compressed",
}


def __dir__() -> list[str]:
    """Return the public names and the modules that are imported, for completion."""
    return sorted({*__all__, *globals()} - {"Any", "TYPE_CHECKING", "import_module"})


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that verifying needs no compiler and the command starts quickly."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        from graphprover.runtime.extras import install, needs_prover  # here, because a command starts with this module

        if not needs_prover(error):
            raise
        raise ImportError(f"{__name__}.{name} needs the prover: {install('prover')}", name=error.name) from error
