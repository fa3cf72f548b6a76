"""Verification of compressed proofs: the headers of all proofs but the last layer, and that layer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from graphprover.proof.compressed import CompressedProof
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import Cap
from graphprover.protocol.security import JOHNSON_PROXIMITY, Security
from graphprover.recursion.head.heads import Child, Heads, heads_of
from graphprover.recursion.key import LayerStatement
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement, binding_digest
from graphprover.verifier import Expected, Verdict, check_level, expect_header, verify_shards


def verify_compressed(
    proof: CompressedProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
    *,
    preprocessed: Cap | None = None,
) -> Verdict:
    """Check that a compressed proof proves ``statement``, if each of its proofs has this security.

    Args:
        proof: The proof.
        statement: As in `graphprover.verify`.
        security: The least provable security, in bits.
        proximity: As in `graphprover.verify`.
        preprocessed: The commitment to the preprocessed columns of the statement, if the caller has made it.

    Returns:
        The verdict, as on the first proof. Its security is the lowest one of all proofs.

    Raises:
        VerificationError: The proof does not convince. Messages about a layer begin with ``layer``.
        ValueError: The statement is malformed.
    """
    _check_levels(proof, security)
    expected, last, others = expect_headers(proof, statement, security, proximity, preprocessed)
    with _blamed(proof, len(proof.layers) - 1):
        verdict = verify_shards(proof.layer, last, security, proximity)
    found = _lowest(proximity, *others, verdict.security)
    return replace(expected.verdict([]), security=found)


def verify_headers(
    proof: CompressedProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
) -> Security:
    """Verify the headers of all proofs, and return the lowest security if the payload of the last layer holds.

    Arguments and errors are as for `verify_compressed`.
    """
    _check_levels(proof, security)
    _, last, others = expect_headers(proof, statement, security, proximity, None)
    with _blamed(proof, len(proof.layers) - 1):
        return _lowest(proximity, *others, expect_header(proof.layer, last, security, proximity).security)


def _check_levels(proof: CompressedProof, security: float) -> None:
    """Raise VerificationError for a level that is too low, before any head is made, which takes time."""
    check_level(proof.base, security)
    for number, layer in enumerate(proof.layers):
        with _blamed(proof, number):
            check_level(layer, security)


def _lowest(proximity: str, *found: Security) -> Security:
    return min(found, key=lambda own: own.by(proximity).bits)


def expect_headers(
    proof: CompressedProof,
    statement: Statement | ShardedStatement,
    security: float,
    proximity: str,
    preprocessed: Cap | None,
) -> tuple[Expected, LayerStatement, tuple[Security, ...]]:
    """Verify the headers of a compressed proof.

    Arguments and errors are as for `verify_compressed`.

    Returns:
        The verification of the base, the statement of the last layer, and the security of all proofs but that one.
    """
    expected = expect_header(proof.base, statement, security, proximity)
    (layout,), (own,) = expected.layouts, expected.statements
    cap = own.preprocessed_cap(layout.parameters) if preprocessed is None else preprocessed
    last, securities = LayerStatement(heads_of_headers([child_of(proof.base, layout, cap)])), [expected.security]
    for number, header in enumerate(proof.headers[1:]):
        with _blamed(proof, number):
            of_layer = expect_header(header, last, security, proximity)
            (layout,) = of_layer.layouts
            last = LayerStatement(
                heads_of_headers([child_of(header, layout, last.preprocessed_cap(layout.parameters))])
            )
            securities.append(of_layer.security)
    return expected, last, tuple(securities)


@contextmanager
def _blamed(proof: CompressedProof, number: int) -> Iterator[None]:
    """Name the layer with this number in errors."""
    name = "layer" if len(proof.layers) == 1 else f"layer {number + 1}"
    try:
        yield
    except VerificationError as error:
        raise error.refusal(f"{name}: {error}") from None


def child_of(header: Proof, layout: Layout, preprocessed: Sequence[bytes] | None) -> Child:
    """Return the child of a layer by its header."""
    cap = None if preprocessed is None else tuple(preprocessed)
    return Child(layout, header.public_values, cap, binding_digest(layout, header.label, cap))


def heads_of_headers(children: Sequence[Child]) -> Heads:
    """Return the heads of the statement that proofs are accepted.

    Raises:
        VerificationError: No proofs of these layouts can be compressed.
    """
    try:
        return heads_of(children)
    except ValueError as error:
        raise VerificationError("compressed.layout", str(error)) from None
