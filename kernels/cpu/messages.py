"""Messages of the hash kernels as rows of columns: the checks of operands, and the digests of eight rows at a time.

A message is the words of a row, each 8 bytes in little-endian order; column i is given as the address of its first
word, and the words of one column lie ``stride`` words apart.
"""

from collections.abc import Sequence

import numpy as np

from graphprover.kernels.cpu import simd
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.runtime.numba_cache import njit

PAIR = 2 * DIGEST_WORDS  # words of two digests
_WIDTH = simd.WIDTH


@njit(nogil=True, cache=True)
def clamped_rows(first, last):
    """first, first + 1, ... for eight lanes, none above last - 1: the lanes of an incomplete group repeat its end."""
    rows = simd.wrapping_add(simd.iota(), first)
    return simd.select(simd.less(rows, last), rows, simd.splat(last - 1))


@njit(nogil=True, cache=True)
def store_digests(digests, target, first, last):
    """Write the digests of eight rows, word i of all in vector i of four, to the rows from ``first`` of ``target``.

    ``target`` is uint64 (rows, 4), of which no row from ``last`` on is written.
    """
    if last - first >= _WIDTH:
        simd.store_rows(target, DIGEST_WORDS * first, _WIDTH, simd.interleave(digests))
    else:
        places = simd.shift_left(clamped_rows(first, last), 2)
        for i in range(DIGEST_WORDS):
            simd.scatter(target, simd.wrapping_add(places, i), digests[i])


def row_columns(matrices: Sequence[np.ndarray], target: np.ndarray, first: int, last: int) -> np.ndarray:
    """Return the addresses of the columns of matrices, int64 (all columns,), for a kernel's ``hash_rows``.

    Args:
        matrices: uint64 arrays (columns, n), C-contiguous, n the same for all; columns may be none.
        target: uint64 (n, 4), the digests.
        first: The first row to write.
        last: One past the last row to write.

    Raises:
        ValueError: Operands have other shapes, or [first, last) is no range of rows.
    """
    rows = target.shape[0]
    if any(matrix.shape[1:] != (rows,) for matrix in matrices):
        raise ValueError(f"matrices of shapes {[matrix.shape for matrix in matrices]} have not {rows} rows each")
    _check_target(target, rows, first, last)
    return np.concatenate([np.empty(0, dtype=np.int64), *map(_column_addresses, matrices)])


def check_first(first: int) -> None:
    """Raise ValueError unless the states of ``absorb_rows`` begin at this row: no kernel has sixteen rows in two."""
    if first % 16:
        raise ValueError(f"rows whose columns come in pieces begin at a multiple of 16, not at {first}")


def group_columns(codeword: np.ndarray, size: int, target: np.ndarray, first: int, last: int) -> np.ndarray:
    """Return the addresses of the words of the first group of a codeword, int64 (3 size,), for ``hash_groups``.

    Args:
        codeword: uint64 (3, n), C-contiguous.
        size: Elements of a group, whose words are hashed element by element.
        target: uint64 (n / size, 4), the digests.
        first: The first group to write.
        last: One past the last group to write.

    Raises:
        ValueError: Operands have other shapes, or [first, last) is no range of groups.
    """
    rows = target.shape[0]
    if codeword.shape != (3, rows * size):
        raise ValueError(f"a codeword of shape {codeword.shape} is not {rows} groups of {size}")
    _check_target(target, rows, first, last)
    elements = 8 * np.arange(size, dtype=np.int64)
    return (elements[:, None] + _column_addresses(codeword)[None, :]).reshape(-1)


def message_groups(groups: Sequence[np.ndarray], target: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the address, rows and words of each group, int64 (groups, 3), and the address of ``target``.

    Args:
        groups: C-contiguous uint64 arrays (n, words), whose rows are messages.
        target: uint64 (sum of n, 4), the digests.

    Raises:
        ValueError: Operands have other shapes.
    """
    _check_target(target, sum(map(len, groups)), 0, 0)
    if any(array.dtype != np.uint64 or array.ndim != 2 or not array.flags.c_contiguous for array in groups):
        raise ValueError("messages are rows of C-contiguous uint64 arrays")
    # Not by ``ctypes``, which takes as long as hashing a few messages.
    addresses = [array.__array_interface__["data"][0] for array in (target, *groups)]
    given = [(address, *messages.shape) for address, messages in zip(addresses[1:], groups, strict=True)]
    return np.array(given, dtype=np.int64).reshape(-1, 3), addresses[0]


def pair_addresses(
    layer: np.ndarray, joining: np.ndarray | None, target: np.ndarray, first: int, last: int
) -> tuple[int, int, int]:
    """Return the addresses of the operands of ``hash_pairs``, 0 for no ``joining``.

    Args:
        layer: uint64 (2 n, 4), C-contiguous, the children.
        joining: uint64 (n, 4), C-contiguous, the digests that join; None for none.
        target: uint64 (n, 4), C-contiguous, the nodes.
        first: The first node to write.
        last: One past the last node to write.

    Raises:
        ValueError: Operands have other shapes, or [first, last) is no range of nodes.
    """
    for digests in (layer, target) if joining is None else (layer, target, joining):
        if digests.dtype != np.uint64 or digests.shape[1:] != (DIGEST_WORDS,) or not digests.flags.c_contiguous:
            raise ValueError(f"a layer is a C-contiguous uint64 array of shape (nodes, {DIGEST_WORDS})")
    if len(layer) != 2 * len(target):
        raise ValueError(f"{len(layer)} nodes do not have {len(target)} parents")
    if joining is not None and len(joining) != len(target):
        raise ValueError(f"{len(joining)} digests cannot join {len(target)} nodes")
    if not 0 <= first <= last <= len(target):
        raise ValueError(f"nodes [{first}, {last}) of {len(target)}")
    return layer.ctypes.data, 0 if joining is None else joining.ctypes.data, target.ctypes.data


def nonce_mask(seed: np.ndarray, bits: int, first: int, last: int) -> np.uint64:
    """Return the bits of a digest's last word, read big-endian, that are zero for an accepted nonce.

    Raises ValueError for operands that ``smallest_nonce`` does not take.
    """
    if seed.shape != (DIGEST_WORDS,) or seed.dtype != np.uint64:
        raise ValueError("the seed is a digest of four uint64 words")
    if not 0 <= bits < 64 or not 0 <= first < 1 << 63 or not 0 <= last < 1 << 63:
        raise ValueError(f"cannot grind {bits} bits over [{first}, {last})")
    return np.uint64((1 << bits) - 1)


def _check_target(target: np.ndarray, rows: int, first: int, last: int) -> None:
    if target.dtype != np.uint64 or target.shape != (rows, DIGEST_WORDS) or not target.flags.c_contiguous:
        raise ValueError(f"digests of {rows} rows are a C-contiguous uint64 array of shape ({rows}, {DIGEST_WORDS})")
    if not 0 <= first <= last <= rows:
        raise ValueError(f"rows [{first}, {last}) of {rows}")


def _column_addresses(matrix: np.ndarray) -> np.ndarray:
    if matrix.dtype != np.uint64 or matrix.ndim != 2 or not matrix.flags.c_contiguous:
        raise ValueError("columns are hashed from C-contiguous uint64 arrays of shape (columns, rows)")
    columns, rows = matrix.shape
    return matrix.ctypes.data + 8 * rows * np.arange(columns, dtype=np.int64)
