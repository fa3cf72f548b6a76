"""Keccak-256 of rows, a row a thread; the twin of ``graphprover.kernels.cpu.keccak``."""

from collections.abc import Sequence

import cupy
import numpy as np

from graphprover.kernels.absorption import is_last_piece
from graphprover.kernels.cuda.columns import check, of_groups, of_rows
from graphprover.kernels.cuda.launch import blocks_for, copied, kernels_of, launch
from graphprover.protocol.keccak import RATE_WORDS

THREADS = 128
FEW = 128  # columns whose addresses are a parameter, as in keccak.cu
STATE = 25  # words
GRAIN = RATE_WORDS  # columns that a state absorbs between permutations


def _hash(
    addresses: np.ndarray,
    stride: int,
    target: cupy.ndarray,
    states: cupy.ndarray | None = None,
    begins: bool = True,
    ends: bool = True,
) -> None:
    rows = len(target)
    check(target)
    few, many = np.zeros(FEW, dtype=np.uint64), None
    if len(addresses) <= FEW:
        few[: len(addresses)] = addresses
    else:
        (many,) = copied(addresses)
    launch(
        kernels_of("keccak.cu"),
        "hash_rows",
        blocks_for(rows, THREADS),
        THREADS,
        few,
        0 if many is None else many,
        len(addresses),
        stride,
        target,
        rows,
        0 if states is None else states,
        begins,
        ends,
    )


def hash_rows(matrices: Sequence[cupy.ndarray], target: cupy.ndarray) -> None:
    """Return the leaves of a tree: digest i is the hash of row i of the first matrix, then of the second, and so on.

    ``matrices`` are uint64 (columns, n), n the same for all, of canonical words; ``target`` is uint64 (n, 4). Raises
    ValueError otherwise.
    """
    _hash(of_rows(matrices, len(target)), 1, target)


def row_states(rows: int, columns: int) -> cupy.ndarray:
    """Return unwritten states of ``absorb_rows`` for rows of a number of columns."""
    return cupy.empty((STATE, rows), dtype=np.uint64)


def absorb_rows(
    matrices: Sequence[cupy.ndarray], states: cupy.ndarray, begin: int, columns: int, target: cupy.ndarray
) -> None:
    """Do a piece of ``hash_rows``: absorb the columns from ``begin`` on, of ``columns`` in all.

    ``states``, from `row_states`, carry the rows from one piece to the next; the last piece writes the digests. Pieces
    begin at multiples of `GRAIN` columns. Raises ValueError otherwise.
    """
    addresses = of_rows(matrices, len(target))
    ends = is_last_piece(len(addresses), begin, columns, GRAIN)
    _hash(addresses, 1, target, states, begin == 0, ends)


def hash_groups(codeword: cupy.ndarray, size: int, target: cupy.ndarray) -> None:
    """Return the leaves of a FRI layer: digest i is the hash of elements i size ... (i + 1) size - 1 of an extension
    vector.

    ``codeword`` is uint64 (3, n), hashed element by element, the three coordinates of each together; ``target`` is
    uint64 (n / size, 4). Raises ValueError otherwise.
    """
    _hash(of_groups(codeword, size, len(target)), size, target)
