"""BLAKE3 of rows, a row a thread; the twin of ``graphprover.kernels.cpu.blake3``."""

from collections.abc import Sequence

import cupy
import numpy as np

from graphprover.kernels.absorption import is_last_piece
from graphprover.kernels.cuda.columns import check, of_groups, of_rows
from graphprover.kernels.cuda.launch import blocks_for, copied, kernels_of, launch
from graphprover.protocol.blake3 import BLOCK_WORDS, CHUNK_WORDS

THREADS = 128
GRAIN = BLOCK_WORDS  # columns of one compression
_CHAINING_VALUE = 32  # bytes


def _hash(addresses: np.ndarray, stride: int, target: cupy.ndarray) -> None:
    rows, count = len(target), len(addresses)
    check(target)
    blocks, kernels = blocks_for(rows, THREADS), kernels_of("blake3.cu")
    if count <= CHUNK_WORDS:
        parameter = np.zeros(CHUNK_WORDS, dtype=np.uint64)
        parameter[:count] = addresses
        launch(kernels, "hash_rows", blocks, THREADS, parameter, count, stride, target, rows)
    else:
        stack = THREADS * _CHAINING_VALUE * _depth(count)
        (many,) = copied(addresses)
        launch(kernels, "hash_long_rows", blocks, THREADS, many, count, stride, target, rows, shared=stack)


def hash_rows(matrices: Sequence[cupy.ndarray], target: cupy.ndarray) -> None:
    """Return the leaves of a tree: digest i is the hash of row i of the first matrix, then of the second, and so on.

    ``matrices`` are uint64 (columns, n), n the same for all, of canonical words; ``target`` is uint64 (n, 4). Raises
    ValueError otherwise.
    """
    _hash(of_rows(matrices, len(target)), 1, target)


def row_states(rows: int, columns: int) -> cupy.ndarray:
    """Return unwritten states of ``absorb_rows`` for rows of a number of columns."""
    return cupy.empty(((_depth(columns) + 1) * _CHAINING_VALUE // 8, rows), dtype=np.uint64)


def absorb_rows(
    matrices: Sequence[cupy.ndarray], states: cupy.ndarray, begin: int, columns: int, target: cupy.ndarray
) -> None:
    """Do a piece of ``hash_rows``: absorb the columns from ``begin`` on, of ``columns`` in all.

    ``states``, from `row_states`, carry the rows from one piece to the next; the last piece writes the digests. Pieces
    begin at multiples of `GRAIN` columns. Raises ValueError otherwise.
    """
    rows, addresses = len(target), of_rows(matrices, len(target))
    is_last_piece(len(addresses), begin, columns, GRAIN)
    check(target)
    launch(
        kernels_of("blake3.cu"), "absorb_rows", blocks_for(rows, THREADS), THREADS,
        *copied(addresses), begin, len(addresses), columns, states, target, rows,
        shared=THREADS * _CHAINING_VALUE * max(_depth(columns), 1),
    )  # fmt: skip


def _depth(count: int) -> int:
    """Return the most chaining values on the stack of a row of this number of columns."""
    return (max(count - 1, 0) // CHUNK_WORDS).bit_length()


def hash_groups(codeword: cupy.ndarray, size: int, target: cupy.ndarray) -> None:
    """Return the leaves of a FRI layer: digest i is the hash of elements i size ... (i + 1) size - 1 of an extension
    vector.

    ``codeword`` is uint64 (3, n), hashed element by element, the three coordinates of each together; ``target`` is
    uint64 (n / size, 4). Raises ValueError otherwise.
    """
    _hash(of_groups(codeword, size, len(target)), size, target)
