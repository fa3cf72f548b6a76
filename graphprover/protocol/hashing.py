"""The hashes that a proof may use: Keccak-256 and BLAKE3.

A proof uses one of them for its Merkle trees, transcript, proof of work and binding (`Parameters.hash`). Many messages
are hashed together in NumPy arrays or by the prover's kernels (`graphprover.protocol.backend`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from graphprover.protocol import backend, blake3, keccak
from graphprover.protocol.digests import DIGEST_WORDS


@dataclass(frozen=True)
class Hash:
    """One hash function with digests of 32 bytes."""

    title: str  # its name in texts for people
    call: str  # name of one call of its permutation or compression function
    digest: Callable[[bytes], bytes]  # of one message
    calls: Callable[[int], int]  # number of calls for a message of this number of 8-byte words
    hash_groups: Callable[[Sequence[np.ndarray]], list[np.ndarray]]  # by NumPy; see `hash_groups`
    worth_loading: int  # calls by NumPy that take as long as loading the kernels


HASHES = {
    "keccak": Hash("Keccak-256", "Keccak-f", keccak.digest, keccak.calls, keccak.hash_groups, 600_000),
    "blake3": Hash("BLAKE3", "BLAKE3", blake3.digest, blake3.calls, blake3.hash_groups, 3_000_000),
}  # by `Parameters.hash`


def keccak256(data: bytes) -> bytes:
    """Return Keccak-256 of a message: the hash of keys and programs, and of the seeds of Plonky3's transcript."""
    return keccak.digest(data)


def hash_rows(hash: str, rows: np.ndarray) -> np.ndarray:
    """Return the digests, uint64 (n, 4), of the rows of a uint64 array (n, w), hashed as little-endian bytes.

    Args:
        hash: a key of `HASHES`.
        rows: the messages.
    """
    return hash_groups(hash, [rows])[0]


def hash_groups(hash: str, groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return `hash_rows` of each group of rows; one call for all groups is faster."""
    chosen = HASHES[hash]
    work = sum(len(rows) * chosen.calls(rows.shape[1]) for rows in groups)
    by_kernels = backend.compiled(work, chosen.worth_loading)
    backend.used["kernels" if by_kernels else "NumPy"] += work
    return _compiled(hash, groups) if by_kernels else chosen.hash_groups(groups)


def _compiled(hash: str, groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the digests, computed by the prover's kernels."""
    from graphprover.kernels.cpu.hashes import KERNELS

    ends = [0, *accumulate(map(len, groups))]
    digests = np.empty((ends[-1], DIGEST_WORDS), dtype=np.uint64)
    KERNELS[hash].hash_messages([np.ascontiguousarray(rows, dtype=np.uint64) for rows in groups], digests)
    return [digests[start:end] for start, end in pairwise(ends)]
