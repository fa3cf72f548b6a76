"""Traces of the tables of Keccak-f from the states before calls, on arrays of the host.

The machine's kernels write the same (`graphprover.vm.kernels`). These are for other statements, and for tests.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.vm.accelerators.keccak import digits as keccak_digits
from graphprover.vm.accelerators.keccak.digits import BASE, CLASSES, FACTOR_SHIFT, FACTORS, PLACES, SPREAD, Lookup
from graphprover.vm.accelerators.keccak.permutation import (
    ROUND_CONSTANTS,
    WORDS,
    after_rho,
    before_rho,
    flips,
    parities,
    rotated,
    rounds,
)
from graphprover.vm.accelerators.keccak.planes import PLANES, KeccakPlanes
from graphprover.vm.accelerators.keccak.planes import ROWS as PLANE_ROWS
from graphprover.vm.accelerators.keccak.rounds import IOTA_CLASSES, ROWS, STEPS, TURNED, TURNS, KeccakRounds

# By row, the constant that the state has from the round before.
CONSTANTS = np.array([0, 0, *ROUND_CONSTANTS[:-1]], dtype=np.uint64)[:, None]
_LAST = np.array(ROUND_CONSTANTS[-1:], dtype=np.uint64)


@dataclass(frozen=True)
class PermutationBlocks:
    """The words of blocks of rows, one a call: uint64 arrays (words, 25 rows, calls)."""

    theta: np.ndarray  # 25 words: T
    parity: np.ndarray  # 5 words: C
    iota: np.ndarray  # (25 rows, calls): C[4] xor the round constant before

    @property
    def shifted(self) -> np.ndarray:
        """Return C[x + 1], rotated by 1, of each x."""
        return rotated(np.roll(self.parity, -1, axis=0), np.uint64(1))


def blocks_of(states: np.ndarray) -> PermutationBlocks:
    """Return the blocks of calls with these states, uint64 (25, calls)."""
    calls = states.shape[1]
    theta, parity = (np.zeros((words, ROWS, calls), dtype=np.uint64) for words in (WORDS, 5))
    theta[:, 0] = before_rho(states)
    for row, before in enumerate(rounds(states)[:-1], 1):
        theta[:, row] = before ^ np.tile(flips(before), (5, 1))
        parity[:, row] = parities(before)
    return PermutationBlocks(theta, parity, parity[4] ^ CONSTANTS)


def spread(words: np.ndarray, of: int) -> np.ndarray:
    """Return the bits of a class as digits of 16 bits."""
    return words >> np.uint64(of) & np.uint64(SPREAD)


def number(digits: np.ndarray, by: int = 0) -> np.ndarray:
    """Return the number of digits of 16 bits, turned by some places."""
    return digits * np.uint64(FACTORS[by]) >> np.uint64(FACTOR_SHIFT)


def chi_digits(moved: np.ndarray, word: int, of: int) -> np.ndarray:
    """Return the digits that have chi of a word as bits 1, from the words after rho and pi."""
    first = word - word % 5
    one, two = (moved[first + (word + i) % 5] for i in (1, 2))
    return 2 * spread(moved[word], of) + spread(one, of) + 3 * spread(two, of)


def rounds_trace(numbers: Sequence[int] | np.ndarray, blocks: PermutationBlocks, rows: int) -> np.ndarray:
    """Return the trace of `KeccakRounds` of this height for calls with these numbers."""
    calls = len(numbers)
    if ROWS * calls > rows:
        raise ValueError(f"{calls} permutations do not fit {rows} rows")
    main, columns = KeccakRounds().zeros(rows)

    def in_rows(words: np.ndarray) -> np.ndarray:
        """Return words (..., 25 rows, calls) as (..., rows)."""
        return np.ascontiguousarray(words.swapaxes(-1, -2)).reshape(*words.shape[:-2], -1)

    used = np.arange(ROWS * calls)
    columns.call[used] = np.repeat(np.asarray(numbers, dtype=np.uint64), ROWS)
    columns.step[used % STEPS, used] = 1
    columns.turn[used % ROWS // STEPS, used] = 1
    theta, parity, iota = in_rows(blocks.theta), in_rows(blocks.parity), in_rows(blocks.iota)
    for i, c in enumerate(IOTA_CLASSES):
        columns.iota[i, used] = number(spread(iota, c))
    for c in range(CLASSES):
        columns.parity[:, c, used] = number(spread(parity, c))
        columns.theta[:, c, used] = number(spread(theta, c))
    columns.parity_turned[:, used] = number(spread(parity, CLASSES - 1), 1)
    for (word, c), i in TURNED.items():
        columns.turned[i, used] = number(spread(theta[word], c), TURNS[word, c])
    return main


def _plane_sums(blocks: PermutationBlocks) -> np.ndarray:
    """Return the sums of chunks of all planes, uint64 (2, 25 words, 16 classes, calls): before and after."""
    first, last = blocks.theta[:, 1], after_rho(blocks.theta[:, -1])
    found = np.empty((2, WORDS, CLASSES, first.shape[1]), dtype=np.uint64)
    for w in range(WORDS):
        parity, shifted = blocks.parity[w % 5 - 1, 1], blocks.shifted[w % 5, 1]
        for c in range(CLASSES):
            found[0, w, c] = number(2 * (spread(first[w], c) + spread(parity, c) + spread(shifted, c)))
            found[1, w, c] = number(chi_digits(last, w, c) + (0 if w else 2 * spread(_LAST, c)))
    return found


def planes_trace(numbers: Sequence[int] | np.ndarray, blocks: PermutationBlocks, rows: int) -> np.ndarray:
    """Return the trace of `KeccakPlanes` of this height for calls with these numbers."""
    calls = len(numbers)
    if PLANE_ROWS * calls > rows:
        raise ValueError(f"{calls} permutations do not fit {rows} rows")
    main, columns = KeccakPlanes().zeros(rows)
    used = np.arange(PLANE_ROWS * calls)
    columns.on[used] = 1
    columns.after[used] = used // PLANES % 2
    columns.call[used] = np.repeat(np.asarray(numbers, dtype=np.uint64), PLANE_ROWS)
    columns.plane[used] = used % PLANES
    by_plane = _plane_sums(blocks).reshape(2, PLANES, 5, CLASSES, calls)
    sums = columns.sum[:, :, used] = by_plane.transpose(2, 3, 4, 0, 1).reshape(5, CLASSES, -1)
    for place in range(PLACES):
        bit = sums // np.uint64(BASE**place) % np.uint64(BASE) >> np.uint64(1) & np.uint64(1)
        half = columns.low if place < 2 else columns.high
        half[:, :, used] += bit << np.uint64(CLASSES * (place % 2))
    return main


def lookups(blocks: PermutationBlocks) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the tag and the numbers of all lookups."""
    parity, shifted = blocks.parity, blocks.shifted
    moved = after_rho(blocks.theta.reshape(WORDS, -1)).reshape(blocks.theta.shape)[:, :-1]
    for c in range(CLASSES):
        if c in IOTA_CLASSES:
            yield Lookup.SECOND, number(2 * (spread(parity[4], c) + spread(CONSTANTS, c)))[1:]
        for x in range(5):
            column = sum(spread(word, c) for word in blocks.theta[x::5])
            total = column + spread(parity[x - 1], c) + spread(shifted[x], c)
            yield Lookup.FIRST if c < CLASSES - 1 else Lookup.FIRST_TURNED_1, number(total)[1:]
        for w in range(WORDS):
            left = parity[w % 5 - 1] if w else blocks.iota
            flip = spread(left, c)[1:] + spread(shifted[w % 5], c)[1:]
            yield Lookup.SECOND + TURNS[w, c], number(chi_digits(moved, w, c) + 2 * flip)
    yield Lookup.HALVES, _plane_sums(blocks)


def digits_trace(blocks: PermutationBlocks) -> np.ndarray:
    """Return the trace of `KeccakDigits` beside rounds and planes."""
    return counted(lookups(blocks))


def counted(asked: Iterable[tuple[int, np.ndarray]]) -> np.ndarray:
    """Return the trace of `KeccakDigits` for lookups with these tags, of these numbers."""
    counts = np.zeros((len(Lookup), keccak_digits.ROWS), dtype=np.uint64)
    for tag, numbers in asked:
        found = np.bincount(numbers.ravel().astype(np.int64), minlength=keccak_digits.ROWS)
        counts[tag] += found.astype(np.uint64)
    return np.concatenate([keccak_digits.digit_cells(), counts])
