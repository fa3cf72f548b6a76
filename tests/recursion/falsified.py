"""False statements, and the verdicts of both verifiers on their proofs."""

from dataclasses import replace
from pathlib import Path

from graphprover.protocol.parameters import BLAKE3
from graphprover.statement.statement import Statement
from tests.interop import plonky3
from tests.interop.case import Case
from tests.interop.tables import PLAIN


def verdicts(false: Statement, folder: Path) -> list[str | None]:
    """Return the reasons of our verifier and of Plonky3's to reject a proof of a statement; None if one accepts."""
    case = Case(replace(PLAIN, hash=BLAKE3), false)
    payload = case.prove()
    plonky3.write_statement(folder / "statement.json", case.parameters, false.tables)
    return [case.our_verdict(payload), *plonky3.verify_payloads(folder, folder / "statement.json", [payload])]
