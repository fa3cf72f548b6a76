"""How many rows the table of even numbers has: those that permutations look up (see ``tables/keccak_f.py``).

It takes the states before all permutations to know, but not for long: with more than half of all numbers the table has
the rows of all. The sums of bits are made for 64 of them at once, by adders on words.
"""

import numpy as np

from graphprover.vm.profile.counters import STATES, WANTED, Counters
from graphprover.vm.statement import MOST_EVEN
from graphprover.vm.tables.keccak_f import DIGITS, ROUNDS, WORDS, flips, rounds

_CALLS = 256  # permutations in memory at a time

_Planes = tuple[np.ndarray, ...]  # the bits of 64 numbers in each word, lowest first


class Evens:
    """The numbers found so far."""

    def __init__(self) -> None:
        self._found = np.zeros(MOST_EVEN, dtype=bool)
        self._seen: set[bytes] = set()

    def watch(self, counters: Counters) -> None:
        """Takes the states of a slice of a run."""
        states = counters.states[: counters.position[STATES]]
        for some in (states[i : i + _CALLS] for i in range(0, len(states), _CALLS)):
            if not counters.position[WANTED]:
                break
            self.add(some)
            counters.position[WANTED] = np.count_nonzero(self._found) <= MOST_EVEN // 2
        counters.position[STATES] = 0

    def add(self, states: np.ndarray) -> None:
        """Takes the states before some permutations, uint64 (calls, 25)."""
        new = {state.tobytes() for state in states} - self._seen
        if new:
            self._seen |= new
            self._add(rounds(np.frombuffer(b"".join(sorted(new)), dtype=np.uint64).reshape(-1, WORDS).T)[:-1])

    def used(self, calls: int, heights: list[int]) -> int:
        """The numbers that so many permutations look up in tables of these heights, or some more than half of all."""
        for height in heights:
            fit = min(calls, height // ROUNDS)
            calls -= fit
            idle = height - ROUNDS * fit  # rows that permute zeros; the last block is cut short
            self._add(rounds(np.zeros((WORDS, 1), dtype=np.uint64))[: min(idle, ROUNDS)])
        return int(np.count_nonzero(self._found))

    def _add(self, states: np.ndarray) -> None:
        """The states before some rounds, uint64 (rounds, 25, calls)."""
        before = states.transpose(1, 0, 2).reshape(WORDS, -1)
        flipped = flips(before)
        theta = (before ^ np.tile(flipped, (5, 1))).reshape(5, 5, -1)
        column: _Planes = (flipped,)
        for words in theta:
            column = _sum(column, (words,))
        same = tuple(np.roll(plane, 1, axis=0) for plane in column)
        shifted = tuple(np.roll(plane, -1, axis=0) for plane in column)
        shifted = tuple(plane << np.uint64(1) | plane >> np.uint64(63) for plane in shifted)
        even, *digit = _sum(_sum(same, shifted), (flipped,))[:DIGITS]
        assert not even.any()
        mask = np.uint64(2**DIGITS - 1)
        for z in range(0, 64, DIGITS):
            bits = (plane >> np.uint64(z) & mask for plane in digit)
            nibbles = [nibble << np.uint64(DIGITS * i) for i, nibble in enumerate(bits)]
            self._found[np.bitwise_or.reduce(nibbles).ravel()] = True


def _sum(x: _Planes, y: _Planes) -> _Planes:
    """The planes of the sums."""
    carry = np.zeros_like(x[0])
    found = []
    for i in range(max(len(x), len(y))):
        a, b = (planes[i] if i < len(planes) else np.zeros_like(carry) for planes in (x, y))
        found.append(a ^ b ^ carry)
        carry = a & b | carry & (a ^ b)
    return (*found, carry)
