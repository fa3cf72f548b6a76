"""The Fiat-Shamir sponge: Plonky3's ``SerializingChallenger64`` over ``HashChallenger<Keccak256>``, as a value.

A `Challenger` never changes: absorbing and sampling return a new one. That lets a transcript step be a pure task of
the proof's graph, and it lets a test replay any prefix.
"""

import struct
from dataclasses import dataclass
from functools import cached_property

from graphprover.field import Ext, P
from graphprover.protocol.hashing import keccak256


@dataclass(frozen=True)
class Challenger:
    """The state between two messages."""

    pending: bytes  # absorbed since the last squeeze; begins with the digest of everything before it
    output: bytes = b""  # what is left of the last digest, consumed from its end

    def absorb(self, data: bytes) -> "Challenger":
        """Append bytes; whatever was left of the last digest is dropped."""
        return Challenger(self.pending + data) if data else self

    def absorb_words(self, *words: int) -> "Challenger":
        """Absorb canonical base elements, 8 bytes each, little-endian."""
        return self.absorb(struct.pack(f"<{len(words)}Q", *words))

    @cached_property
    def _digest(self) -> bytes:
        """Of ``pending``, which may be long; kept, as a prover first grinds from a state and then draws from it."""
        return keccak256(self.pending)

    def sample_bytes(self, count: int) -> tuple["Challenger", bytes]:
        """The next ``count`` bytes: each digest is read from its last byte to its first."""
        pending, output, sampled = self.pending, self.output, b""
        while len(sampled) < count:
            if not output:
                pending = output = self._digest if pending is self.pending else keccak256(pending)
            taken = min(count - len(sampled), len(output))
            sampled += output[-taken:][::-1]
            output = output[:-taken]
        return Challenger(pending, output), sampled

    def sample(self) -> tuple["Challenger", int]:
        """A base element: eight bytes at a time, until they are below p."""
        challenger = self
        while True:
            challenger, sampled = challenger.sample_bytes(8)
            value = int.from_bytes(sampled, "little")
            if value < P:
                return challenger, value

    def sample_ext(self) -> tuple["Challenger", Ext]:
        """An extension element, lowest coefficient first."""
        first, c0 = self.sample()
        second, c1 = first.sample()
        third, c2 = second.sample()
        return third, (c0, c1, c2)

    def sample_bits(self, bits: int, count: int) -> tuple["Challenger", list[int]]:
        """``count`` integers of ``bits`` uniform bits, each from eight sampled bytes."""
        challenger, sampled = self.sample_bytes(8 * count)
        return challenger, [word & ((1 << bits) - 1) for word in struct.unpack(f"<{count}Q", sampled)]

    def grinding_seed(self) -> bytes:
        """The 32 bytes that a proof-of-work nonce is appended to.

        A nonce passes when Keccak-256(seed ‖ nonce as 8 little-endian bytes), its last eight bytes read big-endian,
        has the asked number of low zero bits.
        """
        return self.sample_bytes(1)[0].pending

    def check_work(self, bits: int, nonce: int) -> tuple["Challenger", bool]:
        """Absorb a proof-of-work nonce and say whether it passes; zero bits absorb nothing and want the nonce 0."""
        if bits == 0:
            return self, nonce == 0
        squeezed, _ = self.sample_bytes(1)
        challenger, sampled = squeezed.absorb_words(nonce).sample_bits(bits, 1)
        return challenger, sampled == [0]
