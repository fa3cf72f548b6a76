"""Inputs of kernels for each table or height, on any device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphprover.air.description import AirDescription
from graphprover.field import Ext

Array = Any  # an array of the device


@dataclass(frozen=True)
class Operands:
    """The inputs of one table's bytecode: its columns on a device, and its challenges."""

    air: AirDescription
    main: Array
    preprocessed: Array | None
    public_values: Sequence[int]
    prefixes: Sequence[Ext]  # constant terms of the lookups' denominators
    permutation: Array | None = None  # the lookup columns, from round 2 on
    terminal: Ext | None = None  # their terminal


@dataclass(frozen=True)
class Height:
    """Matrices (columns, N) of one height, opened at one or two points."""

    matrices: Sequence[Array]
    values: Sequence[Sequence[np.ndarray]]  # [matrix][point]: opened values as host words, (columns, 3)
    offsets: Sequence[int]  # for each matrix the power of gamma of its first column; k counts by point and column
    inverses: Sequence[Array]  # 1/(z - x) for each point z, (3, N)
