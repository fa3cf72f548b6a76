"""The messages of a transcript as words: the ones of a proof, and their constant parts, which a head has."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from graphprover.field import EXTENSION_DEGREE, Ext
from graphprover.protocol import transcript
from graphprover.protocol.blake3 import digest
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.protocol.joint import JointPart, draw_lookup_challenges
from graphprover.protocol.layout import Layout
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.proof import BatchProof, Cap, opened_values, separated_values


@dataclass(frozen=True, eq=False)
class Constants:
    """The constant parts of messages: uint64 vectors."""

    before_main: np.ndarray  # binding, seed, heights
    after_main: np.ndarray  # public values, preprocessed commitment
    opening: np.ndarray  # the seed of the opening argument
    fri: np.ndarray  # the seed of the low-degree test
    joint: np.ndarray  # of a shard: its digest, the seed of all shards, and their nonce; else empty
    elements: np.ndarray  # of a shard: the elements in the order of `fields.JOINT`, which no message has; else empty

    @property
    def sizes(self) -> "ConstantSizes":
        """Return the number of words of each part."""
        return ConstantSizes(*map(len, vars(self).values()))


class ConstantSizes(NamedTuple):
    """The numbers of words of the constant parts, which proofs of one layout share; see `Constants`."""

    before_main: int
    after_main: int
    opening: int
    fri: int
    joint: int
    elements: int


@dataclass(frozen=True)
class ShardTerms:
    """The values of a shard that its head has, because the verifier of a layer checks them for all shards together."""

    joint: JointPart
    sigma: Ext
    tau: Ext
    total: Ext  # the sum of its lookup terminals


def shard_terms(joint: JointPart, parameters: Parameters, total: Ext) -> ShardTerms:
    """Return the values of a shard; raises VerificationError if its nonce misses the work."""
    return ShardTerms(joint, *draw_lookup_challenges(joint.seed, parameters, joint.nonce), total)


def constants_of(
    layout: Layout,
    public_values: Sequence[Sequence[int]],
    preprocessed: Cap | None,
    binding: bytes,
    shard: ShardTerms | None = None,
) -> Constants:
    """Return the constant parts of the messages about a statement; ``shard``: of a shard alone."""
    assert layout.shard == (shard is not None), "a shard has these values, and no other proof"
    heights = chain.from_iterable((log_height, 0, 0) for log_height in layout.log_heights)
    values = np.array([*chain.from_iterable(public_values)], dtype=np.uint64)
    return Constants(
        np.concatenate([_words([binding, transcript.batch_seed(layout)]), np.array([*heights], dtype=np.uint64)]),
        np.concatenate([values, _words(preprocessed or ())]),
        _words([transcript.opening_seed(layout)]),
        _words([transcript.fri_seed(layout)]),
        np.array([], dtype=np.uint64) if shard is None else _words(_absorbed(shard.joint)),
        _elements([] if shard is None else [shard.sigma, shard.tau, shard.total]),
    )


def messages_of(layout: Layout, constants: Constants, proof: BatchProof) -> tuple[list[np.ndarray], list[bytes]]:
    """Return the messages of a proof's transcript and their digests, in the order in which they are hashed.

    Messages are uint64 vectors. All but the first one begin with the digest before.
    """
    messages: list[np.ndarray] = []
    digests: list[bytes] = []

    def absorb(*parts: np.ndarray) -> None:
        before = [_words(digests[-1:])] if digests else []
        messages.append(np.concatenate([*before, *parts]))
        digests.append(digest(messages[-1].tobytes()))

    def work(bits: int, nonce: int | None) -> None:
        if bits:
            absorb(np.array([nonce], dtype=np.uint64))

    parameters, opened = layout.parameters, opened_values(layout, proof.openings)
    absorb(constants.before_main, _words(proof.main_cap), constants.after_main)
    if layout.shard:
        absorb(_words(separated_values(proof.openings)))
    else:
        work(parameters.lookup_pow_bits, proof.lookup_nonce)
        absorb()
    terminals = [terminal for terminal in proof.terminals if terminal is not None]
    absorb(constants.joint[DIGEST_WORDS:], _words(proof.permutation_cap or ()), _elements(terminals))
    absorb(_words(proof.quotient_cap))
    work(parameters.ood_pow_bits, proof.zeta_nonce)
    absorb(constants.opening, _words(opened))
    work(parameters.batch_pow_bits, proof.batch_nonce)
    seed = constants.fri
    for cap, nonce in zip(proof.fold_caps, proof.fold_nonces, strict=True):
        absorb(seed, _words(cap))
        work(parameters.commit_pow_bits, nonce)
        seed = seed[:0]
    absorb(_elements(proof.final_polynomial))
    work(parameters.query_pow_bits, proof.query_nonce)
    for _ in range(further_digests(layout)):
        absorb()
    return messages, digests


def further_digests(layout: Layout) -> int:
    """Return the number of digests of which queries are drawn, after the first."""
    samples = layout.parameters.num_queries + (layout.parameters.query_pow_bits > 0)
    return -(-samples // DIGEST_WORDS) - 1


def _absorbed(joint: JointPart) -> list[bytes]:
    """Return the words between the digest of a shard's separated values and its permutation commitment."""
    return [joint.digest, joint.seed, joint.nonce.to_bytes(8, "little")]


def _words(parts: Iterable[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(parts), dtype="<u8").astype(np.uint64)


def _elements(elements: Iterable[tuple[int, int, int]]) -> np.ndarray:
    return np.array([*elements], dtype=np.uint64).reshape(-1, EXTENSION_DEGREE).ravel()
