"""graphprover: a STARK prover in which a proof is a task graph."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphprover.air import Air, Bus
    from graphprover.batch import prove_many
    from graphprover.checker import check
    from graphprover.delayed import graph
    from graphprover.envelope import Proof
    from graphprover.files import FileError
    from graphprover.jobs import Job, Prover, Result
    from graphprover.proof_in_pieces import ProofInPieces, load_proof
    from graphprover.protocol.errors import VerificationError
    from graphprover.prover import prove
    from graphprover.seen.observation import Observation
    from graphprover.seen.watching import observed
    from graphprover.statement import Statement, Table
    from graphprover.verifier import Verdict, verify

__version__ = "0.1.0"

__all__ = [
    "Air",
    "Bus",
    "FileError",
    "Job",
    "Observation",
    "Proof",
    "ProofInPieces",
    "Prover",
    "Result",
    "Statement",
    "Table",
    "Verdict",
    "VerificationError",
    "check",
    "graph",
    "load_proof",
    "observed",
    "prove",
    "prove_many",
    "verify",
]


_HOMES = {
    "Air": "air",
    "Bus": "air",
    "FileError": "files",
    "Job": "jobs",
    "Observation": "seen.observation",
    "Proof": "envelope",
    "ProofInPieces": "proof_in_pieces",
    "Prover": "jobs",
    "Result": "jobs",
    "Statement": "statement",
    "Table": "statement",
    "Verdict": "verifier",
    "VerificationError": "protocol.errors",
    "check": "checker",
    "graph": "delayed",
    "load_proof": "proof_in_pieces",
    "observed": "seen.watching",
    "prove": "prover",
    "prove_many": "batch",
    "verify": "verifier",
}


def __getattr__(name: str) -> Any:
    """A public name, imported when it is asked for: verifying needs no compiler, and the command starts at once."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
