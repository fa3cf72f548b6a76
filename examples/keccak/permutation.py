"""Keccak-f[1600], a round a row, on bits.

Column layout: only what cannot be an expression of degree 3 in other columns. Of each round these are the parities of
the columns of the state before and after theta, the 1600 bits after theta, and the lanes that enter and leave it, in
limbs of 32 bits. The bits before theta, rho, pi and chi are expressions. The layout of p3-keccak-air, which works in
smaller fields, has 2633 columns, this one 2373.
"""

from collections.abc import Sequence

import numpy as np

from graphprover.air import Air, Bus, Expr, TableBuilder
from graphprover.air.packing import linear

PERMUTATION = Bus("keccak-f")  # (0, call, 50 limbs) asks for a permutation, (1, call, 50 limbs) answers

ROUNDS = 24
LANES = 25  # lane x + 5 y of the standard's A[x, y]
ROUND_CONSTANTS = (
    0x0000000000000001, 0x0000000000008082, 0x800000000000808A, 0x8000000080008000, 0x000000000000808B,
    0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008A, 0x0000000000000088,
    0x0000000080008009, 0x000000008000000A, 0x000000008000808B, 0x800000000000008B, 0x8000000000008089,
    0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800A, 0x800000008000000A,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
)  # fmt: skip
ROTATIONS = (0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14)
IOTA_BITS = (0, 1, 3, 7, 15, 31, 63)  # the only ones set in any round constant
# Lane x + 5 y after rho and pi comes from this lane, rotated by that lane's rotation.
SOURCES = tuple((x + 3 * y) % 5 + 5 * x for y in range(5) for x in range(5))

_MASK = 2**64 - 1


def rounds(state: Sequence[int]) -> list[list[int]]:
    """The state before each of the rounds, and after the last: 25 lanes each, as integers."""
    a = list(state)
    states = [a]
    for constant in ROUND_CONSTANTS:
        c = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
        d = [c[x - 1] ^ (c[x - 4] << 1 & _MASK | c[x - 4] >> 63) for x in range(5)]
        b = []
        for lane in SOURCES:
            word, rotation = a[lane] ^ d[lane % 5], ROTATIONS[lane]
            b.append(word << rotation & _MASK | word >> (64 - rotation))
        a = [b[y + x] ^ (b[y + (x + 1) % 5] ^ _MASK) & b[y + (x + 2) % 5] for y in range(0, 25, 5) for x in range(5)]
        a[0] ^= constant
        states.append(a)
    return states


def limbs(lanes: np.ndarray) -> np.ndarray:
    """uint64 lanes of shape (..., rows) as 32-bit limbs of shape (..., 2, rows)."""
    return np.stack([lanes & np.uint64(0xFFFFFFFF), lanes >> np.uint64(32)], axis=-2)


