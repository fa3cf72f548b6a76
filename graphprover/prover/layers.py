"""A layer: the proof that a verifier accepts other proofs, from these proofs to its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from graphprover.device import Device
from graphprover.graphs.progress import Tell
from graphprover.proof.compressed import (
    Accepted,
    AcceptedShard,
    AnyProof,
    CompressedProof,
    ShardHeaders,
    check_layers,
)
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.level import LayerLevel, Level
from graphprover.protocol.parameters import BLAKE3
from graphprover.protocol.proof import BatchProof, Caps, decode
from graphprover.protocol.verification import check_batch
from graphprover.prover.local import make
from graphprover.prover.made import Made
from graphprover.prover.prepare import Prepared, PreparedShards, ready
from graphprover.recursion.head.head import check_layout
from graphprover.recursion.head.heads import Child
from graphprover.recursion.layer import layer_statement
from graphprover.recursion.witness.run import Contradiction
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.telemetry.model import Stage
from graphprover.telemetry.subscribe import clock
from graphprover.verifier.compressed import blamed, children_of, expect_headers, heads_of_headers
from graphprover.verifier.headers import check_header
from graphprover.verifier.layer_key import LayerStatement, has_commitment
from graphprover.verifier.shards import expect, expect_header


@dataclass(frozen=True, eq=False)
class LayerSubject:
    """A proof, or a shard of one, that a layer is to be about. Its header is verified."""

    accepted: Accepted
    child: Child
    proof: Proof  # without payload if that is in another process

    def __reduce__(self) -> Any:
        """Pickle without the decoded payload, which is as long as the proof."""
        return LayerSubject, (self.accepted, self.child, self.proof)

    @cached_property
    def batch(self) -> BatchProof:
        """The decoded payload; raises VerificationError for a malformed one."""
        return decode(self.proof.payload, self.child.layout)

    def check(self) -> None:
        """Raise VerificationError if the proof, or the shard by itself, does not hold."""
        child = self.child
        joint = None if child.shard is None else child.shard.joint
        check_batch(child.layout, self.batch, child.public_values, child.preprocessed, child.binding, joint)


def subjects_of(
    proof: AnyProof, statements: Sequence[Statement | ShardedStatement], level: Level, preprocessed: Caps = None
) -> list[LayerSubject]:
    """Verify the headers of a proof, and return each shard of it.

    Args:
        proof: The proof, or the headers of its shards.
        statements: The statement of each of its members.
        level: The level of the layer. The proof needs the same security.
        preprocessed: The commitments of the shards of its only member to their preprocessed columns, if known.

    Raises:
        ValueError: Proofs of this kind cannot be compressed, or a layer cannot be about this layout.
        VerificationError: A header is wrong, or the shards do not hold together.
    """
    check_compressible(proof)
    if isinstance(proof, CompressedProof):
        given = None if preprocessed is None else [preprocessed]
        own = expect_headers(proof, statements, level.security, level.proximity, given).statement
        return [_subject_of_layer(proof.layer, proof.children, own, level)]
    (statement,) = statements
    expected = expect_header(proof, statement, level.security, level.proximity, preprocessed)
    for layout in expected.layouts:
        check_layout(layout)
    shards: Sequence[AcceptedShard | None] = [None]
    if isinstance(proof, ShardHeaders):
        shards = proof.accepted
    elif proof.joint:
        batches = [expected.decoded(index, own) for index, own in enumerate(proof.proofs)]
        shards = [_shard_of(proof, index, batch) for index, batch in enumerate(batches)]
    expected.verdict([shard for shard in shards if shard is not None])  # raises if they do not hold together
    return [
        LayerSubject(Accepted(own.without_payload(), (), shard), child, own)
        for own, shard, child in zip(proof.proofs, shards, children_of(expected, shards), strict=True)
    ]


def _shard_of(proof: Proof | ShardedProof, index: int, batch: BatchProof) -> AcceptedShard:
    """Return the values of a shard for its verifier."""
    assert proof.joint and batch.lookup_nonce is not None, "the head of a shard has lookups"
    digests = proof.joint.digests
    return AcceptedShard(len(digests), index, digests[index], batch.lookup_nonce, batch.total)


def _subject_of_layer(proof: Proof, children: tuple[Accepted, ...], statement: Statement, level: Level) -> LayerSubject:
    """Verify the header of a layer about some proofs."""
    expected = expect_header(proof, statement, level.security, level.proximity)
    check_layout(expected.layouts[0])
    (child,) = children_of(expected)
    return LayerSubject(Accepted(proof.without_payload(), children), child, proof)


@dataclass(frozen=True, eq=False)
class LayerJob:
    """A layer that is to be proved. It travels to a worker, which verifies the proofs that the layer is about."""

    subjects: tuple[LayerSubject, ...]  # the proofs that it is about
    level: LayerLevel  # of its proof
    names: tuple[str, ...] = ("",)  # of these proofs in messages; none for the only one
    span: str = ""  # the name of all of them

    @property
    def label(self) -> str:
        """The name for people."""
        return f"{self.span or self.children[0].header.label}: layer {self.number}"

    @property
    def children(self) -> tuple[Accepted, ...]:
        """The headers of the proofs that it is about."""
        return tuple(subject.accepted for subject in self.subjects)

    @property
    def number(self) -> int:
        """The number of layers, one about another, up to this one."""
        return 1 + max(child.layers for child in self.children)

    @property
    def absent(self) -> tuple[int, ...]:
        """The indices of the shards whose payloads are in other processes."""
        shards = [subject.accepted.shard for subject in self.subjects if not subject.proof.payload]
        return tuple(shard.index for shard in shards if shard)

    def with_shards(self, proofs: Sequence[Proof]) -> "LayerJob":
        """Return the layer with the payloads of the shards in `absent`, in their order.

        Raises:
            VerificationError: A shard has another header; the message names it.
        """
        coming, subjects = iter(proofs), []
        for subject, name in zip(self.subjects, self.names, strict=True):
            if not subject.proof.payload:
                proof = next(coming)
                with blamed(partial(str, name)):
                    check_header(proof.without_payload(), subject.accepted.header)
                subject = replace(subject, proof=proof)
            subjects.append(subject)
        return replace(self, subjects=tuple(subjects))

    def statement_of(self, proof: Proof) -> LayerStatement:
        """Return the statement of a proof of the layer, for a verifier."""
        return LayerStatement(proof.log_heights, heads_of_headers([subject.child for subject in self.subjects]))

    def prepare(self) -> Prepared:
        """Verify the proofs, and prepare the proof that a verifier accepts them.

        Raises:
            ValueError: As in `graphprover.compress`.
            VerificationError: A proof does not convince; the message names it.
        """
        try:  # the program verifies the proofs while the statement is made
            children = [(subject.child, subject.batch) for subject in self.subjects]
            accepted = layer_statement(children, self.level.merged)
            if self.level.merged and not _has_key(accepted, self.level):
                accepted = layer_statement(children)  # it has more rows than a plan has expected
        except Exception as error:
            for subject, name in zip(self.subjects, self.names, strict=True):
                with blamed(partial(str, name)):
                    subject.check()  # gives the reason why a proof is false
            if isinstance(error, Contradiction):  # a sample of the transcript is p or more, which 2^-32 of them are
                raise ValueError(
                    "the verifier's program refuses this proof, though it is valid, as it does one of some "
                    "millions: prove with another rate or proof of work"
                ) from error
            raise
        prepared = ready(accepted, self.level)
        assert isinstance(prepared, Prepared)
        return replace(prepared, layer=self.number)

    def subject_by(self, proof: Proof) -> Callable[[], LayerSubject]:
        """Return a function that gives the proof of this layer as a subject of another layer.

        It raises VerificationError for another header. It needs none of the proofs that this layer is about.
        """
        return partial(_subject_of_layer, proof, self.children, self.statement_of(proof), self.level)

    def make(self, executor: str, device: Device | str, progress: bool | Tell | None, verified: bool) -> Made:
        """Prove the layer by a device of this process; arguments are as for `graphprover.prover.local.make`."""
        began = clock()
        prepared = self.prepare()
        stage = Stage("prepare", began, clock())
        made = make(prepared, executor, device, progress, verified)
        return replace(made, observation=made.observation.with_stages([stage]) if made.observation else None)

    def verify(self, proof: AnyProof) -> None:
        """Raise VerificationError unless a proof is one of this layer."""
        if not isinstance(proof, Proof):
            raise VerificationError("asked.compressed", "the proof is not of one layer alone")
        expected = expect(proof, self.statement_of(proof), self.level.security, self.level.proximity)
        expected.verdict([expected.check(0, proof)])


def _has_key(merged: Statement, level: LayerLevel) -> bool:
    """Return whether the recursion key has the commitment of a merged layer."""
    (table,) = merged.tables
    assert table.main is not None
    return has_commitment(table.main.shape[1].bit_length() - 1, level.rate)


def check_compressible(proof: AnyProof) -> None:
    """Raise ValueError if a proof has too many layers to be compressed, or another hash than BLAKE3."""
    if isinstance(proof, CompressedProof):
        check_layers(proof.depth + 1)
    else:
        check_hash(proof.parameters.hash)


def check_prepared(prepared: Prepared | PreparedShards) -> None:
    """Raise ValueError if the proof of a prepared statement cannot be compressed."""
    for shard in prepared.shards:
        check_layout(shard.layout)


def check_hash(hash: str) -> None:
    """Raise ValueError for a hash whose proofs cannot be compressed."""
    if hash != BLAKE3:
        raise ValueError(f"proofs by {hash} cannot be compressed, only those by {BLAKE3}: prove with --hash {BLAKE3}")
