"""Digests, which have one size and one form for every hash."""

from collections.abc import Callable

import numpy as np

DIGEST_BYTES = 32
DIGEST_WORDS = 4


def one_by_one(digest: Callable[[bytes], bytes], rows: np.ndarray) -> np.ndarray:
    """Return the digests, uint64 (n, 4), of the rows of a uint64 array (n, w), hashed separately by ``digest``."""
    data, size = rows.astype("<u8", copy=False).tobytes(), 8 * rows.shape[1]
    digests = [digest(data[size * i : size * (i + 1)]) for i in range(len(rows))]
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, DIGEST_WORDS)
