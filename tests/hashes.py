"""The two hashes by their packages: the oracle of every test that hashes."""

from collections.abc import Callable

import blake3
from Crypto.Hash import keccak

Hash = Callable[[bytes], bytes]


def keccak256(message: bytes) -> bytes:
    return keccak.new(digest_bits=256, data=message).digest()


def blake3_digest(message: bytes) -> bytes:
    return blake3.blake3(message).digest()


HASHES: dict[str, Hash] = {"keccak": keccak256, "blake3": blake3_digest}
BOTH = tuple(HASHES)


def digest(hash: str, message: bytes) -> bytes:
    """Return the digest of a message by the hash of this name."""
    return HASHES[hash](message)
