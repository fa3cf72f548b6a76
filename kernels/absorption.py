"""Pieces of columns whose extension is not held, on any device.

The leaves of a tree hash rows column by column. So a few columns at a time are extended, absorbed into a state for each
row, and freed. Queried rows are read from the same pieces.
"""

from collections.abc import Callable, Iterator, Sequence

from graphprover.kernels.operands import Array, Unextended

PIECE_BYTES = 1 << 28  # of columns that are extended at once; more than what keeps every device busy
_WORD_BYTES = 8

Matrix = Array | Unextended  # an extension (columns, n), or what is extended to it


def by_height(matrices: Sequence[Matrix]) -> dict[int, list[Matrix]]:
    """Return matrices in their order by the rows of their extension."""
    groups: dict[int, list[Matrix]] = {}
    for matrix in matrices:
        rows = matrix.rows if isinstance(matrix, Unextended) else matrix.shape[1]
        groups.setdefault(rows, []).append(matrix)
    return groups


def widths(matrices: Sequence[Matrix]) -> list[int]:
    """Return the number of columns of each matrix."""
    return [matrix.width if isinstance(matrix, Unextended) else len(matrix) for matrix in matrices]


def columns_at_once(rows: int, grain: int = 1) -> int:
    """Return how many columns are extended at once: about `PIECE_BYTES`, and a multiple of ``grain`` columns."""
    return max(PIECE_BYTES // (_WORD_BYTES * rows * grain), 1) * grain


def pieces(
    matrices: Sequence[Matrix], rows: int, grain: int, extend: Callable[[Unextended, Array], Array]
) -> Iterator[tuple[int, list[Array]]]:
    """Yield the columns of matrices of one height in pieces: the number of columns before it, and extensions of it.

    Args:
        matrices: The matrices, in order.
        rows: The rows of their extensions.
        grain: All pieces but the last have a multiple of this number of columns.
        extend: Returns the extension of some columns of a matrix.
    """
    size = columns_at_once(rows, grain)
    begin, count, piece = 0, 0, list[Array]()
    for matrix, width in zip(matrices, widths(matrices), strict=True):
        columns, place = matrix.columns() if isinstance(matrix, Unextended) else matrix, 0
        while place < width:
            part = columns[place : place + size - count]
            piece.append(extend(matrix, part) if isinstance(matrix, Unextended) else part)
            place, count = place + len(part), count + len(part)
            if count == size:
                yield begin, piece
                piece.clear()  # the caller may refer to it while the next one is made
                begin, count = begin + count, 0
        del columns  # before the next ones are computed again
    if piece:
        yield begin, piece


def is_last_piece(count: int, begin: int, columns: int, grain: int) -> bool:
    """Return whether a piece of the columns of rows ends them.

    Args:
        count: The columns of the piece.
        begin: The columns before it.
        columns: The columns of all pieces.
        grain: All pieces but the last have a multiple of this number of columns.

    Raises:
        ValueError: The columns are no such piece.
    """
    ends = begin + count == columns
    if begin % grain or begin + count > columns or not (ends or count % grain == 0):
        raise ValueError(f"columns [{begin}, {begin + count}) of {columns} are no piece of a message")
    return ends
