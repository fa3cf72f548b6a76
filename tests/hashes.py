"""The two hashes by their packages: the oracle of every test that hashes."""

import blake3
from Crypto.Hash import keccak


def digest(hash: str, message: bytes) -> bytes:
    """Return the digest of a message by the hash ``keccak`` or ``blake3``."""
    if hash == "keccak":
        return keccak.new(digest_bits=256, data=message).digest()
    assert hash == "blake3"
    return blake3.blake3(message).digest()


BOTH = ("keccak", "blake3")
