"""Keccak-256 (the original padding, as Ethereum uses it), the one hash of the protocol."""

import numpy as np
from Crypto.Hash import keccak

RATE_WORDS = 17
DIGEST_BYTES = 32


def keccak256(data: bytes) -> bytes:
    """The 32-byte digest of ``data``."""
    return keccak.new(digest_bits=256, data=data).digest()


def keccak256_rows(rows: np.ndarray) -> np.ndarray:
    """The digests (n, 4) of the rows (n, w) of uint64 words, each read as its 8 little-endian bytes."""
    messages = np.ascontiguousarray(rows, dtype="<u8")
    digests = b"".join(keccak256(message.tobytes()) for message in messages)
    return np.frombuffer(digests, dtype="<u8").reshape(len(rows), 4).astype(np.uint64)
