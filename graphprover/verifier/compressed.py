"""Verification of compressed proofs: the headers of all proofs but the last layer, and that layer."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from graphprover.proof.compressed import (
    MAX_MEMBERS,
    Accepted,
    AcceptedShard,
    CompressedProof,
    check_members,
    name_of,
)
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.joint import Joint, shard_binding
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import Cap, Caps
from graphprover.protocol.security import JOHNSON_PROXIMITY, Security
from graphprover.recursion.head.heads import Child, Heads, heads_of
from graphprover.recursion.head.messages import shard_terms
from graphprover.runtime.arguments import expect
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement, binding_digest
from graphprover.verifier.headers import check_level, layout_of_proof
from graphprover.verifier.layer_key import LayerStatement
from graphprover.verifier.shards import Expected, expect_header, verify_shards
from graphprover.verifier.verdict import Verdict


def verify_aggregate(
    proof: CompressedProof | bytes,
    statements: Sequence[Statement | ShardedStatement],
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
    *,
    preprocessed: Sequence[Caps] | None = None,
    max_members: int = MAX_MEMBERS,
) -> list[Verdict]:
    """Check that a compressed proof proves all of ``statements``, if each of its proofs has this security.

    The last layer is verified first, so that the headers of the other proofs cost nothing if it does not hold. A valid
    last layer can still be put behind other headers, so ``max_members`` bounds their cost.

    Args:
        proof: The proof, or its bytes.
        statements: The statement of each member, in their order, as in `graphprover.verify`.
        security: The least provable security, in bits.
        proximity: As in `graphprover.verify`.
        preprocessed: The commitments of each member's shards to their preprocessed columns, if the caller has made
            them.
        max_members: The most members. Each shard of a member counts. The same number bounds the layers before the
            last one, of which 15 are always accepted. A header takes about 0.3 ms to verify, and 15 ms if no header
            before has its tables and heights.

    Returns:
        The verdict on each member. Its security is the lowest one of all proofs.

    Raises:
        VerificationError: The proof does not convince. Messages begin with the layer or the member at fault.
        ValueError: A statement is malformed.
    """
    expect(proof, (CompressedProof, bytes), "verify_aggregate: the proof", "give a CompressedProof or its bytes")
    if isinstance(proof, bytes):
        proof = CompressedProof.from_bytes(proof, max_members=max_members)
    check_members(len(proof.bases), len(proof.layers) - 1, max_members)
    _check_levels(proof, len(statements), security)
    with blamed(partial(last_layer, proof)):
        verdict = verify_shards(proof.layer, LayerStatement(proof.layer.log_heights), security, proximity)
    headers = _headers(proof, statements, security, proximity, preprocessed)
    with blamed(partial(last_layer, proof)):
        layout_of_proof(proof.layer, headers.statement, shard=False)  # it has proved the heads of these headers
    found = _lowest(proximity, *headers.securities, verdict.security)
    return [replace(verdict, security=found) for verdict in headers.verdicts]


def verify_compressed(
    proof: CompressedProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
    *,
    preprocessed: Caps = None,
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
    verdicts: tuple[Verdict, ...]  # on each member, with its own security
    securities: tuple[Security, ...]  # of all proofs
    log_heights: tuple[int, ...]  # log2 of the rows of the layer's tables

    @property
    def statement(self) -> LayerStatement:
        """The statement of the layer."""
        return LayerStatement(self.log_heights, heads_of_headers(self.children))


def expect_headers(
    proof: CompressedProof,
    statements: Sequence[Statement | ShardedStatement],
    security: float,
    proximity: str,
    preprocessed: Sequence[Caps] | None = None,
) -> Headers:
    """Verify the headers of all proofs before the last layer, and the level of that layer.

    Arguments and errors are as for `verify_aggregate`.
    """
    _check_levels(proof, len(statements), security)
    return _headers(proof, statements, security, proximity, preprocessed)


def _headers(
    proof: CompressedProof,
    statements: Sequence[Statement | ShardedStatement],
    security: float,
    proximity: str,
    preprocessed: Sequence[Caps] | None = None,
) -> Headers:
    """Verify the headers of all proofs before the last layer, after `_check_levels`."""
    bases, verdicts, children = iter(proof.bases), list[Verdict](), list[Child]()
    count = len(proof.members)
    caps = [None] * count if preprocessed is None else preprocessed
    for number, (member, statement, own) in enumerate(zip(proof.members, statements, caps, strict=True), 1):
        with blamed(partial(str, _member_name(number, count))):
            expected = expect_header(member, statement, security, proximity, own)
            shards = [base.shard for base in islice(bases, len(member.proofs))]
            verdicts.append(expected.verdict([shard for shard in shards if shard is not None]))
            children += children_of(expected, shards)
    walk = _Walk(proof, iter(children), security, proximity, [verdict.security for verdict in verdicts])
    found = tuple(map(walk.child, proof.children))
    return Headers(found, tuple(verdicts), tuple(walk.securities), proof.layer.log_heights)


def _check_levels(proof: CompressedProof, statements: int, security: float) -> None:
    """Check the number of statements, and the level that the parameters of all proofs allow, which takes no time."""
    count = len(proof.members)
    if statements != count:
        raise VerificationError("asked.members", f"the proof is about {count} proofs, not about {statements}")
    for number, member in enumerate(proof.members, 1):
        with blamed(partial(str, _member_name(number, count))):
            check_level(member, security)
    for layer in proof.accepted:
        if layer.children:
            with blamed(partial(name_of, layer, proof)):
                check_level(layer.header, security)
    with blamed(partial(last_layer, proof)):
        check_level(proof.layer, security)


def _member_name(number: int, count: int) -> str:
    """Return the name for people of a member; nothing for the only one."""
    return f"member {number}" if count > 1 else ""


@dataclass(eq=False)
class _Walk:
    """The verification of the headers of layers, from the bases up."""

    proof: CompressedProof
    bases: Iterator[Child]  # the next ones
    security: float
    proximity: str
    securities: list[Security]

    def child(self, own: Accepted) -> Child:
        """Verify the header of a layer and of all below it."""
        if not own.children:
            return next(self.bases)
        heads = heads_of_headers([self.child(below) for below in own.children])
        statement = LayerStatement(own.header.log_heights, heads)
        with blamed(partial(name_of, own, self.proof)):
            expected = expect_header(own.header, statement, self.security, self.proximity)
            self.securities.append(expected.security)
            (child,) = children_of(expected)
            return child


def children_of(expected: Expected, shards: Sequence[AcceptedShard | None] = (None,)) -> list[Child]:
    """Return the children of a layer about a proof whose header is verified.

    Args:
        expected: The verification of the header.
        shards: The values of each shard, of a proof in several; they hold together (`Expected.verdict`).

    Raises:
        VerificationError: The nonce of the shards misses its work.
    """
    proof, layouts = expected.headers, expected.layouts
    return [
        child_of(own, layout, expected.preprocessed_cap(index), proof.joint, shard)
        for index, (own, layout, shard) in enumerate(zip(proof.proofs, layouts, shards, strict=True))
    ]


@contextmanager
def blamed(name_of: Callable[[], str]) -> Iterator[None]:
    """Name the proof of a compressed one in errors; the only base has no name."""
    try:
        yield
    except VerificationError as error:
        name = name_of()
        raise (error.refusal(f"{name}: {error}") if name else error) from None


def child_of(
    header: Proof,
    layout: Layout,
    preprocessed: Cap | None,
    joint: Joint | None = None,
    shard: AcceptedShard | None = None,
) -> Child:
    """Return the child of a layer by its header.

    Args:
        header: The header of the proof, or of the shard.
        layout: Its layout.
        preprocessed: The commitment to its preprocessed columns, or None without any.
        joint: The digests of all shards, of a shard alone.
        shard: The values of the shard.

    Raises:
        VerificationError: The nonce of the shard misses its work.
    """
    binding = binding_digest(layout, header.label, preprocessed)
    if joint is None or shard is None:
        return Child(layout, header.public_values, preprocessed, binding)
    hash, index = layout.parameters.hash, shard.index
    binding = shard_binding(hash, binding, shard.count, index)
    terms = shard_terms(joint.part(index, hash, shard.lookup_nonce), layout.parameters, shard.total)
    return Child(layout, header.public_values, preprocessed, binding, terms)


def heads_of_headers(children: Sequence[Child]) -> Heads:
    """Return the heads of the statement that proofs are accepted.

    Raises:
        VerificationError: No layer can be about proofs of these layouts.
    """
    try:
        return heads_of(children)
    except ValueError as error:
        raise VerificationError("compressed.layout", str(error)) from None
