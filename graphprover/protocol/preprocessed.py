"""The commitment to preprocessed columns, which a verifier computes and never reads from a proof."""

from collections.abc import Collection, Sequence
from typing import Any

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

Cap = tuple[bytes, ...]
WORTH_LOADING = 600_000  # calls of a hash for which kernels are worth loading, with the transforms before them
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


def preprocessed_cap(traces: Sequence[np.ndarray], log_blowup: int, cap_height: int, hash: str) -> Cap:
    """Return the cap of the Merkle tree over the low-degree extensions of these traces; see `preprocessed_caps`."""
    return preprocessed_caps([traces], [log_blowup], cap_height, hash)[0][log_blowup]


def preprocessed_caps(
    statements: Sequence[Sequence[np.ndarray]], log_blowups: Collection[int], cap_height: int, hash: str
) -> list[dict[int, Cap]]:
    """Return the caps of the Merkle trees over low-degree extensions of each statement's traces, at several rates.

    NumPy or the prover's kernels compute them, depending on `graphprover.protocol.backend.compiled`.

    At the lowest rate everything is computed once: in bit-reversed order, the first half of an extension is the
    extension by half as much, and so is the first half of each layer of a tree, as far as matrices join it. Statements
    share extensions, and layers until their matrices differ.

    Args:
        statements: preprocessed traces of each statement in commitment order, uint64 (columns, rows); traces that
            several statements have are the same objects.
        log_blowups: log2 of the inverse rates.
        cap_height: log2 of the number of digests in a cap.
        hash: the hash of the trees (`Parameters.hash`).

    Returns:
        For each statement, by log2 of the inverse rate, digests of 32 bytes.
    """
    traces = {id(trace): trace for own in statements for trace in own}
    most = max(log_blowups)
    by = _by([*traces.values()], most, hash)
    extensions = dict(zip(traces, by.extend([*traces.values()], most), strict=True))
    caps: list[dict[int, Cap]] = [{} for _ in statements]
    layers: dict[tuple[int, ...], Any] = {}  # of one size, by the traces in and below them
    for log_height in reversed(range(max(map(_log_height, traces.values())) + 1)):
        below, layers = layers, {}
        for found, own in zip(caps, statements, strict=True):
            taller = tuple(id(trace) for trace in own if _log_height(trace) > log_height)
            inside = tuple(id(trace) for trace in own if _log_height(trace) >= log_height)
            if inside and inside not in layers:
                joining = [extensions[trace] for trace in inside if trace not in taller]
                digests = by.row_digests(joining, hash) if joining else None
                layers[inside] = by.parents(below[taller], digests, hash) if taller else digests
            for log_blowup in log_blowups:
                log_cap = min(cap_height, max(map(_log_height, own)) + log_blowup)
                if log_height == max(log_cap - log_blowup, 0):
                    layer = layers[inside][: 1 << log_height + log_blowup]
                    while len(layer) > 1 << log_cap:
                        layer = by.parents(layer, None, hash)
                    found[log_blowup] = tuple(digest.astype("<u8").tobytes() for digest in layer)
    return caps


def repeated_roots(trace: np.ndarray, log_repeats: int, log_blowups: Collection[int], hash: str) -> dict[int, bytes]:
    """Return the root of the tree over the low-degree extension of a trace that is repeated, at several rates.

    The columns are polynomials of X^(2^log_repeats), the trace's own ones. So neighbours in bit-reversed order have
    equal rows, which are the rows of the trace's extension over a coset of another generator.

    Args:
        trace: uint64 (columns, rows).
        log_repeats: log2 of how often it is repeated.
        log_blowups: log2 of the inverse rates.
        hash: As in `preprocessed_caps`, like the roots.
    """
    most, by = max(log_blowups), _by([trace], max(log_blowups), hash)
    (extension,) = by.extend([_moved(trace, pow(GENERATOR, (1 << log_repeats) - 1, P))], most)
    layer, roots = by.row_digests([extension], hash), dict[int, bytes]()
    for _ in range(log_repeats):
        layer = by.parents(np.repeat(layer, 2, axis=0), None, hash)
    for log_blowup in sorted(log_blowups):  # the first node of each layer is the root of a tree at a higher rate
        while len(layer) > 1 << most - log_blowup:
            layer = by.parents(layer, None, hash)
        roots[log_blowup] = layer[0].astype("<u8").tobytes()
    return roots


def _moved(trace: np.ndarray, shift: int) -> np.ndarray:
    """Return the trace of the polynomials p(shift X), for the polynomials p of a trace."""
    height = trace.shape[1]
    root, order = root_of_unity(_log_height(trace)), array_reverse_bits(np.arange(height), _log_height(trace))
    scale = array_mul(powers(shift, height), np.array([inv(height)], dtype=np.uint64))
    return ntt(array_mul(ntt(trace, inv(root))[:, order], scale), root)[:, order]


def _by(traces: Sequence[np.ndarray], log_blowup: int, hash: str) -> Any:
    """Return NumPy's functions or the prover's kernels, for the tree over the extensions of some traces."""
    # Calls of the hash for the rows and for the nodes above the tallest matrix.
    work = sum(trace.shape[1] * HASHES[hash].calls(trace.shape[0]) for trace in traces)
    work = (work + max(trace.shape[1] for trace in traces)) << log_blowup
    if not backend.compiled(work, WORTH_LOADING):
        return _NumPy()
    from graphprover.device.cpu import CpuDevice

    backend.used["kernels"] += work
    return CpuDevice()


def _log_height(trace: np.ndarray) -> int:
    return trace.shape[1].bit_length() - 1


class _NumPy:
    """What `CpuDevice` does by kernels."""

    def extend(self, matrices: Sequence[np.ndarray], log_blowup: int) -> list[np.ndarray]:
        """Return the low-degree extensions of traces."""
        return [low_degree_extension(matrix, log_blowup) for matrix in matrices]

    def row_digests(self, matrices: Sequence[np.ndarray], hash: str) -> np.ndarray:
        """Return the digests, uint64 (n, 4), of the rows of matrices (columns, n) side by side."""
        return hash_rows(hash, np.concatenate([matrix.T for matrix in matrices], axis=1))

    def parents(self, layer: np.ndarray, joining: np.ndarray | None, hash: str) -> np.ndarray:
        """Return the layer above one, (n, 4), of which each node is hashed once more with its digest of ``joining``."""
        layer = hash_rows(hash, layer.reshape(-1, 2 * DIGEST_WORDS))
        return layer if joining is None else hash_rows(hash, np.concatenate([layer, joining], axis=1))
