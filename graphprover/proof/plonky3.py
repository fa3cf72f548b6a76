"""What Plonky3's own verifier reads of a proof or of each of its pieces: its statement as JSON, and its bytes.

docs/interop.md says how to verify with them, and what the JSON holds.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from graphprover.proof.proof import Proof
from graphprover.proof.sharded import Piece, ProofInPieces
from graphprover.protocol.parameters import Parameters
from graphprover.statement.shards import Pieces
from graphprover.statement.statement import Statement, Table
from graphprover.verifier import layout_of_proof, statements_of

STATEMENT, PAYLOAD = "statement.json", "payload.bin"  # names of files


def export(proof: Proof | ProofInPieces, statement: Statement | Pieces) -> dict[str, bytes]:
    """The two files by name, of pieces in a folder each, named by its index; nothing is verified.

    All but the label, the heights, the parameters, the public values and the digests of pieces comes from
    ``statement``, not from the proof. Raises VerificationError where a header does not fit the statement.
    """
    statements = statements_of(proof, statement)
    if isinstance(proof, Proof):
        return _files(proof, statements[0])
    return {
        f"{piece.index}/{name}": data
        for piece, of_piece in zip(proof.pieces, statements, strict=True)
        for name, data in _files(piece.proof, of_piece, piece).items()
    }


def _files(proof: Proof, statement: Statement, piece: Piece | None = None) -> dict[str, bytes]:
    layout_of_proof(proof, statement)  # raises unless the header fits
    tables = zip(statement.tables, proof.public_values, strict=True)
    stated = [replace(table, public_values=values) for table, values in tables]
    encoded = statement_json(proof.parameters, stated, proof.log_heights, proof.label, piece)
    return {STATEMENT: encoded.encode(), PAYLOAD: proof.payload}


def statement_json(
    parameters: Parameters,
    tables: Sequence[Table],
    log_heights: Sequence[int],
    label: str,
    piece: Piece | None = None,
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
    if piece is not None:
        encoded["piece"] = {"index": piece.index, "digests": [digest.hex() for digest in piece.joint.digests]}
    return json.dumps(encoded)
