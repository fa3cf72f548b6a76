"""verify(): a proof of any kind, single, sharded or compressed."""

from os import PathLike

from graphprover.proof.compressed import AnyProof, CompressedProof, any_proof_from_bytes
from graphprover.protocol.proof import Cap, Caps
from graphprover.protocol.security import JOHNSON_PROXIMITY, Security
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.verifier.shards import expect_header, verify_shards
from graphprover.verifier.verdict import Verdict


def verify(
    proof: AnyProof | bytes,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
    *,
    preprocessed: Cap | None = None,
) -> Verdict:
    """Check that a proof proves ``statement`` with at least ``security`` provable bits.

    The proof has one shard or several, or is a compressed one of one member (`graphprover.verify_aggregate` takes
    several).

    A statement about a guest accepts every exit code, which the verdict's claim has: `Prover.verify` and `Key.verify`
    compare it.

    Args:
        proof: The proof, or its bytes.
        statement: The statement. A proof of its tables may assign them to shards in any way; a proof of a sharded
            statement has the same shards.
        security: The least provable security, in bits.
        proximity: ``"unique"`` counts unique decoding alone.
        preprocessed: The commitment to the preprocessed columns of a proof of one shard, if the caller has made it, as
            a prover that checks its own proof. It is computed here otherwise, which takes most of the time if the
            columns are tall. `verify_made` takes the commitments of several shards.

    Returns:
        The verdict.

    Raises:
        VerificationError: for every proof that does not convince, however malformed; it says why.
        ValueError: if the statement is malformed.
    """
    if isinstance(proof, str | PathLike):
        raise TypeError(f"{proof!r} is a file, not a proof: verify(load_proof({str(proof)!r}), ...)")
    if isinstance(proof, bytes):
        proof = any_proof_from_bytes(proof)
    caps = None if preprocessed is None or proof.header.joint else (preprocessed,)
    return verify_made(proof, statement, security, proximity, caps)


def verify_made(
    proof: AnyProof, statement: Statement | ShardedStatement, security: float, proximity: str, caps: Caps
) -> Verdict:
    """Check a proof as `verify` does, with the commitments of all shards to their preprocessed columns, if known."""
    if isinstance(proof, CompressedProof):
        from graphprover.verifier.compressed import verify_compressed  # here, because other proofs do not need it

        return verify_compressed(proof, statement, security, proximity, preprocessed=caps)
    return verify_shards(proof, statement, security, proximity, preprocessed=caps)


def verify_header(
    proof: AnyProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
) -> Security:
    """Verify the header of a proof, and return its provable security if the payloads hold.

    Of a compressed proof these are the headers of all its proofs, and the lowest security. Arguments and errors are as
    for `verify`.
    """
    if isinstance(proof, CompressedProof):
        from graphprover.verifier.compressed import verify_headers  # here, because other proofs do not need it

        return verify_headers(proof, statement, security, proximity)
    return expect_header(proof, statement, security, proximity).security
