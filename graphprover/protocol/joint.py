"""What shards of a proof share: σ and τ, drawn from the commitments of all of them.

Every shard's transcript runs as a proof's by itself to where σ would be drawn; what it has absorbed there is a digest.
σ and τ come from the digests of all shards, and each shard absorbs these before it goes on.
"""

from dataclasses import dataclass
from functools import cached_property

from graphprover.field import Ext
from graphprover.protocol.challenger import Challenger
from graphprover.protocol.hashing import DIGEST_BYTES, keccak256
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.transcript import check_work

SHARD_MAGIC = b"graphprover piece 1"
JOINT_MAGIC = b"graphprover joint 1"
LEAST_SHARDS, MOST_SHARDS = 2, 1 << 10


@dataclass(frozen=True)
class Joint:
    """What all shards have committed to. Raises ValueError for fewer than two digests, too many or malformed ones."""

    digests: tuple[bytes, ...]  # `digest_of` each shard, in order of index

    def __post_init__(self) -> None:
        check_count(len(self.digests))
        if any(len(digest) != DIGEST_BYTES for digest in self.digests):
            raise ValueError(f"a digest has {DIGEST_BYTES} bytes")

    @cached_property
    def seed(self) -> bytes:
        """The 32 bytes that σ and τ come from, and that every shard absorbs."""
        return keccak256(JOINT_MAGIC + len(self.digests).to_bytes(4, "little") + b"".join(self.digests))

    @property
    def grinding_seed(self) -> bytes:
        """The 32 bytes that the nonce before σ is appended to, as `Challenger.grinding_seed`."""
        return Challenger(self.seed).grinding_seed()


def check_count(count: int) -> None:
    """Raises ValueError for a number of shards that no sharded proof has."""
    if not LEAST_SHARDS <= count <= MOST_SHARDS:
        raise ValueError(f"a proof has {LEAST_SHARDS} to {MOST_SHARDS} shards, or is in one, not {count}")


def shard_binding(binding: bytes, count: int, index: int) -> bytes:
    """The initial state of shard ``index`` of ``count``, from the binding digest of its tables by themselves."""
    return keccak256(SHARD_MAGIC + count.to_bytes(4, "little") + index.to_bytes(4, "little") + binding)


def digest_of(state: Challenger) -> bytes:
    """The 32 bytes of all that a shard has absorbed, right before σ would be drawn."""
    return state.grinding_seed()


def draw_lookup_challenges(joint: Joint, parameters: Parameters, nonce: int) -> tuple[Ext, Ext]:
    """sigma and tau of all shards; raises VerificationError where the nonce fails."""
    state = check_work(Challenger(joint.seed), parameters.lookup_pow_bits, nonce, "the lookup challenges of all shards")
    state, sigma = state.sample_ext()
    return sigma, state.sample_ext()[1]


def resume(state: Challenger, joint: Joint, nonce: int) -> Challenger:
    """A shard's transcript after σ and τ: it goes on from where `digest_of` was taken."""
    return state.absorb(joint.seed).absorb_words(nonce)
