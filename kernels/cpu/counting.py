"""How often the rows of a trace ask for each number: keys are sums of cells with constant weights.

A key is a row of ``keys``, uint64: how many of the ``terms`` there are up to its last one; its constant; the column
whose cell is not 0 where the row asks, or the number of columns where every row does; the place of the number 0 among
all counts; how many numbers there are. A term is the column and the weight of a cell. A key mod p that is no number has
no place, and is not counted.
"""

import numpy as np

from graphprover.compiled import njit
from graphprover.kernels.cpu import simd

_BLOCK = 1024  # rows whose keys wait in the innermost cache
_WORD = 8  # bytes


@njit(nogil=True, cache=True)
def _count_keys(main, keys, terms, counts, first, last):
    columns, rows = main.shape
    numbers = np.empty(_BLOCK, dtype=np.uint64)
    for start in range(first, last, _BLOCK):
        size = min(_BLOCK, last - start)
        begin = np.int64(0)
        for k in range(len(keys)):
            end, constant, flag = np.int64(keys[k, 0]), keys[k, 1], np.int64(keys[k, 2])
            for i in range(0, size, simd.LANES):
                total = simd.splat(constant)
                for t in range(begin, end):
                    cell = simd.load(main, np.int64(terms[t, 0]) * rows + start + i)
                    total = simd.add(total, simd.mul(cell, terms[t, 1]))
                simd.store(numbers, i, simd.canonical(total))
            begin = end
            place, limit = np.int64(keys[k, 3]), keys[k, 4]
            for i in range(size):
                if numbers[i] < limit and (flag == columns or main[flag, start + i]):
                    counts[place + np.int64(numbers[i])] += 1


def count_keys(
    main: np.ndarray, keys: np.ndarray, terms: np.ndarray, counts: np.ndarray, first: int, last: int
) -> None:
    """Adds what the rows [first, last) of a trace (columns, rows) ask for to ``counts``; both multiples of 8.

    All are C-contiguous uint64. Raises ValueError for rows or a column that are not there.
    """
    if first % simd.LANES or last % simd.LANES or not 0 <= first <= last <= main.shape[1]:
        raise ValueError(f"rows {first} to {last} are not vectors of a trace of {main.shape[1]} rows")
    check(main.shape[0], keys, terms, len(counts))
    _count_keys(main, keys, terms, counts, first, last)


def check(columns: int, keys: np.ndarray, terms: np.ndarray, size: int) -> None:
    """Raises ValueError for keys that read a column or count in a place that is not there."""
    ends = [0, *keys[:, 0].tolist()]
    if sorted(ends) != ends or ends[-1] > len(terms) or (terms[:, 0] >= columns).any() or (keys[:, 2] > columns).any():
        raise ValueError("a key has terms or columns that are not there")
    if any(place + limit > size for place, limit in keys[:, 3:].tolist()):
        raise ValueError(f"a key counts beyond {size} numbers")
