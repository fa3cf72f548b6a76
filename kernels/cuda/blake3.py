"""BLAKE3 of rows, a row a thread; the twin of ``graphprover.kernels.cpu.blake3``."""

from collections.abc import Sequence

import cupy
import numpy as np

from graphprover.kernels.cuda import columns
from graphprover.kernels.cuda.launch import blocks_for, kernels_of, launch
from graphprover.protocol.blake3 import CHUNK_WORDS

THREADS = 128
_CHAINING_VALUE = 32  # bytes


def _hash(addresses: np.ndarray, stride: int, target: cupy.ndarray) -> None:
    rows, count = len(target), len(addresses)
    columns.check(target)
    blocks, kernels = blocks_for(rows, THREADS), kernels_of("blake3.cu")
    if count <= CHUNK_WORDS:
        parameter = np.zeros(CHUNK_WORDS, dtype=np.uint64)
        parameter[:count] = addresses
        launch(kernels, "hash_rows", blocks, THREADS, parameter, count, stride, target, rows)
    else:
        stack = THREADS * _CHAINING_VALUE * ((count - 1) // CHUNK_WORDS).bit_length()
        many = cupy.asarray(addresses)
        launch(kernels, "hash_long_rows", blocks, THREADS, many, count, stride, target, rows, shared=stack)


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
