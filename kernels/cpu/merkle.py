"""Layers of a Merkle tree over Keccak-256, eight nodes at a time.

A layer is a C-contiguous uint64 array of shape (nodes, 4). If a shorter matrix joins a tree, the node of two children
is hashed once more with the digest of its row (Plonky3's mixed-height MerkleTreeMmcs).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from graphprover.kernels.cpu import simd
from graphprover.kernels.cpu.keccak import STATE, clamped_rows, finish, hash_groups, hash_rows, store_digests
from graphprover.kernels.cpu.parallel import Threads, split_rows
from graphprover.protocol.hashing import DIGEST_WORDS
from graphprover.runtime.numba_cache import njit

_WIDTH = simd.WIDTH
_PAIR = 2 * DIGEST_WORDS  # words of two children


@njit(nogil=True, cache=True)
def _hash_pairs(state, layer, row, last):
    """Return the states after hashing words 8 i ... 8 i + 7 of ``layer`` for the eight nodes i from ``row`` below
    ``last``.
    """
    state[_WIDTH * _PAIR :] = 0
    if row + _WIDTH <= last:
        pairs = simd.load_rows(layer, _PAIR * row, _PAIR, _WIDTH)
        simd.store_rows(state, 0, _WIDTH, simd.transpose(pairs))
    else:
        places = simd.wrapping_mul(clamped_rows(row, last), _PAIR)
        for i in range(_PAIR):
            simd.store(state, _WIDTH * i, simd.gather(layer, simd.wrapping_add(places, i)))
    finish(state, _PAIR)


@njit(nogil=True, cache=True)
def _build(layer, digests, target, first, last):
    state = np.empty(STATE, dtype=np.uint64)
    for row in range(first, last, _WIDTH):
        _hash_pairs(state, layer, row, last)
        if digests:
            places = simd.wrapping_mul(clamped_rows(row, last), DIGEST_WORDS)
            for i in range(DIGEST_WORDS):
                digest = simd.gather(digests, simd.wrapping_add(places, i))
                simd.store(state, _WIDTH * (DIGEST_WORDS + i), digest)
            state[_WIDTH * _PAIR :] = 0
            finish(state, _PAIR)
        store_digests(state, target, row, last)


def _check(layer: np.ndarray, target: np.ndarray, first: int, last: int) -> None:
    for digests in (layer, target):
        if digests.dtype != np.uint64 or digests.shape[1:] != (DIGEST_WORDS,) or not digests.flags.c_contiguous:
            raise ValueError(f"a layer is a C-contiguous uint64 array of shape (nodes, {DIGEST_WORDS})")
    if len(layer) != 2 * len(target):
        raise ValueError(f"{len(layer)} nodes do not have {len(target)} parents")
    if not 0 <= first <= last <= len(target):
        raise ValueError(f"nodes [{first}, {last}) of {len(target)}")


def compress(layer: np.ndarray, target: np.ndarray, first: int, last: int) -> None:
    """target[i] = Keccak-256(layer[2 i] || layer[2 i + 1]) for i in [first, last).

    Shapes (2 n, 4) and (n, 4). Raises ValueError for others.
    """
    _check(layer, target, first, last)
    _build(layer.ctypes.data, 0, target.ctypes.data, first, last)


def inject(layer: np.ndarray, digests: np.ndarray, target: np.ndarray, first: int, last: int) -> None:
    """target[i] = Keccak-256(Keccak-256(layer[2 i] || layer[2 i + 1]) || digests[i]) for i in [first, last).

    Shapes (2 n, 4), (n, 4) and (n, 4). Raises ValueError for others.
    """
    _check(layer, target, first, last)
    _check(layer, digests, first, last)
    _build(layer.ctypes.data, digests.ctypes.data, target.ctypes.data, first, last)


def tree(threads: Threads, matrices: Sequence[np.ndarray], cap_height: int) -> tuple[np.ndarray, ...]:
    """Return the layers of the tree over rows of matrices (columns, n) of different heights, in commitment order."""
    groups: dict[int, list[np.ndarray]] = {}
    for matrix in matrices:
        groups.setdefault(matrix.shape[1], []).append(matrix)
    layers = allocate(max(groups), cap_height)
    joining = {}
    for size, group in groups.items():
        digests = layers[0] if size == len(layers[0]) else np.empty((size, DIGEST_WORDS), dtype=np.uint64)
        split_rows(threads, partial(hash_rows, group, digests), size)
        joining[size] = digests
    build(threads, layers, joining)
    return layers


def fold_tree(threads: Threads, codeword: np.ndarray, log_arity: int, cap_height: int) -> tuple[np.ndarray, ...]:
    """Return the layers of the tree whose leaves hash the groups of 2^log_arity neighbours of a codeword (3, n)."""
    layers = allocate(codeword.shape[1] >> log_arity, cap_height)
    split_rows(threads, partial(hash_groups, codeword, 1 << log_arity, layers[0]), len(layers[0]))
    build(threads, layers, {})
    return layers


def allocate(leaves: int, cap_height: int) -> tuple[np.ndarray, ...]:
    """Return unwritten layers, uint64 (n, 4) each, from 2^k leaves to a cap of at most 2^cap_height nodes."""
    cap = min(leaves, 1 << cap_height)
    sizes = [leaves >> level for level in range((leaves // cap).bit_length())]
    return tuple(np.empty((nodes, DIGEST_WORDS), dtype=np.uint64) for nodes in sizes)


def build(threads: Threads, layers: Sequence[np.ndarray], joining: Mapping[int, np.ndarray]) -> None:
    """Write all layers but the first.

    ``joining`` holds the row digests (n, 4) that join the layer of n nodes (Plonky3's mixed-height MerkleTreeMmcs).
    """
    for below, layer in pairwise(layers):
        digests = joining.get(len(layer))
        piece = partial(compress, below, layer) if digests is None else partial(inject, below, digests, layer)
        split_rows(threads, piece, len(layer))
