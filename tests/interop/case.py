"""A statement for both implementations: the same binding, the same proof bytes, two verdicts."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.layout import Layout, make_layout
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.proof import decode
from graphprover.protocol.verification import check_batch
from graphprover.proving.prove import prove
from graphprover.statement.statement import Statement, binding_digest
from graphprover.verifier import verify
from tests.interop import plonky3


@dataclass(frozen=True)
class Case:
    """A statement with its traces and the parameters of its proofs."""

    parameters: Parameters
    statement: Statement

    @cached_property
    def layout(self) -> Layout:
        """Shape of the proofs."""
        log_heights = [plonky3.log_height(table) for table in self.statement.tables]
        return make_layout(self.statement.descriptions, log_heights, self.parameters)

    @cached_property
    def binding(self) -> bytes:
        """Initial state of the transcript."""
        cap = self.statement.preprocessed_cap(self.parameters)
        return binding_digest(self.layout, self.statement.label, cap)

    def write_and_prove(self, folder: Path) -> plonky3.Files:
        """Prove with Plonky3 in ``folder``."""
        return plonky3.write_and_prove(folder, self.parameters, self.statement.tables, self.statement.label)

    def prove(self) -> bytes:
        """Return our proof without its envelope."""
        return prove(self.statement, executor="sync", parameters=self.parameters).payload

    def envelope(self, payload: bytes) -> Proof:
        """Return Plonky3's bytes in our proof format."""
        public_values = tuple(tuple(table.public_values or ()) for table in self.statement.tables)
        return Proof(self.statement.label, self.parameters, self.layout.log_heights, public_values, payload)

    def our_verdict(self, payload: bytes) -> str | None:
        """Return None if our verifier accepts, else its reason."""
        # The tests' parameters have little security.
        return reason(lambda: verify(self.envelope(payload).to_bytes(), self.statement, security=0))

    def our_verdict_unbound(self, payload: bytes, binding: bytes) -> str | None:
        """Return `our_verdict` with the transcript of another binding, as Plonky3's verifier alone would decide."""

        def check() -> None:
            cap = self.statement.preprocessed_cap(self.parameters)
            values = [table.public_values or () for table in self.statement.tables]
            check_batch(self.layout, decode(payload, self.layout), values, cap, binding)

        return reason(check)


def reason(check: Callable[[], object]) -> str | None:
    """Return the reason of a failed verification, None if it succeeds."""
    try:
        check()
    except VerificationError as error:
        return str(error)
    return None
