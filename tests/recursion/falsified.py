"""False statements, and the verdicts of both verifiers on their proofs."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np

from graphprover.protocol.parameters import BLAKE3
from graphprover.statement.statement import Statement
from tests.interop import plonky3
from tests.interop.case import Case
from tests.interop.tables import PLAIN


def with_facts(made: Statement, table: str, edit: Callable[[np.ndarray], None]) -> Statement:
    """Return a statement with other facts in one of its tables of `graphprover.recursion.tables.stated`."""
    tables = []
    for own in made.tables:
        if own.air.name == table:
            air = copy(own.air)
            facts = air.preprocessed_trace().copy()
            edit(facts)
            vars(air)["_trace"] = facts
            own = replace(own, air=air)
        tables.append(own)
    return Statement(tables)


def verdicts(false: Statement, folder: Path) -> list[str | None]:
    """Return the reasons of our verifier and of Plonky3's to reject a proof of a statement; None if one accepts."""
    case = Case(replace(PLAIN, hash=BLAKE3), false)
    payload = case.prove()
    plonky3.write_statement(folder / "statement.json", case.parameters, false.tables)
    return [case.our_verdict(payload), *plonky3.verify_payloads(folder, folder / "statement.json", [payload])]
