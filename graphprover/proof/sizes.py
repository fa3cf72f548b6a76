"""The bytes of each part of a proof, measured or expected, and its provable bits by round."""

import math
from functools import lru_cache
from typing import Any

from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.digests import DIGEST_BYTES
from graphprover.protocol.layout import PREPROCESSED, Layout
from graphprover.protocol.proof import EXT_BYTES, WORD_BYTES, BatchProof, decode, opened_values
from graphprover.protocol.security import Security, analyse, shape_of

REST = "header, public values, nonces, lengths"


@lru_cache(maxsize=16)
def security_of(*layouts: Layout) -> Security:
    """Return the provable security of a proof whose shards have these layouts."""
    parameters = layouts[0].parameters
    shapes = [shape_of(layout.tables, layout.log_heights, parameters.log_blowup) for layout in layouts]
    return analyse(shapes, parameters)


def bits_by(found: Security) -> dict[str, float]:
    """Return the bits by each analysis."""
    return {"johnson": found.johnson.bits, "unique": found.unique.bits}


def security_facts(found: Security) -> dict[str, Any]:
    """Return the rounds of the analysis that counts, and the weakest of them."""
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


def sizes_of(proof: Proof | ShardedProof, *layouts: Layout, decoded: BatchProof | None = None) -> dict[str, int]:
    """Return the bytes of each part of a proof, of all its shards together.

    Args:
        proof: The proof.
        layouts: The layout of each shard.
        decoded: The payload of a proof of one shard, if it has been decoded already.

    Raises:
        VerificationError: for a malformed payload.
    """
    parts: dict[str, int] = {}
    for shard, layout in zip(proof.proofs, layouts, strict=True):
        for part, size in payload_sizes(decoded or decode(shard.payload, layout), layout).items():
            parts[part] = parts.get(part, 0) + size
    rest = proof.size - sum(parts.values())
    return parts | {REST: rest}


def payload_sizes(proof: BatchProof, layout: Layout) -> dict[str, int]:
    """Return the bytes of each part of Plonky3's proof, without the encoded lengths."""
    caps = [proof.main_cap, proof.permutation_cap or (), proof.quotient_cap, *proof.fold_caps]
    parts = {
        "commitments": DIGEST_BYTES * sum(map(len, caps)),
        "openings": sum(map(len, opened_values(layout, proof.openings))),
    }
    for commitment, queries in zip(layout.rounds, proof.round_queries, strict=True):
        parts[f"queries: {commitment.name} rows"] = len(queries.rows)
        parts[f"queries: {commitment.name} paths"] = len(queries.path)
    parts["queries: folds"] = sum(len(queries.siblings) for queries in proof.fold_queries)
    parts["queries: fold paths"] = sum(len(queries.path) for queries in proof.fold_queries)
    parts["final polynomial"] = EXT_BYTES * len(proof.final_polynomial)
    return parts


def expected_sizes(layout: Layout) -> dict[str, int]:
    """Return the expected bytes of each part of a proof of this layout, with the names of `sizes_of`.

    Paths have their average length, and the label an assumed one.
    """
    queries, folds = layout.parameters.num_queries, layout.folded_log_heights
    trees = [*(commitment.log_rows for commitment in layout.rounds if commitment.name != PREPROCESSED), *folds]
    opened = sum(matrix.width * len(matrix.points) for commitment in layout.rounds for matrix in commitment.matrices)
    parts = {
        "commitments": DIGEST_BYTES * sum(1 << layout.cap_log_size(log_rows) for log_rows in trees),
        "openings": EXT_BYTES * opened,
    }
    for commitment in layout.rounds:
        parts[f"queries: {commitment.name} rows"] = WORD_BYTES * queries * sum(commitment.widths)
        parts[f"queries: {commitment.name} paths"] = _path_bytes(layout, commitment.log_rows)
    parts["queries: folds"] = EXT_BYTES * queries * sum((1 << log_arity) - 1 for log_arity in layout.fold_log_arities)
    parts["queries: fold paths"] = sum(_path_bytes(layout, log_rows) for log_rows in folds)
    parts["final polynomial"] = EXT_BYTES << layout.parameters.log_final_poly_len
    # A length is a byte up to 127 and two above, a flag a byte. Each table has some, and its terminal.
    matrices = [matrix for commitment in layout.rounds for matrix in commitment.matrices]
    lengths = queries * (len(layout.rounds) + len(folds) + sum(1 + (matrix.width > 127) for matrix in matrices))
    lengths += sum(len(matrix.points) * (1 + (matrix.width > 127)) for matrix in matrices)
    of_tables = sum(12 + EXT_BYTES + WORD_BYTES * air.num_public_values for air in layout.tables)
    return parts | {REST: 200 + WORD_BYTES * len(folds) + lengths + of_tables}


def _path_bytes(layout: Layout, log_rows: int) -> int:
    """Return the bytes of a multiproof of the queries: a digest for each node off their paths with a sibling on one."""
    queries, digests = layout.parameters.num_queries, 0.0
    for level in range(layout.cap_log_size(log_rows) + 1, log_rows + 1):
        digests += 2.0**level * ((1 - 0.5**level) ** queries - (1 - 2 * 0.5**level) ** queries)
    return DIGEST_BYTES * round(digests)
