"""The loops of a piece's blocks, in which registers stay values of LLVM from block to block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Flow:
    """What matters of a block for its loop."""

    targets: frozenset[int]  # first instructions of the blocks to which it leads directly, not by a register
    read: frozenset[int]  # registers
    written: frozenset[int]  # registers


@dataclass(frozen=True)
class Loop:
    """Blocks that lead to each other by direct jumps: each one to all others."""

    number: int  # of its first block
    starts: frozenset[int]  # of its blocks
    registers: tuple[int, ...]  # that a block reads or writes
    written: tuple[int, ...]  # that a block writes


def loops_of(flows: Mapping[int, Flow], numbers: Mapping[int, int]) -> dict[int, Loop]:
    """Return the loop of each block that is in one.

    Args:
        flows: The blocks of a piece, by their starts.
        numbers: The number of each block.
    """
    starts = sorted(flows)
    place = {start: at for at, start in enumerate(starts)}
    reached = np.zeros((len(starts), len(starts)), dtype=bool)  # by the block of the row
    for start, flow in flows.items():
        reached[place[start], [place[target] for target in flow.targets if target in place]] = True
    for at in range(len(starts)):  # by paths through this block and the ones before (Warshall 1962)
        reached |= np.outer(reached[:, at], reached[at])
    both = reached & reached.T
    found: dict[int, Loop] = {}
    for at, start in enumerate(starts):
        if start in found or not both[at, at]:
            continue
        own = [starts[other] for other in np.flatnonzero(both[at])]
        loop = _loop(own, flows, numbers[start])
        found |= dict.fromkeys(own, loop)
    return found


def _loop(starts: Sequence[int], flows: Mapping[int, Flow], number: int) -> Loop:
    written = frozenset[int]().union(*(flows[start].written for start in starts))
    read = frozenset[int]().union(*(flows[start].read for start in starts))
    return Loop(number, frozenset(starts), tuple(sorted(read | written)), tuple(sorted(written)))
