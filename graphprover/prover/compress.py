"""compress(): from a proof to a smaller one, which states that a verifier accepts the first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from graphprover.device import Device
from graphprover.graphs.executor_names import THREADS
from graphprover.graphs.observer import timed
from graphprover.graphs.progress import Tell
from graphprover.proof.compressed import Accepted, AnyProof, CompressedProof, any_proof_from_bytes, check_layers
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.level import COMPRESSED_POW_BITS, LAYER_RATE, Level
from graphprover.protocol.parameters import BLAKE3
from graphprover.protocol.proof import BatchProof, Cap
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.prover.executor import Expect
from graphprover.prover.local import Made, make
from graphprover.prover.prepare import Prepared, PreparedShards, ready
from graphprover.prover.prove import check_headers, prove_prepared
from graphprover.recursion.compressed import blamed, child_of, expect_headers, heads_of_headers
from graphprover.recursion.head.head import check_layout
from graphprover.recursion.head.heads import Child
from graphprover.recursion.key import LayerStatement
from graphprover.recursion.layer import layer_statement
from graphprover.recursion.program.steps import Contradiction
from graphprover.statement.statement import Statement
from graphprover.telemetry.subscribe import clock, stage, with_stages_before
from graphprover.verifier import Expected, expect, expect_header

_CELLS_OF_LAYER = {8: 90_000_000, 4: 180_000_000, 2: 360_000_000}  # by the rate of the base, after most guests


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
    if isinstance(proof, bytes):
        proof = any_proof_from_bytes(proof)
    layer = layer_of([(proof, [statement])], Level(security, rate, proximity, BLAKE3, pow_bits), [preprocessed])
    made, _ = prove_prepared(layer.prepared, executor, device, progress, layer.expected)
    return layer.compressed(made)


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer that is ready to be proved."""

    children: tuple[Accepted, ...]  # the proofs that it is about
    prepared: Prepared
    expected: Expect  # verifies the header of its proof

    def compressed(self, proof: Proof | ShardedProof) -> CompressedProof:
        """Return the compressed proof with the layer's proof."""
        assert isinstance(proof, Proof)
        return CompressedProof(self.children, proof)


def layer_of(
    proofs: Sequence[tuple[AnyProof, Sequence[Statement]]],
    level: Level,
    preprocessed: Sequence[Cap | None] | None = None,
    names: Sequence[str] = ("",),
) -> Layer:
    """Verify proofs, and prepare the proof that a verifier accepts them.

    Args:
        proofs: The proofs, each with the statement of each of its members.
        level: The level of the new proof, with a rate. The proofs need the same security.
        preprocessed: The commitment to the preprocessed columns of each proof's only statement, if the caller has made
            it.
        names: The name of each proof in messages; none for the only one.

    Raises:
        ValueError: As in `compress`.
        VerificationError: A proof does not convince.
    """
    caps = [None] * len(proofs) if preprocessed is None else preprocessed
    with stage("prepare"):
        subjects = []
        for (proof, statements), cap, name in zip(proofs, caps, names, strict=True):
            with blamed(partial(str, name)):
                subjects.append(_subject(proof, statements, level, cap))
        try:  # the program verifies the proofs while the statement is made
            accepted = layer_statement([(subject.child, subject.batch) for subject in subjects])
        except Exception as error:
            for subject, name in zip(subjects, names, strict=True):
                with blamed(partial(str, name)):
                    subject.check()  # gives the reason why a proof is false
            if isinstance(error, Contradiction):  # a sample of the transcript is p or more, which 2^-32 of them are
                raise ValueError(
                    "the verifier's program refuses this proof, though it is valid, as it does one of some millions: "
                    "prove with another rate or proof of work"
                ) from error
            raise
        children = tuple(subject.accepted for subject in subjects)
        prepared = replace(_one(ready(accepted, level)), layer=1 + max(child.layers for child in children))

    def expected_layer(headers: Proof | ShardedProof) -> Expected:
        check_headers(headers, prepared)
        heads = heads_of_headers([subject.child for subject in subjects])
        return expect(headers, LayerStatement(heads), level.security, level.proximity)

    return Layer(children, prepared, expected_layer)


@dataclass(frozen=True, eq=False)
class _Subject:
    """A proof that a layer is to be about, of which only the header is verified."""

    accepted: Accepted
    child: Child
    batch: BatchProof
    proof: Proof
    expected: Expected

    def check(self) -> None:
        """Raise VerificationError if the proof does not hold."""
        replace(self.expected, caps=(self.child.preprocessed,)).check_decoded(0, self.proof, self.batch)


