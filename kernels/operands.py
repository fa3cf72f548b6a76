"""What kernels are given for each table, or for each height, on whatever device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphprover.air.description import AirDescription
from graphprover.field import Ext

Array = Any  # an array of the device


@dataclass(frozen=True)
class Operands:
    """What the bytecode of one table reads: its columns, on a device, and its challenges."""

    air: AirDescription
    main: Array
    preprocessed: Array | None
    public_values: Sequence[int]
    prefixes: Sequence[Ext]  # the constant term of each lookup's denominators
    permutation: Array | None = None  # the lookup columns, once they are made
    terminal: Ext | None = None  # and their terminal


@dataclass(frozen=True)
class Height:
    """Matrices (columns, N) of one height, as they are opened at one or two points."""

    matrices: Sequence[Array]
    values: Sequence[Sequence[np.ndarray]]  # [matrix][point]: the opened values as words of the host, (columns, 3)
    offsets: Sequence[int]  # for each matrix the power of gamma at its first column; k counts by point and column
    inverses: Sequence[Array]  # 1/(z - x) for each point z, (3, N)
