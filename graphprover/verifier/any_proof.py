"""verify(): a proof of any kind, single, sharded or compressed."""

from graphprover.proof.compressed import AnyProof, CompressedProof, any_proof_from_bytes, expect_proof
from graphprover.proof.mock import MockProof, is_mock
from graphprover.protocol.proof import Cap, Caps
from graphprover.protocol.security import JOHNSON_PROXIMITY, Security
from graphprover.statement.shards import ShardedStatement, expect_statement
from graphprover.statement.statement import Statement
from graphprover.verifier.mock import verify_mock
from graphprover.verifier.shards import expect_header, verify_shards
from graphprover.verifier.verdict import Verdict


def verify(
    proof: AnyProof | MockProof | bytes,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
    *,
    preprocessed: Cap | None = None,
    allow_mock: bool = False,
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
        allow_mock: Accepts a mock proof, **which proves nothing**, in tests of applications; the verdict says so.

    Returns:
        The verdict.

    Raises:
        VerificationError: for every proof that does not convince, however malformed; it says why.
        ValueError: if the statement is malformed.
    """
    proof = parsed(proof, allow_mock)
    expect_statement(statement, "verify")
    caps = None if preprocessed is None or proof.header.joint else (preprocessed,)
    return verify_made(proof, statement, security, proximity, caps)


def parsed(proof: AnyProof | MockProof | bytes, allow_mock: bool) -> AnyProof | MockProof:
    """Return a proof, parsed from its bytes; raises VerificationError for a mock unless it is allowed."""
    if isinstance(proof, MockProof) and not allow_mock:
        proof = proof.to_bytes()  # which is refused below
    if not isinstance(proof, bytes):
        expect_proof(proof)
        return proof
    return MockProof.from_bytes(proof) if allow_mock and is_mock(proof) else any_proof_from_bytes(proof)


def verify_made(
    proof: AnyProof | MockProof,
    statement: Statement | ShardedStatement,
    security: float,
    proximity: str,
    caps: Caps,
) -> Verdict:
    """Check a proof as `verify` does, with the commitments of all shards to their preprocessed columns, if known.

    ``proof``: as `parsed` returns it, so that a mock is one that the caller allows.
    """
    if isinstance(proof, MockProof):
        return verify_mock(proof, statement, security, proximity)
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
