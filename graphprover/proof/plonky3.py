"""What Plonky3's own verifier reads of a proof or of each of its shards: its statement as JSON, and its bytes.

docs/interop.md says how to verify with them, and what the JSON holds.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from graphprover.proof.proof import Proof
from graphprover.proof.sharded import Shard, ShardedProof
from graphprover.protocol.parameters import Parameters
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement, Table
from graphprover.verifier import layout_of_proof, statements_of

STATEMENT, PAYLOAD = "statement.json", "payload.bin"  # names of files


def export(proof: Proof | ShardedProof, statement: Statement | ShardedStatement) -> dict[str, bytes]:
    """The two files by name, of shards in a folder each, named by its index; nothing is verified.

    All but the label, the heights, the parameters, the public values and the digests of shards comes from
    ``statement``, not from the proof. Raises VerificationError where a header does not fit the statement.
    """
    statements = statements_of(proof, statement)
    if isinstance(proof, Proof):
        return _files(proof, statements[0])
    return {
        f"{shard.index}/{name}": data
        for shard, of_shard in zip(proof.shards, statements, strict=True)
        for name, data in _files(shard.proof, of_shard, shard).items()
    }


def _files(proof: Proof, statement: Statement, shard: Shard | None = None) -> dict[str, bytes]:
    layout_of_proof(proof, statement)  # raises unless the header fits
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
    """Tables with their public values and log2 of their rows, and all else that the transcript starts from.

    The 32 bytes that follow from it are not there: a verifier that took them on faith would accept a proof whose prover
    chose the tables after the challenges.
    """
    encoded = {
        "parameters": asdict(parameters),
        "label": label,
        "tables": [
            {
                "air": table.air.describe().to_json(),
                "log_height": log_height,
                "public_values": [int(value) for value in table.public_values or ()],
                "preprocessed": None if table.preprocessed is None else table.preprocessed.tolist(),
            }
            for table, log_height in zip(tables, log_heights, strict=True)
        ],
    }
    if shard is not None:
        encoded["shard"] = {"index": shard.index, "digests": [digest.hex() for digest in shard.joint.digests]}
    return json.dumps(encoded)
