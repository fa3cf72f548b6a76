"""Parts of columns that are copied into a trace: the format of cpu/places.py and cuda/places.py."""

from collections.abc import Sequence

import numpy as np

from graphprover.device import Array

# A move: rows FROM_ROW .. FROM_ROW + ROWS - 1 of a column of one of the sources, and their target.
SOURCE, FROM_COLUMN, FROM_ROW, COLUMN, ROW, ROWS = range(6)
MOVE_WORDS = 6


def require(sources: Sequence[Array], moves: np.ndarray, main: Array) -> None:
    """Raise ValueError for moves from or to places out of range, and for arrays that are not contiguous."""
    if moves.dtype != np.uint64 or moves.ndim != 2 or moves.shape[1] != MOVE_WORDS:
        raise ValueError(f"moves are uint64 (n, {MOVE_WORDS}), not {moves.dtype} {moves.shape}")
    for array in (*sources, main):
        if array.dtype != "uint64" or array.ndim != 2 or not array.flags.c_contiguous:
            raise ValueError(f"a trace is contiguous uint64 (columns, rows), not {array.dtype} {array.shape}")
    if not len(moves):
        return
    if int(moves[:, SOURCE].max()) >= len(sources):
        raise ValueError(f"a move from source {moves[:, SOURCE].max()} of {len(sources)}")
    shapes = np.array([source.shape for source in sources], dtype=np.uint64)[moves[:, SOURCE].astype(np.int64)]
    _require_inside("from", moves[:, FROM_COLUMN], moves[:, FROM_ROW], moves[:, ROWS], shapes)
    _require_inside("to", moves[:, COLUMN], moves[:, ROW], moves[:, ROWS], np.array([main.shape], dtype=np.uint64))


def _require_inside(what: str, column: np.ndarray, row: np.ndarray, rows: np.ndarray, shapes: np.ndarray) -> None:
    """Raise ValueError for rows or columns out of range, without sums, which might pass 2^64."""
    columns, height = shapes[:, 0], shapes[:, 1]
    if not ((column < columns) & (row <= height) & (rows <= height - np.minimum(row, height))).all():
        raise ValueError(f"a move {what} columns or rows out of range")
