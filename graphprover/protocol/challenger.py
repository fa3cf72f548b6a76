"""The Fiat-Shamir sponge: Plonky3's ``SerializingChallenger64`` over ``HashChallenger``, as a value.

A `Challenger` is immutable: absorbing and sampling return a new one, so a transcript step is a pure task of the proof's
graph, and a test can replay any prefix. Specification: docs/protocol.md, section 6.
"""

import struct
from dataclasses import dataclass
from functools import cached_property

from graphprover.field import Ext, P
from graphprover.protocol.hashing import HASHES


@dataclass(frozen=True)
class Challenger:
    """The state of the sponge between two messages."""

    hash: str  # `Parameters.hash`
    pending: bytes  # bytes absorbed since the last squeeze, after the digest of everything before
    output: bytes = b""  # unread bytes of the last digest, consumed from the end

    def absorb(self, data: bytes) -> "Challenger":
        """Append bytes and discard the unread bytes of the last digest."""
        return Challenger(self.hash, self.pending + data) if data else self

    def absorb_words(self, *words: int) -> "Challenger":
        """Absorb canonical base elements, 8 bytes each, little-endian."""
        return self.absorb(struct.pack(f"<{len(words)}Q", *words))

    @cached_property
    def _digest(self) -> bytes:
        """Digest of ``pending``, cached because it may be long: a prover grinds from a state and then draws from it."""
        return HASHES[self.hash].digest(self.pending)

    def sample_bytes(self, count: int) -> tuple["Challenger", bytes]:
        """Return the new state and the next ``count`` bytes; each digest is read from its last byte to its first."""
        pending, output, sampled = self.pending, self.output, b""
        while len(sampled) < count:
            if not output:
                pending = output = self._digest if pending is self.pending else HASHES[self.hash].digest(pending)
            taken = min(count - len(sampled), len(output))
            sampled += output[-taken:][::-1]
            output = output[:-taken]
        return Challenger(self.hash, pending, output), sampled

    def sample(self) -> tuple["Challenger", int]:
        """Return the new state and a base element: 8 bytes, resampled until they are below p."""
        challenger = self
        while True:
            challenger, sampled = challenger.sample_bytes(8)
            value = int.from_bytes(sampled, "little")
            if value < P:
                return challenger, value

    def sample_ext(self) -> tuple["Challenger", Ext]:
        """Return the new state and an extension element, sampled lowest coefficient first."""
        first, c0 = self.sample()
        second, c1 = first.sample()
        third, c2 = second.sample()
        return third, (c0, c1, c2)

    def sample_bits(self, bits: int, count: int) -> tuple["Challenger", list[int]]:
        """Return the new state and ``count`` integers of ``bits`` uniform bits, each from 8 sampled bytes."""
        challenger, sampled = self.sample_bytes(8 * count)
        return challenger, [word & ((1 << bits) - 1) for word in struct.unpack(f"<{count}Q", sampled)]

    def grinding_seed(self) -> bytes:
        """Return the 32 bytes that a proof-of-work nonce is appended to.

        A nonce passes if the hash of seed ‖ nonce as 8 little-endian bytes, its last 8 bytes read big-endian, has the
        required number of low zero bits.
        """
        return self.sample_bytes(1)[0].pending

    def check_work(self, bits: int, nonce: int) -> tuple["Challenger", bool]:
        """Absorb a proof-of-work nonce and return the new state and whether the nonce passes.

        With 0 bits nothing is absorbed, and only nonce 0 passes.
        """
        if bits == 0:
            return self, nonce == 0
        squeezed, _ = self.sample_bytes(1)
        challenger, sampled = squeezed.absorb_words(nonce).sample_bits(bits, 1)
        return challenger, sampled == [0]
