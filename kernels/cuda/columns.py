"""Addresses of the columns whose rows are hashed; for ``keccak`` and ``blake3``.

No CPU twin: its kernels take addresses of NumPy arrays.
"""

from collections.abc import Sequence

import cupy
import numpy as np


def check(matrix: cupy.ndarray) -> None:
    """Raise ValueError unless the matrix is C-contiguous uint64 (columns, rows)."""
    if matrix.dtype != np.uint64 or matrix.ndim != 2 or not matrix.flags.c_contiguous:
        raise ValueError(
            f"columns are hashed from C-contiguous uint64 (columns, rows), not {matrix.dtype} {matrix.shape}"
        )


def of_rows(matrices: Sequence[cupy.ndarray], rows: int) -> np.ndarray:
    """Return the addresses, uint64, of all columns. Raises ValueError unless every matrix has ``rows`` rows."""
    for matrix in matrices:
        check(matrix)
        if matrix.shape[1] != rows:
            raise ValueError(f"a matrix of shape {matrix.shape} has not {rows} rows")
    starts = ((matrix.data.ptr, matrix.nbytes) for matrix in matrices)
    columns = [place for start, size in starts for place in range(start, start + size, 8 * rows)]
    return np.array(columns, dtype=np.uint64)


def of_groups(codeword: cupy.ndarray, size: int, groups: int) -> np.ndarray:
    """Return the addresses, uint64, of the words of the first of ``groups`` groups of ``size`` elements.

    The words of the next group follow ``size`` words later. Raises ValueError unless the codeword is uint64 (3, n) of
    that length.
    """
    check(codeword)
    length = groups * size
    if codeword.shape != (3, length):
        raise ValueError(f"a codeword of shape {codeword.shape} is not {groups} groups of {size}")
    elements = np.arange(size)[:, None] + length * np.arange(3)[None, :]
    return (codeword.data.ptr + 8 * elements.reshape(-1)).astype(np.uint64)
