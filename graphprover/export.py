"""What Plonky3's own verifier reads of a proof: its statement as JSON, and its bytes.

docs/interop.md says how to verify with them, and what the JSON holds.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from graphprover.envelope import Proof
from graphprover.protocol.parameters import Parameters
from graphprover.statement import Statement, Table, binding_digest
from graphprover.verifier import layout_of_proof

STATEMENT, PAYLOAD = "statement.json", "payload.bin"  # names of files


def export(proof: Proof, statement: Statement) -> dict[str, bytes]:
    """The two files, by name; nothing is verified.

    All but the label, the heights, the parameters and the public values comes from ``statement``, not from the proof.
    Raises VerificationError where the header of the proof does not fit the statement.
    """
    layout = layout_of_proof(proof, statement)
    cap = statement.preprocessed_cap(proof.parameters.log_blowup, proof.parameters.cap_height)
    binding = binding_digest(layout, proof.label, cap)
    tables = zip(statement.tables, proof.public_values, strict=True)
    stated = [replace(table, public_values=values) for table, values in tables]
    encoded = statement_json(proof.parameters, stated, proof.log_heights, binding)
    return {STATEMENT: encoded.encode(), PAYLOAD: proof.payload}


def statement_json(parameters: Parameters, tables: Sequence[Table], log_heights: Sequence[int], binding: bytes) -> str:
    """Tables with their public values and log2 of their rows, and the 32 bytes that the transcript starts from."""
    return json.dumps(
        {
            "parameters": asdict(parameters),
            "binding": binding.hex(),
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
    )
