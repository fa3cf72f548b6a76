"""The lookup challenges σ and τ that the shards of a proof share (docs/protocol.md, section 16).

Every shard runs its transcript like a separate proof up to the draw of σ. There it draws its separating point and
absorbs the values of its main columns at that point; the transcript's digest is then its commitment. σ and τ are drawn
from the digests of all shards. Each shard then continues from its own digest, and absorbs the ones of all shards first.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from graphprover.field import Ext
from graphprover.protocol.challenger import Challenger
from graphprover.protocol.digests import DIGEST_BYTES
from graphprover.protocol.errors import RuleError, VerificationError
from graphprover.protocol.hashing import HASHES
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.transcript import check_work

SHARD_MAGIC = b"graphprover piece 2"
JOINT_MAGIC = b"graphprover joint 1"
LEAST_SHARDS, MOST_SHARDS = 2, 1 << 10


@dataclass(frozen=True)
class JointPart:
    """The part of a shard's transcript that depends on all shards."""

    digest: bytes  # `digest_of` the shard
    seed: bytes  # `Joint.seed`
    nonce: int  # of the proof of work before the lookup challenges


@dataclass(frozen=True)
class Joint:
    """The commitments of all shards of a proof. Raises ValueError for a wrong number of digests or a malformed one."""

    digests: tuple[bytes, ...]  # `digest_of` each shard, in order of index

    def __post_init__(self) -> None:
        check_count(len(self.digests))
        if any(len(digest) != DIGEST_BYTES for digest in self.digests):
            raise ValueError(f"a digest has {DIGEST_BYTES} bytes")

    def seed(self, hash: str) -> bytes:
        """Return the 32 bytes from which σ and τ are drawn, and which every shard absorbs; ``hash``: of the shards."""
        return HASHES[hash].digest(b"".join([JOINT_MAGIC, len(self.digests).to_bytes(4, "little"), *self.digests]))

    def part(self, index: int, hash: str, nonce: int) -> JointPart:
        """Return the part of the transcript of shard ``index`` that depends on all shards."""
        return JointPart(self.digests[index], self.seed(hash), nonce)

    def grinding_seed(self, hash: str) -> bytes:
        """Return the 32 bytes to which the nonce before σ is appended; see `Challenger.grinding_seed`."""
        return Challenger(hash, self.seed(hash)).grinding_seed()


def check_count(count: int) -> None:
    """Raise ValueError unless a sharded proof may have ``count`` shards."""
    if not LEAST_SHARDS <= count <= MOST_SHARDS:
        raise RuleError("shards.count", f"a sharded proof has {LEAST_SHARDS} to {MOST_SHARDS} shards, not {count}")


def check_index(index: int, count: int) -> None:
    """Raise ValueError unless a sharded proof of ``count`` shards has one with this index."""
    if not 0 <= index < count:
        raise RuleError("shards.index", f"shard {index} of {count}")


def shard_binding(hash: str, binding: bytes, count: int, index: int) -> bytes:
    """Return the initial state of shard ``index`` of ``count`` from the binding digest of the shard's tables alone.

    ``hash``: `Parameters.hash`.
    """
    return HASHES[hash].digest(SHARD_MAGIC + count.to_bytes(4, "little") + index.to_bytes(4, "little") + binding)


def draw_separating_point(state: Challenger) -> tuple[Challenger, Ext]:
    """Draw the separating point of a shard, right after all that a separate proof absorbs before the draw of σ.

    The transcript has absorbed the number of the shard, the number of shards, the statement and the main commitment.

    Raises:
        VerificationError: the point is in the base field, in which all evaluation domains are.
    """
    state, point = state.sample_ext()
    if not any(point[1:]):
        raise VerificationError("shards.point", "the separating point is in the base field")
    return state, point


def absorb_separated(state: Challenger, values: Iterable[bytes]) -> Challenger:
    """Absorb the values of the main columns at the separating point: encoded elements of each table, in order."""
    return state.absorb(b"".join(values))


def digest_of(state: Challenger) -> bytes:
    """Return the 32-byte digest of a shard's transcript, right after `absorb_separated`."""
    return state.grinding_seed()


def draw_lookup_challenges(seed: bytes, parameters: Parameters, nonce: int) -> tuple[Ext, Ext]:
    """Return σ and τ of all shards; ``seed``: `Joint.seed`.

    Raises:
        VerificationError: the nonce does not have ``parameters.lookup_pow_bits`` bits of work.
    """
    start = Challenger(parameters.hash, seed)
    state = check_work(start, parameters.lookup_pow_bits, nonce, "the lookup challenges of all shards")
    state, sigma = state.sample_ext()
    return sigma, state.sample_ext()[1]


def resume(state: Challenger, seed: bytes, nonce: int) -> Challenger:
    """Return a shard's transcript after σ and τ; ``state``: of `digest_of`, ``seed``: `Joint.seed`."""
    return Challenger(state.hash, digest_of(state)).absorb(seed).absorb_words(nonce)
