"""Parallel loops: an operation is cut into pieces for the threads of a device.

A piece is a function of a range [first, last) of rows, columns or other items; pieces write to disjoint places.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

LEAST_ROWS, MOST_ROWS = 1 << 10, 1 << 13  # of a piece: enough to hide the call, few enough for a cache
PIECES = 8  # least number of pieces for each thread, so that a delayed thread delays little


class Threads(Protocol):
    """The threads of a device: see `graphprover.device.threads.Threads`."""

    count: int

    def split(self, function: Callable[[int, int], object], total: int, piece: int) -> None:
        """Call ``function(first, last)`` over [0, total) in pieces of ``piece`` items; the last may be shorter."""


def split_rows(threads: Threads, function: Callable[[int, int], object], rows: int) -> None:
    """Call ``function(first, last)`` over all rows, in pieces that suit the caches."""
    piece = 1 << max(rows // _shares(threads), 1).bit_length() - 1
    threads.split(function, rows, min(max(piece, LEAST_ROWS), MOST_ROWS))


def split_columns(threads: Threads, function: Callable[[int, int], object], columns: int, rows: int) -> None:
    """Call ``function(first, last)`` over all columns, each of ``rows`` rows."""
    threads.split(function, columns, max(1, MOST_ROWS // rows, columns // _shares(threads)))


def counted_apart(
    split: Callable[[Callable[[int, int], None], int], None],
    items: int,
    counts: np.ndarray,
    count: Callable[[np.ndarray, int, int], object],
) -> None:
    """Call ``count(counts, first, last)``, which adds to its first argument, over all items.

    ``split`` calls a function over all ranges of items, like `graphprover.device.Device.split_rows`. Ranges that run in
    parallel count separately. A range takes counts that no other one uses, or new ones.
    """
    free, made = [counts], list[np.ndarray]()

    def piece(first: int, last: int) -> None:
        try:
            own = free.pop()
        except IndexError:
            own = np.zeros_like(counts)
            made.append(own)
        count(own, first, last)
        free.append(own)

    split(piece, items)
    for own in made:
        np.add(counts, own, out=counts)


def _shares(threads: Threads) -> int:
    """Return the size of pieces that let all threads end together."""
    return PIECES * threads.count if threads.count > 1 else 1
