"""Inputs of kernels for each table or height, on any device."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphprover.air.description import AirDescription
from graphprover.field import Ext

Array = Any  # an array of the device


@dataclass(frozen=True)
class Unextended:
    """Columns on H in natural order, of which no extension is kept: each use extends them again."""

    width: int
    rows: int  # of the extension
    log_blowup: int
    columns: Callable[[], Array]  # returns them, (width, rows / 2^log_blowup)
    in_memory: bool  # otherwise they are computed again

    @classmethod
    def of(cls, columns: Array, log_blowup: int) -> "Unextended":
        """Return columns that are in memory."""
        width, rows = columns.shape
        return cls(width, rows << log_blowup, log_blowup, lambda: columns, in_memory=True)


@dataclass(frozen=True)
class Operands:
    """The inputs of one table's bytecode: its columns on a device, and its challenges."""

    air: AirDescription
    main: Array
    preprocessed: Array | None
    public_values: Sequence[int]
    prefixes: Sequence[Ext]  # constant terms of the lookups' denominators
    permutation: Array | None = None  # the lookup columns, from round 2 on
    terminal: Ext | None = None  # their terminal, once they have been computed
    extended: bool = True  # of a quotient: whether main and permutation are extensions, or columns on H


@dataclass(frozen=True)
class Height:
    """Matrices of one height, opened at one or two points: extensions (columns, N), or columns (columns, n) on H.

    n is the number of rows of the trace.
    """

    matrices: Sequence[Array]
    values: Sequence[Sequence[np.ndarray]]  # [matrix][point]: opened values as host words, (columns, 3)
    offsets: Sequence[int]  # for each matrix the power of gamma of its first column; k counts by point and column
    inverses: Sequence[Array]  # 1/(z - x) over 7·H for each point z, (3, n)


def points_apart(height: Height, inverses: Array) -> list[Height]:
    """Return a height with each of its points by itself, with the same ``inverses`` for each."""
    parts = []
    for point in range(max(map(len, height.values))):
        found = [
            (matrix, [values[point]], offset + point * len(matrix))
            for matrix, values, offset in zip(height.matrices, height.values, height.offsets, strict=True)
            if point < len(values)
        ]
        matrices, values, offsets = zip(*found, strict=True)
        parts.append(Height(matrices, values, offsets, [inverses]))
    return parts
