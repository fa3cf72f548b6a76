"""A run cut into cycle ranges, each of which is proved in a shard of its own.

Clocks and times are those of the run, so neighbours are joined by the messages of the bus alone.
"""

from itertools import pairwise


def cycle_ranges_of(cycles: int, shards: int = 1, length: int | None = None) -> list[range]:
    """The cycle ranges of a run of so many cycles: this number of ``shards`` of them, as equal as can be; or of this
    ``length``.

    The last cycle range of a ``length`` may be shorter. Raises ValueError for both, for numbers below 1, and for more
    shards than there are cycles.
    """
    if length is not None:
        if shards != 1:
            raise ValueError("a run is cut into this number of shards or into cycle ranges of so many cycles, not both")
        if length < 1:
            raise ValueError(f"a cycle range has at least one cycle, not {length}")
        bounds = [*range(0, cycles, length), cycles]
    elif 1 <= shards <= cycles:
        bounds = [cycles * i // shards for i in range(shards + 1)]
    else:
        raise ValueError(f"a run of {cycles:,} cycles is cut into 1 to {cycles:,} shards, not {shards:,}")
    return [range(start, end) for start, end in pairwise(bounds)]
