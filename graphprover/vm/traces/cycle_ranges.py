"""A run cut into windows of cycles, each of which is proved in a piece of its own.

Clocks and times are those of the run, so neighbours are joined by the messages of the bus alone.
"""

from itertools import pairwise


def windows_of(cycles: int, pieces: int = 1, length: int | None = None) -> list[range]:
    """The windows of a run of so many cycles: so many ``pieces`` of them, as equal as can be; or of this ``length``.

    The last window of a ``length`` may be shorter. Raises ValueError for both, for numbers below 1, and for more pieces
    than there are cycles.
    """
    if length is not None:
        if pieces != 1:
            raise ValueError("a run is cut into so many pieces or into windows of so many cycles, not both")
        if length < 1:
            raise ValueError(f"a window has at least one cycle, not {length}")
        bounds = [*range(0, cycles, length), cycles]
    elif 1 <= pieces <= cycles:
        bounds = [cycles * i // pieces for i in range(pieces + 1)]
    else:
        raise ValueError(f"a run of {cycles:,} cycles is cut into 1 to {cycles:,} pieces, not {pieces:,}")
    return [range(start, end) for start, end in pairwise(bounds)]
