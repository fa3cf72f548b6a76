"""Copies parts of columns into a trace."""

from collections.abc import Sequence

import numpy as np

from graphprover.device import Device


def place_columns(device: Device, sources: Sequence[np.ndarray], moves: np.ndarray, main: np.ndarray) -> None:
    """Copy parts of columns; see ``graphprover.vm.kernels.place_columns``."""
    for source, from_column, from_row, column, row, rows in moves.tolist():
        main[column, row : row + rows] = sources[source][from_column, from_row : from_row + rows]
