"""Proofs and intermediate values for testing verifiers, which docs/vectors.md describes; `make` writes them.

This module reads them with the package, `independent` without it.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from graphprover.air import Air
from graphprover.air.description import AirDescription
from graphprover.proof.compressed import AnyProof, any_proof_from_bytes
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof, load_proof
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement, Table
from graphprover.verifier import Verdict, verify
from graphprover.vm.statement.guest import Guest, load_guest
from graphprover.vm.statement.setup import check_key
from tests.protocol.vectors import description

FOLDER = Path(__file__).parent


class Described(Air):
    """A table given by its description."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.name = table["air"]["name"]
        self.table = table

    def define(self, t: Any) -> None:
        raise NotImplementedError

    def describe(self) -> AirDescription:
        return description(self.table["air"])

    def preprocessed_trace(self) -> np.ndarray:
        return np.array(self.table["preprocessed"], dtype=np.uint64)


@cache
def contents(name: str) -> Any:
    """Return the contents of a JSON file."""
    return json.loads((FOLDER / name).read_text())


def statement_of(entry: dict[str, Any], proof: Proof | ShardedProof) -> Statement | ShardedStatement:
    """Return the statement that a proof is verified for; raises VerificationError, or MalformedKey."""
    if "key" in entry:
        return guest(entry["key"]).statement_of(proof)
    tables = contents(entry["statement"])["tables"]
    return Statement([Table(Described(table), table["public_values"]) for table in tables])


def guest(key: str) -> Guest:
    """Return the guest of a verifying key or an ELF file."""
    return load_guest(key, "guest", (FOLDER / key).read_bytes())


def judge(entry: dict[str, Any]) -> Verdict:
    """Verify the proof of an entry with the package; raises VerificationError, or MalformedKey."""
    if "files" in entry:
        proof: AnyProof = load_proof(*(FOLDER / name for name in entry["files"]))
    elif "file" in entry:
        proof = any_proof_from_bytes((FOLDER / entry["file"]).read_bytes())
    else:
        key = guest(entry["key"]).only_key
        assert key is not None
        check_key(key, guest(entry["program"]).compiled())
        raise AssertionError("the key is the program's")
    return verify(proof, statement_of(entry, proof.header), entry.get("bits", 0))