def _subject(proof: AnyProof, statements: Sequence[Statement], level: Level, preprocessed: Cap | None) -> _Subject:
    """Verify the headers of a proof, and decode it."""
    single = check_compressible(proof)
    children: tuple[Accepted, ...] = ()
    if isinstance(proof, CompressedProof):
        children = proof.children
        given = None if preprocessed is None else [preprocessed]
        statement: Statement = expect_headers(proof, statements, level.security, level.proximity, given).statement
        preprocessed = None
    else:
        (statement,) = statements
    expected = expect_header(single, statement, level.security, level.proximity)
    (layout,), (own,) = expected.layouts, expected.statements
    check_layout(layout)
    cap = own.preprocessed_cap(layout.parameters) if preprocessed is None else preprocessed
    accepted = Accepted(replace(single, payload=b""), children)
    return _Subject(accepted, child_of(single, layout, cap), expected.decoded(0, single), single, expected)


def _one(prepared: Prepared | PreparedShards) -> Prepared:
    assert isinstance(prepared, Prepared)
    return prepared


def compress_made(
    made: Made,
    statement: Statement,
    level: Level,
    executor: str,
    device: Device | str,
    progress: bool | Tell,
    check_room: Callable[[Prepared], None],
) -> Made:
    """Compress a proof of one shard by a device of this process, once the device's memory has room.

    The result is not verified. It keeps the caps of the base.

    Args:
        made: The proof, which is verified; it may be compressed.
        statement: The statement that it proves.
        level: As in `layer_of`.
        executor: ``"threads"`` or ``"sync"``.
        device: As in `graphprover.prove`.
        progress: As in `graphprover.prove`, of the second proof.
        check_room: Called with the prepared layer before it is proved.

    Raises:
        Exception: Every exception of `compress`.
    """
    began, caps = clock(), made.preprocessed_caps
    layer = layer_of([(made.proof, [statement])], level, [caps[0] if caps else None])
    check_room(layer.prepared)
    with timed(lambda layout: False):  # a caller's times are of the first proof's tasks
        result = make(layer.prepared, executor, device, progress, verified=False)
    seen = made.observation
    if seen and result.observation:
        seen = seen.with_layer(with_stages_before(result.observation))
    assert not isinstance(result.proof, CompressedProof)
    return replace(
        made,
        proof=layer.compressed(result.proof),
        seconds={**made.seconds, "compress": made.seconds.get("compress", 0.0) + clock() - began},
        peak_bytes=max(made.peak_bytes, result.peak_bytes),
        cells=made.cells + result.cells,
        observation=seen,
        base_bytes=made.base_bytes or made.proof.size,
    )


def check_compressible(proof: AnyProof) -> Proof:
    """Return the proof that a layer is about, if a proof is of a kind that can be compressed.

    Raises:
        ValueError: The proof has too many layers, is in shards, or has another hash.
    """
    if isinstance(proof, CompressedProof):
        check_layers(proof.depth + 1)
        return proof.layer
    if isinstance(proof, ShardedProof):
        raise ValueError(
            f"the proof is in {len(proof.proofs)} shards, and one shard can be compressed: prove it in one"
        )
    check_hash(proof.parameters.hash)
    return proof


def base_rate(cells: int) -> int:
    """Return the default rate of the base of a compressed proof, as its denominator: the one with the least work.

    The work of a proof is about its cells over its rate. The lower the rate of a base, the fewer queries it has, and
    the fewer cells a layer about it has. The layer is assumed at 1/8.

    Args:
        cells: The committed cells of the base.
    """
    return min(_CELLS_OF_LAYER, key=lambda rate: rate * cells + LAYER_RATE * _CELLS_OF_LAYER[rate])


def check_prepared(prepared: Prepared | PreparedShards) -> None:
    """Raise ValueError if the proof of a prepared statement of one shard cannot be compressed."""
    check_layout(_one(prepared).layout)


def check_hash(hash: str) -> None:
    """Raise ValueError for a hash whose proofs cannot be compressed."""
    if hash != BLAKE3:
        raise ValueError(f"proofs by {hash} cannot be compressed, only those by {BLAKE3}: prove with --hash {BLAKE3}")
