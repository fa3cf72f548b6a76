"""Keccak-f[1600] on bits, one round a row; and the table that shows which sums of bits are even.

Columns of a round: D, the bits that theta flips in each column of the state; the 1600 bits after theta; and the words
that enter and leave the round, in limbs of 32 bits. The bits before theta, rho, pi and chi are expressions. That D is
theta's follows if sums of 13 bits are even: four such sums are the hexadecimal digits of a number, which is looked up.
A row has 2053 columns, and 2185 committed cells with its lookups. The layout of p3-keccak-air, for smaller fields and
without lookups, has 2633 columns. Without the columns ``input``, which 50 expressions in D and theta could replace,
there would be 47 cells less and 50 % more operations.
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from graphprover.air import Air, Bus, Expr, TableBuilder
from graphprover.air.columns import Columns
from graphprover.air.linear import linear
from graphprover.protocol import keccak
from graphprover.vm.tables.limbs import limbs

PERMUTATION = Bus("keccak-f")  # (0, call, 50 limbs) asks for a permutation, (1, call, 50 limbs) answers
EVEN = Bus("even")  # a number below 2^16 whose hexadecimal digits are all even

WORDS = 25  # of the state: word x + 5 y is lane A[x, y] of the standard
ROUND_CONSTANTS = tuple(map(int, keccak.ROUND_CONSTANTS))
ROUNDS = len(ROUND_CONSTANTS)
ROTATIONS = (0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14)
IOTA_BITS = (0, 1, 3, 7, 15, 31, 63)  # the only bits set in any round constant
# Word x + 5 y after rho and pi is this word, rotated by this word's rotation.
SOURCES = tuple((x + 3 * y) % 5 + 5 * x for y in range(5) for x in range(5))

_SOURCE_ROTATIONS = np.array(ROTATIONS, dtype=np.uint64)[list(SOURCES), None]

DIGITS = 4  # sums in a number that is looked up
EVENS = 8**DIGITS  # numbers whose digits are even
_PIECE = 1 << 12  # rows whose sums are in memory at a time


def rounds(states: np.ndarray) -> np.ndarray:
    """Return the states before each round and after the last: uint64 (25 words, n) to (25 states, 25 words, n)."""
    found = [states]
    for constant in ROUND_CONSTANTS:
        found.append(after_theta(found[-1] ^ np.tile(flips(found[-1]), (5, 1)), constant))
    return np.stack(found)


def after_theta(states: np.ndarray, constant: int) -> np.ndarray:
    """Apply rho, pi, chi and iota: uint64 (25, n) to (25, n)."""
    b = _rotated(states[list(SOURCES)], _SOURCE_ROTATIONS).reshape(5, 5, -1)
    a = (b ^ ~np.roll(b, -1, axis=1) & np.roll(b, -2, axis=1)).reshape(states.shape)
    a[0] ^= np.uint64(constant)
    return a


def flips(states: np.ndarray) -> np.ndarray:
    """Return D of each state, the words that theta xors into all words of a column: uint64 (25, n) to (5, n)."""
    parity = reduce(np.bitwise_xor, states.reshape(5, 5, -1))
    return np.roll(parity, 1, axis=0) ^ _rotated(np.roll(parity, -1, axis=0), np.uint64(1))


def _rotated(words: np.ndarray, bits: np.ndarray | np.uint64) -> np.ndarray:
    return words << bits | words >> (np.uint64(64) - bits & np.uint64(63))


def stacked_limbs(words: np.ndarray) -> np.ndarray:
    """Return uint64 words of shape (..., rows) as limbs of shape (..., 2, rows)."""
    return np.stack(limbs(words), axis=-2)


class KeccakF(Air):
    """Blocks of 24 rows, one a permutation; an ``active`` one answers a call. The last block may be cut short."""

    name = "keccak_f"
    columns = (
        "call",  # number of the call
        "active",
        "round[24]",  # 1 in the row of that round
        "input[25][2]",  # the state before the round: limbs of 32 bits, as everywhere
        "flip[5][64]",  # D: the bits that theta xors into the five bits of each column of the state
        "theta[25][64]",  # bits of the state after theta
        "chi[7]",  # bits of the first word after chi at the places of round constants
        "output[25][2]",  # the state after the round
    )

    def define(self, t: TableBuilder) -> None:
        for i, flag in enumerate(t.round):
            t.first_row(flag - (1 if i == 0 else 0))
            t.transition(t.next.round[(i + 1) % ROUNDS] - flag)
        t.boolean(t.active)
        ongoing = 1 - t.round[-1]
        t.transition(ongoing * (t.next.active - t.active))
        t.transition(ongoing * (t.next.call - t.call))
        for following, limb in zip(_flat(t.next.input), _flat(t.output), strict=True):
            t.transition(ongoing * (following - limb))

        self._theta(t)
        self._chi(t)
        t.receive(PERMUTATION, [0, t.call, *_flat(t.input)], t.round[0] * t.active, weight=1)
        t.send(PERMUTATION, [1, t.call, *_flat(t.output)], t.round[-1] * t.active, weight=1)

    def _theta(self, t: TableBuilder) -> None:
        """Constrain ``theta`` to the input xor D, for D[x][z] = C[x - 1][z] ^ C[x + 1][z - 1] and the input's parities
        C.

        C[x][z] is the parity of that column's five bits of ``theta`` and of D[x][z], which was xored into all five. So
        the sum of D[x][z] and of both columns with their D is even: 13 bits, and a digit below 16.
        """
        for x in range(5):
            for bit in t.flip[x]:
                t.boolean(bit)
            for limb in (0, 1):
                places = range(32 * limb, 32 * limb + 32)
                signs = [1 - 2 * t.flip[x][z] for z in places]
                flipped = _number([t.flip[x][z] for z in places])
                for word in range(x, WORDS, 5):
                    for z in places:
                        t.boolean(t.theta[word][z])
                    kept = _number([t.theta[word][z] * sign for z, sign in zip(places, signs, strict=True)])
                    t.every_row(flipped + kept - t.input[word][limb])

        columns = [[[*(t.theta[word][z] for word in range(x, WORDS, 5)), t.flip[x][z]] for z in range(64)]
                   for x in range(5)]  # fmt: skip
        for z in range(0, 64, DIGITS):
            # Digits of the columns without the highest one, which for z - 1 is the lowest of the next group.
            low = [linear((16**i, bit) for i in range(DIGITS - 1) for bit in column[z + i]) for column in columns]
            high, before = ([sum(column[z + i]) for column in columns] for i in (DIGITS - 1, -1))
            for x in range(5):
                own = linear((16**i, t.flip[x][z + i]) for i in range(DIGITS))
                same = low[x - 1] + 16 ** (DIGITS - 1) * high[x - 1]
                shifted = 16 * low[x - 4] + before[x - 4]
                t.lookup(EVEN, [own + same + shifted])

    def _chi(self, t: TableBuilder) -> None:
        """Constrain ``output`` to chi of the rotated and permuted ``theta``, the first word xor the round constant."""
        for y in range(0, WORDS, 5):
            for x in range(5):
                words = [SOURCES[y + (x + i) % 5] for i in range(3)]
                bits = []
                for z in range(64):
                    bit, first, second = (t.theta[word][z - ROTATIONS[word]] for word in words)
                    flip = second - first * second
                    bits.append(bit + flip - 2 * (bit * flip))
                if x == y == 0:
                    for i, z in enumerate(IOTA_BITS):
                        t.every_row(bits[z] - t.chi[i])
                        constant = sum(t.round[r] for r in range(ROUNDS) if ROUND_CONSTANTS[r] >> z & 1)
                        difference = t.chi[i] - constant
                        bits[z] = difference * difference
                for limb in range(2):
                    t.every_row(_number(bits[32 * limb : 32 * limb + 32]) - t.output[x + y][limb])


_COLUMNS = Columns(KeccakF.columns)
WIDTH = _COLUMNS.width
FIRST_COLUMNS = {name: family.offset for name, family in _COLUMNS.families.items()}


class Even(Air):
    """Numbers of four even hexadecimal digits, with their numbers of lookups, in any rows.

    The traces made here have EVENS rows, all numbers in order: the bits of a row's index are the bits of its digits.
    """

    columns = (f"half[{DIGITS}][3]", "count")  # the bits of half a digit, lowest first

    def define(self, t: TableBuilder) -> None:
        for digit in t.half:
            for bit in digit:
                t.boolean(bit)
        number = linear((2 << 4 * i + j, bit) for i, digit in enumerate(t.half) for j, bit in enumerate(digit))
        t.provide(EVEN, [number], t.count)


def _flat(words: Sequence[Sequence[Expr]]) -> list[Expr]:
    return [limb for word in words for limb in word]


def _number(bits: Sequence[Expr]) -> Expr:
    """Return the number with these bits, lowest first."""
    return linear((1 << z, bit) for z, bit in enumerate(bits))


def trace(numbers: Sequence[int] | np.ndarray, states: np.ndarray, rows: int) -> np.ndarray:
    """Return the main trace of this height for calls with these numbers and states, uint64 (25 words, calls)."""
    calls, blocks = states.shape[1], -(-rows // ROUNDS)
    if ROUNDS * calls > rows:
        raise ValueError(f"{calls} permutations do not fit {rows} rows")
    main, columns = KeccakF().zeros(rows)
    padded = np.zeros((WORDS, blocks), dtype=np.uint64)
    padded[:, :calls] = states
    history = rounds(padded)

    def by_row(states: np.ndarray) -> np.ndarray:
        """Return (24, 25, blocks) as (25, rows)."""
        return np.ascontiguousarray(states.transpose(1, 2, 0).reshape(WORDS, -1)[:, :rows])

    before, after = by_row(history[:-1]), by_row(history[1:])
    row = np.arange(rows)
    count = ROUNDS * calls
    columns.call[:count] = np.repeat(np.asarray(numbers, dtype=np.uint64), ROUNDS)
    columns.active[:count] = 1
    columns.round[row % ROUNDS, row] = 1
    flipped = flips(before)
    chi = after[0] ^ np.array(ROUND_CONSTANTS, dtype=np.uint64)[row % ROUNDS]
    _write_bits(columns.flip, flipped)
    _write_bits(columns.theta, before ^ np.tile(flipped, (5, 1)))
    for i, z in enumerate(IOTA_BITS):
        columns.chi[i] = chi >> np.uint64(z) & np.uint64(1)
    columns.input[:] = stacked_limbs(before)
    columns.output[:] = stacked_limbs(after)
    return main


def even_trace(mains: Sequence[np.ndarray]) -> np.ndarray:
    """Return the main trace of the table of all even numbers, for these traces of the permutation."""
    counts = np.zeros(1 << 4 * DIGITS, dtype=np.int64)
    for main in mains:
        for start in range(0, main.shape[1], _PIECE):
            c = KeccakF().view(main[:, start : start + _PIECE])
            parity = c.theta.reshape(5, 5, 64, -1).sum(axis=0) + c.flip
            sums = c.flip + np.roll(parity, 1, axis=0) + np.roll(np.roll(parity, -1, axis=0), 1, axis=1)
            digits = sums.reshape(-1, DIGITS, sums.shape[-1]) << np.arange(0, 4 * DIGITS, 4, dtype=np.uint64)[:, None]
            counts += np.bincount(digits.sum(axis=1).astype(np.int64).ravel(), minlength=len(counts))
    even, columns = Even().zeros(EVENS)
    numbers, row = np.zeros(EVENS, dtype=np.int64), np.arange(EVENS)
    for digit in range(DIGITS):
        for bit in range(3):
            columns.half[digit, bit] = row >> 3 * digit + bit & 1
        numbers += (row >> 3 * digit & 7) << 4 * digit + 1
    columns.count[:] = counts[numbers]
    return even


def _write_bits(columns: np.ndarray, words: np.ndarray) -> None:
    """Write words (k, rows) to columns (k, 64, rows), a bit a column."""
    for word, bits in zip(words, columns, strict=True):
        for z, bit in enumerate(bits):
            np.right_shift(word, np.uint64(z), out=bit)
            np.bitwise_and(bit, np.uint64(1), out=bit)
