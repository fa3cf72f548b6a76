"""Payloads of shards: each by itself, then all together. A proof of one shard is verified by the same steps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol

from graphprover.field import ZERO, Ext, ext_sum
from graphprover.proof.compressed import AnyProof
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import Shard, ShardedProof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.joint import Joint, shard_binding
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import BatchProof, Cap, Caps, decode
from graphprover.protocol.security import JOHNSON_PROXIMITY, Security
from graphprover.protocol.verification import check_batch, prepare
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement, binding_digest
from graphprover.verifier.headers import (
    blamed_shard,
    check_counts,
    check_header,
    check_level,
    layout_of_proof,
    layouts_of_shards,
    proven_security,
    statements_of,
)
from graphprover.verifier.verdict import Verdict


def verify_shards(
    proof: Proof | ShardedProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
    *,
    preprocessed: Caps = None,
) -> Verdict:
    """Check a proof as `verify` does, with the preprocessed commitments of all its shards.

    Args:
        proof: The proof.
        statement: The statement; of a sharded one, the proof must have the same shards.
        security: The least provable security, in bits.
        proximity: The regime that counts, as in `verify`.
        preprocessed: The commitment of each shard to its preprocessed columns, if the caller has made them.

    Returns:
        The verdict, with the tables of each shard in turn, or in the order of a statement of one shard.

    Raises:
        VerificationError: if the proof does not convince; it names the shard at fault, if there is one.
        ValueError: if the statement is malformed.
    """
    expected = expect_header(proof, statement, security, proximity, preprocessed)
    batches = [expected.decoded(index, own) for index, own in enumerate(proof.proofs)]
    verdict = expected.verdict(batches)
    # Last, as it takes longest and needs no proof: a payload that does not parse should cost nothing.
    for index, batch in enumerate(batches):
        expected.check_decoded(index, batch)
    return verdict


@dataclass(frozen=True, eq=False)
class Expected:
    """The verification of a proof whose header is known: each shard by itself, then all together."""

    headers: Proof | ShardedProof  # the proof; its payloads may be empty
    statement: Statement | ShardedStatement
    statements: tuple[Statement, ...]  # of each shard
    layouts: Sequence[Layout]  # of each shard
    caps: Caps  # the commitment of each to its preprocessed columns; None: not made yet
    security: Security

    def check(self, index: int, proof: Proof) -> BatchProof:
        """Verify a shard that comes after its header.

        Args:
            index: The index of the shard.
            proof: The shard.

        Returns:
            The decoded payload.

        Raises:
            VerificationError: if the shard does not hold by itself, or its header is another one.
        """
        batch = self.opened(index, proof)
        self.check_decoded(index, batch)
        return batch

    def opened(self, index: int, proof: Proof) -> BatchProof:
        """Compare the header of a shard that comes after it, and decode the payload, without further verification.

        Raises:
            VerificationError: if the header is another one, or the payload is malformed.
        """
        with blamed_shard(self.headers, index):
            check_header(proof.without_payload(), self.headers.proofs[index].without_payload())
        return self.decoded(index, proof)

    def shard_check(self, index: int) -> "ShardCheck":
        """Return the rest of the verification of a shard, for another process."""
        assert self.caps is not None, "the commitments to the preprocessed columns are made with the headers"
        return ShardCheck(self.layouts[index], self.headers.joint, index, self.caps[index])

    def decoded(self, index: int, proof: Proof) -> BatchProof:
        """Decode the payload of a shard; raises VerificationError for a malformed one."""
        with blamed_shard(self.headers, index):
            return decode(proof.payload, self.layouts[index])

    def check_decoded(self, index: int, batch: BatchProof) -> None:
        """Raise VerificationError if a shard, whose payload is decoded, does not hold by itself."""
        headers, layout = self.headers, self.layouts[index]
        with blamed_shard(headers, index):
            check_shard(layout, headers.proofs[index], batch, self.preprocessed_cap(index), headers.joint, index)

    def preprocessed_cap(self, index: int) -> Cap | None:
        """Return the commitment of a shard to its preprocessed columns; it is made now if the caller has not."""
        made = None if self.caps is None else self.caps[index]
        return self.statements[index].preprocessed_cap(self.layouts[index].parameters) if made is None else made

    def verdict(self, shards: "Sequence[InCommon]") -> Verdict:
        """Return the verdict on a proof whose shards hold each by itself.

        Args:
            shards: The decoded payloads of all shards, or their values that `check_in_common` takes.

        Raises:
            VerificationError: if the shards do not hold together.
        """
        check_in_common(self.layouts, shards)
        proofs, heads = self.headers.proofs, self.headers.heads
        values = [*chain.from_iterable(own.public_values[heads:] for own in proofs)]
        log_heights = [*chain.from_iterable(own.log_heights[heads:] for own in proofs)]
        if heads > self.statement.heads:  # the tables of a statement of one shard: in their order there
            numbers = chain.from_iterable(own.public_values[0] for own in proofs)
            order = [place for _, place in sorted((table, place) for place, table in enumerate(numbers))]
            values, log_heights = [values[i] for i in order], [log_heights[i] for i in order]
        claim = self.statements[0].claim_of(values)
        return Verdict(self.security, tuple(values), tuple(log_heights), len(proofs), claim)


@dataclass(frozen=True, eq=False)
class ShardCheck:
    """The verification of a shard whose header is known, which travels to another process."""

    layout: Layout
    joint: Joint | None
    index: int
    preprocessed: Cap | None

    def load(self) -> None:
        """Do nothing: no program is needed."""

    def __call__(self, proof: AnyProof, caps: object) -> None:
        """Raise VerificationError if the payload of a shard does not hold."""
        assert isinstance(proof, Proof)
        batch = decode(proof.payload, self.layout)
        check_shard(self.layout, proof, batch, self.preprocessed, self.joint, self.index)


def expect(
    headers: Proof | ShardedProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
) -> Expected:
    """Verify the header of a proof, and prepare the verification of its shards.

    The preprocessed commitments are made here, before the payloads are there.

    Args:
        headers: The proof, with or without payloads.
        statement: As in `verify`.
        security: As in `verify`.
        proximity: As in `verify`.

    Raises:
        VerificationError: if no payloads make this a proof that convinces.
        ValueError: if the statement is malformed.
    """
    expected, parameters = expect_header(headers, statement, security, proximity), headers.parameters
    caps = [own.preprocessed_cap(parameters) for own in expected.statements]
    for layout, cap in zip(expected.layouts, caps, strict=True):
        binding_digest(layout, headers.label, cap)
        prepare(layout)
    return replace(expected, caps=caps)


def expect_header(
    proof: Proof | ShardedProof,
    statement: Statement | ShardedStatement,
    security: float,
    proximity: str,
    caps: Caps = None,
) -> Expected:
    """Verify the header of a proof, and return the verification of its payloads.

    Arguments and errors are as for `verify_shards`; no commitment is made.
    """
    check_level(proof, security)
    statements = statements_of(proof, statement)
    layouts = layouts_of_shards(proof, statements)
    check_counts(layouts)
    return Expected(proof, statement, statements, layouts, caps, proven_security(layouts, security, proximity))


def verify_shard(
    shard: Shard, shards: ShardedStatement, *, preprocessed: Cap | None = None
) -> tuple[Layout, BatchProof]:
    """Check one shard of a proof by itself, without a level; `check_in_common` checks the rest.

    Args:
        shard: The shard.
        shards: The statement in the same shards.
        preprocessed: The commitment of the shard to its preprocessed columns, if the caller has made it.

    Returns:
        The layout and the decoded payload, which `check_in_common` takes.

    Raises:
        VerificationError: if the shard does not hold; it names the shard.
    """
    with blamed_shard(shard, shard.index):
        if len(shard.joint.digests) != len(shards.statements):
            raise VerificationError(
                "shards.number", f"it is one of {len(shard.joint.digests)}, not of {len(shards.statements)}"
            )
        statement = shards.statements[shard.index]
        layout = layout_of_proof(shard.proof, statement, shard=True)
        batch = decode(shard.proof.payload, layout)
        cap = statement.preprocessed_cap(layout.parameters) if preprocessed is None else preprocessed
        check_shard(layout, shard.proof, batch, cap, shard.joint, shard.index)
    return layout, batch


class InCommon(Protocol):
    """The values of a shard that all shards are checked together by: a `BatchProof` has them."""

    @property
    def lookup_nonce(self) -> int | None:
        """The nonce before the lookup challenges; None without lookups."""

    @property
    def total(self) -> Ext:
        """The sum of all lookup terminals."""


def check_in_common(layouts: Sequence[Layout], shards: Sequence[InCommon]) -> None:
    """Check that shards which hold each by itself hold together.

    They must have the same parameters and the same nonce before the lookup challenges, keep the bound on counts, and
    balance the buses. A single shard passes: it draws its own challenges, and its own check includes the balance.

    Args:
        layouts: The layout of each shard.
        shards: The decoded payload of each shard, or its values.

    Raises:
        VerificationError: if they do not hold together.
    """
    if len(layouts) == 1:
        return
    if any(layout.parameters != layouts[0].parameters for layout in layouts):
        raise VerificationError("shards.parameters", "the shards have different parameters")
    check_counts(layouts)
    if len({shard.lookup_nonce for shard in shards}) > 1:
        raise VerificationError("shards.nonce", "the shards have different nonces before the lookup challenges")
    if ext_sum(shard.total for shard in shards) != ZERO:
        raise VerificationError(
            "lookups.balance", "the buses do not balance: the lookup terminals of all shards do not sum to zero"
        )


def check_shard(
    layout: Layout, header: Proof, batch: BatchProof, preprocessed: Cap | None, joint: Joint | None, index: int
) -> None:
    """Raise VerificationError if a shard does not prove the tables of a layout; its terminals are not summed.

    Args:
        layout: The layout.
        header: The shard, or its header.
        batch: Its decoded payload.
        preprocessed: The verifier's own commitment to the preprocessed columns, or None without any.
        joint: The commitments of all shards. None for a proof of one shard, whose terminals must sum to zero.
        index: The index of the shard.
    """
    hash, binding, part = layout.parameters.hash, binding_digest(layout, header.label, preprocessed), None
    if joint is not None:
        assert batch.lookup_nonce is not None, "the head of a shard has lookups"
        binding = shard_binding(hash, binding, len(joint.digests), index)
        part = joint.part(index, hash, batch.lookup_nonce)
    check_batch(layout, batch, header.public_values, preprocessed, binding, part)
