"""Exports of a proof for Plonky3's own verifier: the statement of each shard as JSON, and its payload.

docs/interop.md has the commands that verify with them, and the fields of the JSON.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from graphprover.air.degree import at_rate
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import Shard, ShardedProof
from graphprover.protocol.parameters import Parameters
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement, Table
from graphprover.verifier.headers import layout_of_proof, statements_of

STATEMENT, PAYLOAD = "statement.json", "payload.bin"  # names of files


def export(proof: Proof | ShardedProof, statement: Statement | ShardedStatement) -> dict[str, bytes]:
    """Return the two files that Plonky3's verifier reads; nothing is verified.

    Args:
        proof: The proof. Label, heights, parameters, public values and the digests of shards come from it.
        statement: The statement. Everything else comes from it.

    Returns:
        The bytes of each file by its name; of a proof of several shards, in a folder for each, named by its index.

    Raises:
        VerificationError: if a header does not fit the statement.
    """
    files = dict[str, bytes]()
    for index, (own, of_shard) in enumerate(zip(proof.proofs, statements_of(proof, statement), strict=True)):
        shard = Shard(proof.joint, index, own) if proof.joint else None
        folder = f"{index}/" if shard else ""
        files |= {f"{folder}{name}": data for name, data in _files(own, of_shard, shard).items()}
    return files


def _files(proof: Proof, statement: Statement, shard: Shard | None = None) -> dict[str, bytes]:
    layout_of_proof(proof, statement, shard=shard is not None)  # raises unless the header fits
    tables = zip(statement.tables, proof.public_values, strict=True)
    stated = [replace(table, public_values=values) for table, values in tables]
    encoded = statement_json(proof.parameters, stated, proof.log_heights, proof.label, shard)
    return {STATEMENT: encoded.encode(), PAYLOAD: proof.payload}


def statement_json(
    parameters: Parameters,
    tables: Sequence[Table],
    log_heights: Sequence[int],
    label: str,
    shard: Shard | None = None,
) -> str:
    """Return as JSON the tables, their public values and heights, and all else that the transcript starts from.

    The binding digest, which follows from it, is left out: a verifier that trusted it would accept a proof whose prover
    chose the tables after the challenges.

    Args:
        parameters: The parameters of the proof.
        tables: The tables, with their public values.
        log_heights: The log2 of each table's rows.
        label: The label of the proof.
        shard: The shard of a sharded proof that the tables are in.
    """
    airs = [table.air.describe() for table in tables]
    encoded = {
        "parameters": asdict(parameters),
        "label": label,
        "tables": [
            {
                "air": air.to_json(),
                "pin_budget": at_rate(air, parameters.log_blowup).pin_budget,
                "log_height": log_height,
                "public_values": [int(value) for value in table.public_values or ()],
                "preprocessed": None if table.preprocessed is None else table.preprocessed.tolist(),
            }
            for table, air, log_height in zip(tables, airs, log_heights, strict=True)
        ],
    }
    if shard is not None:
        encoded["shard"] = {"index": shard.index, "digests": [digest.hex() for digest in shard.joint.digests]}
    return json.dumps(encoded, allow_nan=False)
