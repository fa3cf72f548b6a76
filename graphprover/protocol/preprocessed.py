"""The commitment to preprocessed columns, which a verifier computes and never reads from a proof."""

from collections.abc import Sequence

import numpy as np

from graphprover.field import (
    GENERATOR,
    P,
    array_add,
    array_mul,
    array_reverse_bits,
    array_sub,
    inv,
    root_of_unity,
)
from graphprover.protocol import backend
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.protocol.hashing import HASHES, hash_rows

_BLOCK = 1 << 12  # words of a block; a few blocks fit in a core's cache


def powers(base: int, count: int) -> np.ndarray:
    """Return [1, base, base^2, ...], uint64 (count,), by doubling."""
    result = np.ones(1, dtype=np.uint64)
    while len(result) < count:
        step = np.array([pow(base, len(result), P)], dtype=np.uint64)
        result = np.concatenate([result, array_mul(result, step)])
    return result[:count]


def ntt(columns: np.ndarray, root: int) -> np.ndarray:
    """Return evaluations at the powers of a root of unity, by decimation in frequency.

    Args:
        columns: coefficients in natural order, uint64 (w, 2^k).
        root: a root of unity of order 2^k.

    Returns:
        Evaluations at root^0, root^1, ... in bit-reversed order, uint64 (w, 2^k).
    """
    columns = columns.copy()
    size = columns.shape[1]
    twiddles = {}
    half = size // 2
    while half:
        twiddles[half] = powers(root, half)
        root, half = root * root % P, half // 2
    for column in columns:
        for half in twiddles:
            if half >= _BLOCK:
                for first in range(0, size, 2 * half):
                    _butterflies(column[first : first + 2 * half].reshape(1, 2, half), twiddles[half])
        # The remaining butterflies stay within blocks, which are transformed one at a time in the cache.
        for block in range(0, size, 2 * _BLOCK):
            words = column[block : block + 2 * _BLOCK]
            for half in twiddles:
                if half < _BLOCK:
                    _butterflies(words.reshape(-1, 2, half), twiddles[half])
    return columns


def _butterflies(pairs: np.ndarray, twiddles: np.ndarray) -> None:
    """Replace (a, b) by (a + b, (a - b)·w) in place, for pairs (n, 2, half) and twiddles w (half,)."""
    for first in range(0, len(twiddles), _BLOCK):
        part = slice(first, first + _BLOCK)
        low, high = pairs[:, 0, part], pairs[:, 1, part]
        difference = array_sub(low, high)
        low[:] = array_add(low, high)
        high[:] = array_mul(difference, twiddles[part])


def low_degree_extension(trace: np.ndarray, log_blowup: int) -> np.ndarray:
    """Return the values of the columns' polynomials on 7·K (docs/protocol.md, section 4).

    Args:
        trace: columns in natural order, uint64 (w, n).
        log_blowup: log2 of the inverse rate.

    Returns:
        Values in bit-reversed order, uint64 (w, n·2^log_blowup).
    """
    width, height = trace.shape
    log_height = height.bit_length() - 1
    order = array_reverse_bits(np.arange(height), log_height)
    scale = array_mul(powers(GENERATOR, height), np.array([inv(height)], dtype=np.uint64))
    padded = np.zeros((width, height << log_blowup), dtype=np.uint64)
    for column, coefficients in zip(padded, ntt(trace, inv(root_of_unity(log_height))), strict=True):
        column[:height] = array_mul(coefficients[order], scale)
    return ntt(padded, root_of_unity(log_height + log_blowup))


def preprocessed_cap(traces: Sequence[np.ndarray], log_blowup: int, cap_height: int, hash: str) -> tuple[bytes, ...]:
    """Return the cap of the Merkle tree over the low-degree extensions of these traces.

    NumPy or the prover's kernels compute it, depending on `graphprover.protocol.backend.compiled`.

    Args:
        traces: preprocessed traces in commitment order, uint64 (columns, rows).
        log_blowup: log2 of the inverse rate.
        cap_height: log2 of the number of digests in the cap.
        hash: the hash of the tree (`Parameters.hash`).

    Returns:
        Digests of 32 bytes.
    """
    # Calls of the hash for the rows and for the nodes above the tallest matrix.
    work = sum(trace.shape[1] * HASHES[hash].calls(trace.shape[0]) for trace in traces)
    work = (work + max(trace.shape[1] for trace in traces)) << log_blowup
    if backend.compiled(work):
        backend.used["kernels"] += work
        return _compiled_cap(traces, log_blowup, cap_height, hash)
    extensions = [low_degree_extension(trace, log_blowup) for trace in traces]
    height = max(extension.shape[1] for extension in extensions)
    cap_size = min(1 << cap_height, height)

    def rows(size: int) -> np.ndarray | None:
        group = [extension.T for extension in extensions if extension.shape[1] == size]
        return hash_rows(hash, np.concatenate(group, axis=1)) if group else None

    layer = rows(height)
    assert layer is not None
    while len(layer) > cap_size:
        layer = hash_rows(hash, layer.reshape(-1, 2 * DIGEST_WORDS))
        joined = rows(len(layer))
        if joined is not None:
            layer = hash_rows(hash, np.concatenate([layer, joined], axis=1))
    return tuple(digest.astype("<u8").tobytes() for digest in layer)


def _compiled_cap(traces: Sequence[np.ndarray], log_blowup: int, cap_height: int, hash: str) -> tuple[bytes, ...]:
    from graphprover.device.cpu import CpuDevice

    device = CpuDevice()
    return device.cap(device.merkle_tree(device.extend(traces, log_blowup), cap_height, hash))
