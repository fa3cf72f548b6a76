"""Keccak-256 of rows, a row a thread; the twin of ``graphprover.kernels.cpu.keccak``."""

from collections.abc import Sequence

import cupy
import numpy as np

from graphprover.kernels.cuda import columns
from graphprover.kernels.cuda.launch import blocks_for, kernels_of, launch

THREADS = 128
FEW = 128  # columns whose addresses are a parameter, as in keccak.cu


def _hash(addresses: np.ndarray, stride: int, target: cupy.ndarray) -> None:
    rows = len(target)
    columns.check(target)
    few, many = np.zeros(FEW, dtype=np.uint64), None
    if len(addresses) <= FEW:
        few[: len(addresses)] = addresses
    else:
        many = cupy.asarray(addresses)
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
    )


def hash_rows(matrices: Sequence[cupy.ndarray], target: cupy.ndarray) -> None:
    """Return the leaves of a tree: digest i is the hash of row i of the first matrix, then of the second, and so on.

    ``matrices`` are uint64 (columns, n), n the same for all, of canonical words; ``target`` is uint64 (n, 4). Raises
    ValueError otherwise.
    """
    _hash(columns.of_rows(matrices, len(target)), 1, target)


def hash_groups(codeword: cupy.ndarray, size: int, target: cupy.ndarray) -> None:
    """Return the leaves of a FRI layer: digest i is the hash of elements i size ... (i + 1) size - 1 of an extension
    vector.

    ``codeword`` is uint64 (3, n), hashed element by element, the three coordinates of each together; ``target`` is
    uint64 (n / size, 4). Raises ValueError otherwise.
    """
    _hash(columns.of_groups(codeword, size, len(target)), size, target)
