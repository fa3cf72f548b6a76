"""Verification of compressed proofs: the headers of all proofs but the last layer, and that layer."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from graphprover.proof.compressed import Accepted, CompressedProof, name_of
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


def verify_aggregate(
    proof: CompressedProof | bytes,
    statements: Sequence[Statement | ShardedStatement],
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
    *,
    preprocessed: Sequence[Cap | None] | None = None,
) -> list[Verdict]:
    """Check that a compressed proof proves all of ``statements``, if each of its proofs has this security.

    Args:
        proof: The proof, or its bytes.
        statements: The statement of each member, in their order, as in `graphprover.verify`.
        security: The least provable security, in bits.
        proximity: As in `graphprover.verify`.
        preprocessed: The commitment to the preprocessed columns of each statement, if the caller has made it.

    Returns:
        The verdict on each member. Its security is the lowest one of all proofs.

    Raises:
        VerificationError: The proof does not convince. Messages begin with the layer or the member at fault.
        ValueError: A statement is malformed.
    """
    if isinstance(proof, bytes):
        proof = CompressedProof.from_bytes(proof)
    headers = expect_headers(proof, statements, security, proximity, preprocessed)
    with blamed(partial(last_layer, proof)):
        verdict = verify_shards(proof.layer, headers.statement, security, proximity)
    found = _lowest(proximity, *headers.securities, verdict.security)
    return [replace(member.verdict([]), security=found) for member in headers.members]


def verify_compressed(
    proof: CompressedProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
    *,
    preprocessed: Cap | None = None,
) -> Verdict:
    """Check that a compressed proof of one member proves ``statement``; arguments are as for `verify_aggregate`."""
    (verdict,) = verify_aggregate(_single(proof), [statement], security, proximity, preprocessed=[preprocessed])
    return verdict


def verify_headers(
    proof: CompressedProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
) -> Security:
    """Verify the headers of all proofs, and return the lowest security if the payload of the last layer holds.

    Arguments and errors are as for `verify_compressed`.
    """
    headers = expect_headers(_single(proof), [statement], security, proximity)
    with blamed(partial(last_layer, proof)):
        last = expect_header(proof.layer, headers.statement, security, proximity)
    return _lowest(proximity, *headers.securities, last.security)


def _single(proof: CompressedProof) -> CompressedProof:
    """Return a proof that is about one member; raise VerificationError for another one."""
    if len(proof.members) > 1:
        raise VerificationError(
            "asked.members",
            f"the proof is about {len(proof.members)} proofs, and one was expected: use graphprover.verify_aggregate",
        )
    return proof


def last_layer(proof: CompressedProof) -> str:
    """Return the name for people of the last layer."""
    if len(proof.members) > 1:
        return "last layer"
    return "layer" if proof.depth == 1 else f"layer {proof.depth}"


def _lowest(proximity: str, *found: Security) -> Security:
    return min(found, key=lambda own: own.by(proximity).bits)


@dataclass(frozen=True, eq=False)
class Headers:
    """The verification of the headers of all proofs before a layer."""

    children: tuple[Child, ...]  # the proofs that the layer is about
    members: tuple[Expected, ...]  # the verification of each member
    securities: tuple[Security, ...]  # of all proofs

    @property
    def statement(self) -> LayerStatement:
        """The statement of the layer."""
        return LayerStatement(heads_of_headers(self.children))


def expect_headers(
    proof: CompressedProof,
    statements: Sequence[Statement | ShardedStatement],
    security: float,
    proximity: str,
    preprocessed: Sequence[Cap | None] | None = None,
) -> Headers:
    """Verify the headers of all proofs before the last layer, and the level of that layer.

    Arguments and errors are as for `verify_aggregate`.
    """
    count = len(proof.members)
    if len(statements) != count:
        raise VerificationError("asked.members", f"the proof is about {count} proofs, not about {len(statements)}")
    for own in proof.accepted:  # before any head is made, which takes time
        with blamed(partial(name_of, own, proof)):
            check_level(own.header, security)
    with blamed(partial(last_layer, proof)):
        check_level(proof.layer, security)
    caps = [None] * count if preprocessed is None else preprocessed
    walk = _Walk(proof, iter(zip(statements, caps, strict=True)), security, proximity)
    children = tuple(walk.child(own) for own in proof.children)
    return Headers(children, tuple(walk.members), tuple(walk.securities))


@dataclass(eq=False)
class _Walk:
    """The verification of headers, from the bases up."""

    proof: CompressedProof
    given: Iterator[tuple[Statement | ShardedStatement, Cap | None]]  # of the next members
    security: float
    proximity: str
    members: list[Expected] = field(default_factory=list)
    securities: list[Security] = field(default_factory=list)

    def child(self, own: Accepted) -> Child:
        """Verify the header of a proof and of all below it."""
        statement: Statement | ShardedStatement
        if own.children:
            children, cap = [self.child(below) for below in own.children], None
            statement = LayerStatement(heads_of_headers(children))
        else:
            statement, cap = next(self.given)
        with blamed(partial(name_of, own, self.proof)):
            expected = expect_header(own.header, statement, self.security, self.proximity)
            (layout,), (single,) = expected.layouts, expected.statements
            if not own.children:
                self.members.append(expected)
            self.securities.append(expected.security)
            return child_of(own.header, layout, single.preprocessed_cap(layout.parameters) if cap is None else cap)


@contextmanager
def blamed(name_of: Callable[[], str]) -> Iterator[None]:
    """Name the proof of a compressed one in errors; the only base has no name."""
    try:
        yield
    except VerificationError as error:
        name = name_of()
        raise (error.refusal(f"{name}: {error}") if name else error) from None


def child_of(header: Proof, layout: Layout, preprocessed: Sequence[bytes] | None) -> Child:
    """Return the child of a layer by its header."""
    cap = None if preprocessed is None else tuple(preprocessed)
    return Child(layout, header.public_values, cap, binding_digest(layout, header.label, cap))


def heads_of_headers(children: Sequence[Child]) -> Heads:
    """Return the heads of the statement that proofs are accepted.

    Raises:
        VerificationError: No layer can be about proofs of these layouts.
    """
    try:
        return heads_of(children)
    except ValueError as error:
        raise VerificationError("compressed.layout", str(error)) from None
