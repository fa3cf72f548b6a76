"""A statement as both sides see it: the same binding, the same proof bytes, two verdicts."""

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
from graphprover.prover.prove import prove
from graphprover.statement.statement import Statement, binding_digest
from graphprover.verifier import verify
from tests.interop import plonky3


@dataclass(frozen=True)
class Case:
    """A statement with its traces, and the parameters to prove it under."""

    parameters: Parameters
    statement: Statement

    @cached_property
    def layout(self) -> Layout:
        """The shape of its proofs."""
        log_heights = [plonky3.log_height(table) for table in self.statement.tables]
        return make_layout(self.statement.descriptions, log_heights, self.parameters)

    @cached_property
    def binding(self) -> bytes:
        """The initial state of its transcript."""
        cap = self.statement.preprocessed_cap(self.parameters.log_blowup, self.parameters.cap_height)
        return binding_digest(self.layout, self.statement.label, cap)

    def write_and_prove(self, folder: Path) -> plonky3.Files:
        """Has Plonky3 prove it in ``folder``."""
        return plonky3.write_and_prove(folder, self.parameters, self.statement.tables, self.statement.label)

    def prove(self) -> bytes:
        """Our own proof, without its envelope."""
        return prove(self.statement, executor="sync", parameters=self.parameters).payload

    def envelope(self, payload: bytes) -> Proof:
        """Plonky3's bytes as a proof of ours."""
        public_values = tuple(tuple(table.public_values or ()) for table in self.statement.tables)
        return Proof(self.statement.label, self.parameters, self.layout.log_heights, public_values, payload)

    def our_verdict(self, payload: bytes) -> str | None:
        """None if our verifier accepts, its reason if it rejects."""
        # These parameters are for tests: they promise no security.
        return reason(lambda: verify(self.envelope(payload).to_bytes(), self.statement, security=0))

    def our_verdict_unbound(self, payload: bytes, binding: bytes) -> str | None:
        """As `our_verdict`, with the transcript of another binding: what Plonky3's verifier alone would say."""

        def check() -> None:
            cap = self.statement.preprocessed_cap(self.parameters.log_blowup, self.parameters.cap_height)
            values = [table.public_values or () for table in self.statement.tables]
            check_batch(self.layout, decode(payload, self.layout), values, cap, binding)

        return reason(check)


def reason(check: Callable[[], object]) -> str | None:
    """Why a verification fails, None if it does not."""
    try:
        check()
    except VerificationError as error:
        return str(error)
    return None
