"""graphprover: a STARK prover in which a proof is a task graph."""

from typing import TYPE_CHECKING, Any

from graphprover.air import Air, Bus
from graphprover.checker import check
from graphprover.envelope import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.statement import Statement, Table
from graphprover.verifier import Verdict, verify

if TYPE_CHECKING:
    from graphprover.prover import prove

__version__ = "0.1.0"

__all__ = [
    "Air",
    "Bus",
    "Proof",
    "Statement",
    "Table",
    "Verdict",
    "VerificationError",
    "check",
    "prove",
    "verify",
]


def __getattr__(name: str) -> Any:
    """``prove``, and with it Dask and Numba, only when it is asked for: describing and verifying need neither."""
    if name == "prove":
        from graphprover.prover import prove

        return prove
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
