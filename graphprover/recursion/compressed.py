"""Verification of compressed proofs: the header of the first proof, and the second proof that a verifier accepts it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from graphprover.proof.compressed import CompressedProof
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import Cap
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.recursion.head.head import Head, head_of
from graphprover.recursion.key import LayerStatement
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement, binding_digest
from graphprover.verifier import Verdict, check_level, expect_header, verify_shards


def verify_compressed(
    proof: CompressedProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
    *,
    preprocessed: Cap | None = None,
) -> Verdict:
    """Check that a compressed proof proves ``statement``, where each of its two proofs has this security.

    Args:
        proof: The proof.
        statement: As in `graphprover.verify`.
        security: The least provable security, in bits.
        proximity: As in `graphprover.verify`.
        preprocessed: The commitment to the preprocessed columns of the statement, if the caller has made it.

    Returns:
        The verdict, as on the first proof. Its security is the lower one of both proofs.

    Raises:
        VerificationError: The proof does not convince. Messages about the second proof begin with ``layer``.
        ValueError: The statement is malformed.
    """
    expected = expect_header(proof.base, statement, security, proximity)
    (layout,), (own,) = expected.layouts, expected.statements
    with _blamed():
        check_level(proof.layer, security)  # before the head, which takes time to make
    cap = own.preprocessed_cap(layout.parameters) if preprocessed is None else preprocessed
    head = head_of_header(proof.base, layout, cap)
    with _blamed():
        layer = verify_shards(proof.layer, LayerStatement(head), security, proximity)
    found = min(expected.security, layer.security, key=lambda own: own.by(proximity).bits)
    return replace(expected.verdict([]), security=found)


@contextmanager
def _blamed() -> Iterator[None]:
    """Name the second proof in errors."""
    try:
        yield
    except VerificationError as error:
        raise error.refusal(f"layer: {error}") from None


def head_of_header(header: Proof, layout: Layout, preprocessed: Sequence[bytes] | None) -> Head:
    """Return the head of the statement that a proof with this header is accepted.

    Raises:
        VerificationError: No proof of this layout can be compressed.
    """
    cap = None if preprocessed is None else tuple(preprocessed)
    try:
        return head_of(layout, header.public_values, cap, binding_digest(layout, header.label, cap))
    except ValueError as error:
        raise VerificationError("compressed.layout", str(error)) from None
