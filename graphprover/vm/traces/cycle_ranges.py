"""Cuts a run into cycle ranges, each proved in a shard of its own.

Clocks and times count from the start of the run, so only messages of the bus connect neighbouring ranges.
"""

from itertools import pairwise


def cycle_ranges_of(cycles: int, shards: int = 1, length: int | None = None) -> list[range]:
    """Return the cycle ranges of a run: ``shards`` of nearly equal length, or ranges of ``length`` cycles.

    The last range of a ``length`` may be shorter.

    Raises:
        ValueError: If both are given, for numbers below 1, and for more shards than cycles.
    """
    if length is not None:
        if shards != 1:
            raise ValueError("choose a number of shards or the cycles of a shard, not both")
        if length < 1:
            raise ValueError(f"a cycle range has at least one cycle, not {length}")
        bounds = [*range(0, cycles, length), cycles]
    elif 1 <= shards <= cycles:
        bounds = [cycles * i // shards for i in range(shards + 1)]
    else:
        raise ValueError(f"a run of {cycles:,} cycles has 1 to {cycles:,} shards, not {shards:,}")
    return [range(start, end) for start, end in pairwise(bounds)]
