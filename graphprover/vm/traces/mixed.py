"""The trace of a table that families share: the rows of each, made as those of a table of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.device import Array, Device


@dataclass(frozen=True)
class Share:
    """Rows of a family's own trace, of one lane, in a table that it shares."""

    columns: tuple[int, ...]  # of the table: where each column of the family's is
    start: int  # the first of the rows, in the family's trace
    first: int  # and here
    rows: int


def mixed_trace(device: Device, *own: Array, shares: Sequence[Share], width: int, height: int) -> Array:
    """The trace of a table of so many columns and rows, from the families' own; rows of none are zeros."""
    main = device.arrays.zeros((width, height), dtype=np.uint64)
    for trace, share in zip(own, shares, strict=True):
        columns = device.load(np.array(share.columns))
        main[columns, share.first : share.first + share.rows] = trace[:, share.start : share.start + share.rows]
    return main