class KeccakF(Air):
    """Blocks of 24 rows, one a permutation; an ``active`` one answers a call. The last block may be cut short."""

    name = "keccak_f"
    columns = (
        "call",  # number of the call
        "active",
        "round[24]",  # 1 in the row of that round
        "input[25][2]",  # the state before the round: limbs of 32 bits, as everywhere
        "parity[5][64]",  # of each column of the state before theta
        "theta_parity[5][64]",  # and after
        "theta[25][64]",  # bits of the state after theta
        "chi[7]",  # bits of the first lane after chi where a round constant may have one
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
        for lane in range(LANES):
            for limb in range(2):
                t.transition(ongoing * (t.next.input[lane][limb] - t.output[lane][limb]))

        self._theta(t)
        self._chi(t)
        t.receive(PERMUTATION, [0, t.call, *_flat(t.input)], t.round[0] * t.active, weight=1)
        t.send(PERMUTATION, [1, t.call, *_flat(t.output)], t.round[-1] * t.active, weight=1)

    def _theta(self, t: TableBuilder) -> None:
        """``theta`` is the input xor D, where D[x] = parity[x - 1] ^ rot(parity[x + 1], 1).

        That ``parity`` is the parity of the input follows from ``theta_parity``, which is parity xor D and the parity
        of ``theta``: xoring D into each of five bits changes their parity by D.
        """
        for x in range(5):
            for limb in range(2):
                flips, signs = [], []
                for z in range(32 * limb, 32 * limb + 32):
                    bit, parity = t.parity[x][z], t.theta_parity[x][z]
                    t.boolean(bit)
                    difference = t.parity[x - 1][z] - t.parity[x - 4][z - 1]
                    flip = difference * difference
                    sign = 1 - 2 * flip
                    t.every_row(flip + bit * sign - parity)
                    odd = sum(t.theta[lane][z] for lane in range(x, LANES, 5)) - parity
                    t.every_row(odd * (odd - 2) * (odd - 4))
                    flips.append(flip)
                    signs.append(sign)
                flipped = _word(flips)
                for lane in range(x, LANES, 5):
                    bits = t.theta[lane][32 * limb : 32 * limb + 32]
                    for bit in bits:
                        t.boolean(bit)
                    kept = _word([bit * sign for bit, sign in zip(bits, signs, strict=True)])
                    t.every_row(flipped + kept - t.input[lane][limb])

    def _chi(self, t: TableBuilder) -> None:
        """``output`` is chi of the rotated and permuted ``theta``, the first lane xor the round constant."""
        for y in range(0, LANES, 5):
            for x in range(5):
                lanes = [SOURCES[y + (x + i) % 5] for i in range(3)]
                bits = []
                for z in range(64):
                    bit, first, second = (t.theta[lane][z - ROTATIONS[lane]] for lane in lanes)
                    flip = second - first * second
                    bits.append(bit + flip - 2 * (bit * flip))
                if x == y == 0:
                    for i, z in enumerate(IOTA_BITS):
                        t.every_row(bits[z] - t.chi[i])
                        constant = sum(t.round[r] for r in range(ROUNDS) if ROUND_CONSTANTS[r] >> z & 1)
                        difference = t.chi[i] - constant
                        bits[z] = difference * difference
                for limb in range(2):
                    t.every_row(_word(bits[32 * limb : 32 * limb + 32]) - t.output[x + y][limb])


def _flat(lanes: Sequence[Sequence[Expr]]) -> list[Expr]:
    return [limb for lane in lanes for limb in lane]


def _word(bits: Sequence[Expr]) -> Expr:
    """The number with these bits, lowest first."""
    return linear((1 << z, bit) for z, bit in enumerate(bits))


def trace(calls: Sequence[Sequence[Sequence[int]]]) -> np.ndarray:
    """The main trace for calls 0, 1, ... of the permutation, each given by its ``rounds``."""
    count = ROUNDS * len(calls)
    rows = 1 << (count - 1).bit_length()
    main, columns = KeccakF().zeros(rows)
    blocks = -(-rows // ROUNDS)
    history = [*calls, *[rounds([0] * LANES)] * (blocks - len(calls))]
    lanes = np.array(history, dtype=np.uint64)  # (blocks, 25 states, 25 lanes)

    def by_row(states: np.ndarray) -> np.ndarray:
        """(blocks, 24, 25) as (25, rows)."""
        return np.ascontiguousarray(states.reshape(-1, LANES)[:rows].T)

    before, after = by_row(lanes[:, :-1]), by_row(lanes[:, 1:])
    row = np.arange(rows)
    columns.call[:] = row // ROUNDS
    columns.active[:count] = 1
    columns.round[row % ROUNDS, row] = 1
    columns.input[:] = limbs(before)
    columns.output[:] = limbs(after)
    parity = np.bitwise_xor.reduce(before.reshape(5, 5, rows), axis=0)
    flip = np.roll(parity, 1, axis=0) ^ _rotated(np.roll(parity, -1, axis=0), 1)
    theta = before ^ np.tile(flip, (5, 1))
    chi = after[0] ^ np.array(ROUND_CONSTANTS, dtype=np.uint64)[row % ROUNDS]
    _write_bits(columns.parity, parity)
    _write_bits(columns.theta_parity, parity ^ flip)
    _write_bits(columns.theta, theta)
    for i, z in enumerate(IOTA_BITS):
        columns.chi[i] = chi >> np.uint64(z) & np.uint64(1)
    return main


def _rotated(lanes: np.ndarray, bits: int) -> np.ndarray:
    return lanes << np.uint64(bits) | lanes >> np.uint64(64 - bits)


def _write_bits(columns: np.ndarray, lanes: np.ndarray) -> None:
    """Writes lanes (k, rows) to columns (k, 64, rows), a bit a column."""
    for lane, bits in zip(lanes, columns, strict=True):
        for z, bit in enumerate(bits):
            np.right_shift(lane, np.uint64(z), out=bit)
            np.bitwise_and(bit, np.uint64(1), out=bit)
