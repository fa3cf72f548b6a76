"""What a proof is made of, and what it is worth: its bytes by part, its bits by round."""

import math
from typing import Any

from graphprover.envelope import Proof
from graphprover.proof_in_pieces import ProofInPieces
from graphprover.protocol.hashing import DIGEST_BYTES
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import EXT_BYTES, BatchProof, decode, opened_values
from graphprover.protocol.security import Security, analyse, shape_of


def proofs_of(proof: Proof | ProofInPieces) -> tuple[Proof, ...]:
    """The proof of each piece, or the one that is in no pieces."""
    return proof.proofs if isinstance(proof, ProofInPieces) else (proof,)


def security_of(*layouts: Layout) -> Security:
    """The provable security of proofs of this layout, or of pieces of these."""
    return analyse([shape_of(layout.tables, layout.log_heights) for layout in layouts], layouts[0].parameters)


def bits_by(found: Security) -> dict[str, float]:
    """The bits by each analysis."""
    return {"johnson": found.johnson.bits, "unique": found.unique.bits}


def security_facts(found: Security) -> dict[str, Any]:
    """The rounds of the analysis that counts, and the weakest of them."""
    rounds = [
        {
            "round": challenge.name,
            "bits": None if math.isinf(challenge.bits) else challenge.bits,  # no challenge is bad
            "grinding_bits": challenge.pow_bits,
        }
        for challenge in found.regime.rounds
    ]
    limit = {"regime": found.regime.name, "limited_by": found.binding, "rounds": rounds}
    return {"bits": found.bits, "bits_by": bits_by(found), **limit}


def sizes_of(proof: Proof | ProofInPieces, *layouts: Layout, decoded: BatchProof | None = None) -> dict[str, int]:
    """Bytes of each part of a proof, of all its pieces; raises VerificationError for a malformed one.

    ``decoded``: the payload of one that is in no pieces.
    """
    parts: dict[str, int] = {}
    for piece, layout in zip(proofs_of(proof), layouts, strict=True):
        for part, size in payload_sizes(decoded or decode(piece.payload, layout), layout).items():
            parts[part] = parts.get(part, 0) + size
    rest = len(proof.to_bytes()) - sum(parts.values())
    return parts | {"header, public values, nonces, lengths": rest}


def payload_sizes(proof: BatchProof, layout: Layout) -> dict[str, int]:
    """Bytes of each part of Plonky3's proof, lengths aside."""
    caps = [proof.main_cap, proof.permutation_cap or (), proof.quotient_cap, *proof.fold_caps]
    parts = {
        "commitments": DIGEST_BYTES * sum(map(len, caps)),
        "openings": sum(map(len, opened_values(layout, proof.openings))),
    }
    for commitment, queries in zip(layout.rounds, proof.round_queries, strict=True):
        parts[f"queries: {commitment.name} rows"] = len(queries.rows)
        parts[f"queries: {commitment.name} paths"] = len(queries.path)
    parts["queries: folds"] = sum(len(group) for queries in proof.fold_queries for group in queries.siblings)
    parts["queries: fold paths"] = sum(len(queries.path) for queries in proof.fold_queries)
    parts["final polynomial"] = EXT_BYTES * len(proof.final_polynomial)
    return parts
