"""The commitment to preprocessed columns, in NumPy: a verifier computes it and never takes it from a proof."""

from collections.abc import Sequence

import numpy as np

from graphprover.field import GENERATOR, P, array_add, array_mul, array_reverse_bits, array_sub, inv, root_of_unity
from graphprover.protocol.hashing import keccak256_rows


def powers(base: int, count: int) -> np.ndarray:
    """[1, base, base^2, ...] as uint64, by doubling."""
    result = np.ones(1, dtype=np.uint64)
    while len(result) < count:
        step = np.array([pow(base, len(result), P)], dtype=np.uint64)
        result = np.concatenate([result, array_mul(result, step)])
    return result[:count]


def ntt(columns: np.ndarray, root: int) -> np.ndarray:
    """Evaluations at root^0, root^1, ... in bit-reversed order of coefficients (w, 2^k) in natural order."""
    width, size = columns.shape
    half = size // 2
    while half:
        blocks = columns.reshape(width, -1, 2, half)
        low, high = blocks[:, :, 0], blocks[:, :, 1]
        twiddles = powers(root, half)
        columns = np.stack([array_add(low, high), array_mul(array_sub(low, high), twiddles)], axis=2)
        root = root * root % P
        half //= 2
    return columns.reshape(width, size)


def low_degree_extension(trace: np.ndarray, log_blowup: int) -> np.ndarray:
    """The columns' polynomials on 7·K in bit-reversed order: (w, n) in natural order to (w, n·2^log_blowup)."""
    width, height = trace.shape
    log_height = height.bit_length() - 1
    coefficients = ntt(trace, inv(root_of_unity(log_height)))[:, array_reverse_bits(np.arange(height), log_height)]
    scale = array_mul(powers(GENERATOR, height), np.array([inv(height)], dtype=np.uint64))
    padded = np.zeros((width, height << log_blowup), dtype=np.uint64)
    padded[:, :height] = array_mul(coefficients, scale)
    return ntt(padded, root_of_unity(log_height + log_blowup))


def preprocessed_cap(traces: Sequence[np.ndarray], log_blowup: int, cap_height: int) -> tuple[bytes, ...]:
    """The cap of the tree over the extensions of these matrices (columns, rows), in commitment order."""
    extensions = [low_degree_extension(trace, log_blowup) for trace in traces]
    height = max(extension.shape[1] for extension in extensions)
    cap_size = min(1 << cap_height, height)

    def rows(size: int) -> np.ndarray | None:
        group = [extension.T for extension in extensions if extension.shape[1] == size]
        return keccak256_rows(np.concatenate(group, axis=1)) if group else None

    layer = rows(height)
    assert layer is not None
    while len(layer) > cap_size:
        layer = keccak256_rows(layer.reshape(-1, 8))
        joined = rows(len(layer))
        if joined is not None:
            layer = keccak256_rows(np.concatenate([layer, joined], axis=1))
    return tuple(digest.astype("<u8").tobytes() for digest in layer)
