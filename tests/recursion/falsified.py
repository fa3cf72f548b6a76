"""Verdicts of both verifiers: on proofs of true statements, and of false ones."""

from dataclasses import replace
from pathlib import Path

from graphprover.proof.proof import Proof
from graphprover.protocol.parameters import BLAKE3
from graphprover.proving.prove import prove
from graphprover.statement.statement import Statement
from graphprover.verifier import verify
from tests.interop import plonky3
from tests.interop.case import Case
from tests.interop.tables import PLAIN


def accepted(made: Statement, hash: str, folder: Path) -> Proof:
    """Return a proof of a statement, which both verifiers accept."""
    proof = prove(made, hash=hash, device="cpu")
    assert verify(proof, made).bits >= 128
    plonky3.write_statement(folder / "statement.json", proof.parameters, made.tables, made.label)
    assert plonky3.verify_payloads(folder, folder / "statement.json", [proof.payload]) == [None]
    return proof


def verdicts(false: Statement, folder: Path) -> list[str | None]:
    """Return the reasons of our verifier and of Plonky3's to reject a proof of a statement; None if one accepts."""
    case = Case(replace(PLAIN, hash=BLAKE3), false)
    payload = case.prove()
    plonky3.write_statement(folder / "statement.json", case.parameters, false.tables)
    return [case.our_verdict(payload), *plonky3.verify_payloads(folder, folder / "statement.json", [payload])]
