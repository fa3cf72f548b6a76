"""A merged layer: its tables side by side as one table.

A proof opens one row of it for each query, and its only terminal is 0. Messages of all kinds are on one bus, so that
they share fraction columns. Each part keeps its constraints, which hold up to any height: `blake3` has whole calls, and
`machine` ends with rows of no kind.

Below the rows of `fixed` its preprocessed columns repeat. Zeros would be another instruction at address 0.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from graphprover.air import Air
from graphprover.air.description import AirDescription
from graphprover.air.side_by_side import side_by_side
from graphprover.recursion.tables.buses import MACHINE, MERGED
from graphprover.recursion.tables.fixed import ROWS, Fixed


class Merged(Air):
    """Tables of a layer, the last of which is `fixed`, as one of as many rows as the tallest one."""

    name = "layer"
    immutable = True

    def __init__(self, parts: Sequence[Air], fixed: Fixed, rows: int) -> None:
        """Take the tables before `fixed`, and the rows: `ROWS` of `fixed`, or more."""
        self._parts, self._fixed, self._rows = (*parts, fixed), fixed, rows
        for attribute in ("columns", "preprocessed", "public_values"):
            setattr(self, attribute, tuple(chain.from_iterable(_specs(part, attribute) for part in self._parts)))

    def side_by_side(self) -> AirDescription:
        """Return the description, from the ones of the tables."""
        return side_by_side(self.name, [part.describe() for part in self._parts], MACHINE, MERGED)

    def preprocessed_trace(self) -> np.ndarray:
        """Return the columns of `fixed` as often as they fit."""
        return np.tile(self._fixed.preprocessed_trace(), self._rows // ROWS)


def _specs(part: Air, attribute: str) -> list[str]:
    """Return the columns, preprocessed columns or public values of a part with its name before each."""
    return [f"{part.name}_{spec}" for spec in getattr(part, attribute)]
