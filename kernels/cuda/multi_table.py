"""One launch for many tables (``batch.cuh``): descriptions of items, each with its share of the blocks or threads."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

ITEMS = 64  # of one launch, as in batch.cuh


def batched(items: Sequence[tuple[list[int], int]]) -> Iterator[tuple[np.ndarray, int, int]]:
    """Items, each its words and its number of blocks or threads, for as many launches as they need.

    Gives the parameter, uint64 (ITEMS, 1 + words) with the first block of each item before its words; the number of
    items; and the number of blocks. All items have as many words, and none has no blocks.
    """
    for start in range(0, len(items), ITEMS):
        some = items[start : start + ITEMS]
        firsts = [0, *accumulate(blocks for _, blocks in some)]
        described = np.zeros((ITEMS, 1 + len(some[0][0])), dtype=np.uint64)
        described[: len(some)] = [[first, *words] for first, (words, _) in zip(firsts, some, strict=False)]
        yield described, len(some), firsts[-1]
