"""compress(): from a proof to a smaller one, which states that a verifier accepts the first."""

from dataclasses import replace
from typing import Any

from graphprover.device import Device
from graphprover.graphs.executor_names import THREADS
from graphprover.graphs.progress import Tell
from graphprover.proof.compressed import MOST_LAYERS, AnyProof, CompressedProof, any_proof_from_bytes
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.level import COMPRESSED_POW_BITS, Level
from graphprover.protocol.parameters import BLAKE3
from graphprover.protocol.proof import Cap
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.prover.prepare import ready
from graphprover.prover.prove import check_headers, prove_prepared
from graphprover.recursion.compressed import expect_headers, head_of_header
from graphprover.recursion.key import LayerStatement
from graphprover.recursion.layer import layer_statement
from graphprover.statement.statement import Statement, binding_digest
from graphprover.telemetry.subscribe import stage
from graphprover.verifier import Expected, expect, expect_header

LAYER_RATE = 8  # by default: a lower rate saves few bytes for twice the time


def compress(
    proof: AnyProof | bytes,
    statement: Statement,
    executor: Any = THREADS,
    security: float = 128,
    rate: int = LAYER_RATE,
    device: Device | str = "auto",
    proximity: str = JOHNSON_PROXIMITY,
    progress: bool | Tell = False,
    *,
    pow_bits: int = COMPRESSED_POW_BITS,
    preprocessed: Cap | None = None,
) -> CompressedProof:
    """Compress a proof: verify it, and prove that a verifier accepts it. A compressed proof gets one more layer.

    The size of the compressed proof hardly depends on the run that the first proof is about. `graphprover.verify` takes
    it with the same statement. The first proof must have one shard and the hash BLAKE3.

    Args:
        proof: The proof, or its bytes.
        statement: The statement that it proves.
        executor: As in `graphprover.prove`.
        security: The provable bits of the second proof, and the least ones of the first.
        rate: The rate of the second proof is 1/``rate``, with a power of two from 2 to 64.
        device: As in `graphprover.prove`.
        proximity: ``"unique"`` counts unique decoding alone, for both proofs.
        progress: As in `graphprover.prove`, of the second proof.
        pow_bits: The proof of work of the second proof, as in `graphprover.prove`.
        preprocessed: The commitment to the preprocessed columns of the statement, if the caller has made it.

    Returns:
        The compressed proof, which is not verified.

    Raises:
        ValueError: Proofs of this kind cannot be compressed, or an option is not offered; the message says why.
        VerificationError: The proof does not convince.
        MemoryError: As in `graphprover.prove`.
    """
    level = Level(security, rate, proximity, BLAKE3, pow_bits)
    if isinstance(proof, bytes):
        proof = any_proof_from_bytes(proof)
    single = check_compressible(proof)
    headers = [replace(single, payload=b"")]
    with stage("verify"):
        if isinstance(proof, CompressedProof):
            _, statement, _ = expect_headers(proof, statement, security, proximity, preprocessed)
            headers, preprocessed = [*proof.headers, *headers], None
        caps = None if preprocessed is None else (preprocessed,)
        expected = expect_header(single, statement, security, proximity, caps)
        batch = expected.decoded(0, single)
        expected.check_decoded(0, single, batch)
    with stage("prepare"):
        (layout,), (own,) = expected.layouts, expected.statements
        cap = own.preprocessed_cap(layout.parameters) if preprocessed is None else preprocessed
        binding = binding_digest(layout, single.label, cap)
        prepared = ready(layer_statement(layout, batch, single.public_values, cap, binding), level)

    def expected_layer(headers: Proof | ShardedProof) -> Expected:
        check_headers(headers, prepared)
        return expect(headers, LayerStatement(head_of_header(single, layout, cap)), security, proximity)

    layer, _ = prove_prepared(prepared, executor, device, progress, expected_layer)
    assert isinstance(layer, Proof)
    return CompressedProof(headers[0], (*headers[1:], layer))


def check_compressible(proof: AnyProof) -> Proof:
    """Return the proof that a layer is about, if a proof is of a kind that can be compressed.

    Raises:
        ValueError: The proof has too many layers, is in shards, or has another hash.
    """
    if isinstance(proof, CompressedProof):
        if len(proof.layers) == MOST_LAYERS:
            raise ValueError(f"the proof has {MOST_LAYERS} layers, and none can be added")
        return proof.layer
    if isinstance(proof, ShardedProof):
        raise ValueError(
            f"the proof is in {len(proof.proofs)} shards, and one shard can be compressed: prove it in one"
        )
    check_hash(proof.parameters.hash)
    return proof


def check_hash(hash: str) -> None:
    """Raise ValueError for a hash whose proofs cannot be compressed."""
    if hash != BLAKE3:
        raise ValueError(f"proofs by {hash} cannot be compressed, only those by {BLAKE3}: prove with --hash {BLAKE3}")
