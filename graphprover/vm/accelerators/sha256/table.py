"""The compression of SHA-256 (FIPS 180-4), two rounds a row, on bits.

A call takes 36 rows, whose places are 0 to 35: two with the state before, 32 of two rounds each, two with the state
after. The working variables b, c, d and f, g, h are earlier values of a and e. So the columns ``a`` and ``e`` hold the
sequences of these values, two of each a row, as bits: a row and the next one have the three that each of Maj and Ch
reads. ``w`` holds the message words of the rounds. Other sums are words of 32 bits or carries above them.

Why the rows of a call prove one compression and its accesses:

- *Order.* ``step`` and ``turn`` are the digits of a row's place, or all 0 in an idle row. A step above 0 has the step
  before it in the row before. A turn above 0 has itself there or, after the last step, the turn before it. A row stays
  in its turn for six rows at most, as its step rises. So going back from any row leads to place 0; and as a row that is
  on has one step and one turn, going on from there leads through all 36 places. After the last place comes a first one
  or an idle row, so the rows of two calls do not mix. This holds around the table's end too.
- *Words.* a, e and w are bits. Each equation of a round, of a message word or of the end sums at most seven words of 32
  bits, and a word plus 2^32 times a carry. Carries are below 2^8, so both sides are below 2^41 and equal over the
  integers: a word has one value, whatever the carry's exact range.
- *Earlier values.* ``before_a``, ``before_e``, ``t1``, ``t2`` and ``h`` follow from the rows of the same call at all
  places from 1 on, and are read there only (``t1`` of place 0 is the instruction's address). ``y`` is free at place 0.
  A sum passes seven rows, and message words are made of sums from place 10 on: these began at place 3 or later.
- *Accesses.* Each access is a message at one place, so a call has it once. The first time column is of the block's
  words at places 2 to 9, of registers at places 12, 13 and 18, and of a's half of the state at 34 and 35, the second
  one of e's half. The words that the state had before are h, which is the state at places 0 and 1: the state that is
  read is the one that is compressed. Both times are recent in all rows: a cell, here ``on``, must be the multiplicity.
- *Ranges.* Words of the state after, like all numbers that are written, are sums of bits. The words read are sums of
  bits as well, and equal the memory's by their messages.

The block is read before the state changes, so both may overlap.
"""

from collections.abc import Sequence
from typing import Any

from graphprover.air import Expr, TableBuilder
from graphprover.air.linear import linear
from graphprover.vm.accelerators.host_call import Accelerator, Cuda, HostCall, Operand
from graphprover.vm.accelerators.table import CallBuilder, CallTable
from graphprover.vm.program.isa import A0, A1, A7
from graphprover.vm.tables.buses import REGISTER_BASE
from graphprover.vm.tables.clock import SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY
from graphprover.vm.tables.limbs import LIMB

SHA256 = 1035  # the state at a0 takes in the block at a1
BLOCK_WORDS, STATE_WORDS = 8, 4
HOST_CALL = HostCall(SHA256, "sha256", (Operand(1, BLOCK_WORDS, SLOT_MEMORY), Operand(0, STATE_WORDS, SLOT_D)))
ROUNDS = 64
# The first 32 bits of the fractions of the cube roots of the first 64 primes.
ROUND_CONSTANTS = (
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2,
)  # fmt: skip

ROWS = 36  # of a call
STEPS = 6  # a row's place in a call is a number of two digits of base STEPS
PER_ROW = 2  # rounds, and words of each sequence
FIRST_ROUND, END = 2, 34  # places of the first two rounds, and behind the last two
BLOCK_END = FIRST_ROUND + 8  # the place behind the rows that read the block
READ_A1, READ_A7, READ_A0 = 12, 13, 18  # places
SLOT_OF = (SLOT_MEMORY, SLOT_MEMORY, SLOT_A, SLOT_B, SLOT_A, SLOT_D)  # of the accesses in a turn, of which 4 has none
WORD = 32  # bits
DELAY = 7  # rows that a sum of two message words passes before the third and the fourth complete it
JOINED = 4  # the row of them in which the third is added

BIG_A, BIG_E = (2, 13, 22), (6, 11, 25)  # rotations of a and e in a round
SMALL_15, SMALL_2 = (7, 18, 3), (17, 19, 10)  # rotations, and a shift, of the words 15 and 2 before


class Sha256(CallTable):
    """Calls of the compression of SHA-256, 36 rows each."""

    name, host_calls = "sha256", (HOST_CALL,)
    cells = (
        "on",
        f"step[{STEPS - 1}]",  # 1 if the place is this number mod 6; the last one is what is missing
        f"turn[{STEPS - 1}]",  # 1 if the place divided by 6 is this number; the last one is what is missing
        "clk",
        f"a[{PER_ROW}][{WORD}]",
        f"e[{PER_ROW}][{WORD}]",
        f"w[{PER_ROW}][{WORD}]",
        f"before_a[{PER_ROW}]",  # the words of a in the row before
        f"before_e[{PER_ROW}]",
        "t1",  # of the next row's first round: the functions of e; at place 0 the instruction's address
        "t2",  # of a
        f"y[{DELAY}][{PER_ROW}]",  # sums for message words, for one row each
        "h[8]",  # the state before, from place 1 on; at the last place its halves are swapped by pairs
        f"carry_a[{PER_ROW}]",
        f"carry_e[{PER_ROW}]",
        f"carry_w[{PER_ROW}]",
        "pointer",  # a1 up to place 12, then a7, then a0
        "time",  # before the row's access; without one any recent time
        "time_e",  # before the access of e's half of the state; elsewhere any recent time
    )

    def calls(self, t: CallBuilder) -> None:
        row = _Row(t.t)
        self._order(t.t, row)
        self._kept(t.t, row)
        self._rounds(t.t, row)
        self._schedule(t.t, row)
        self._messages(t, row)

    @staticmethod
    def _order(t: TableBuilder, row: "_Row") -> None:
        following = _Row(t.next)
        t.boolean(row.step[0], "a step or not")
        t.boolean(row.turn[0], "a turn or not")
        for i in range(1, STEPS):
            t.every_row(following.step[i] - row.step[i - 1], "steps follow each other")
            stays = (t.on - row.step[-1]) * row.turn[i]
            t.every_row(following.turn[i] - stays - row.step[-1] * row.turn[i - 1], "turns follow each other")

    @staticmethod
    def _kept(t: TableBuilder, row: "_Row") -> None:
        """Constrain the words that rows pass on to the next one."""
        n, following = t.next, _Row(t.next)
        t.every_row(row.goes * (n.clk - t.clk), "the rows of a call are of one cycle")
        kept = row.goes - row.at(READ_A1) - row.at(READ_A7)
        t.every_row(kept * (n.pointer - t.pointer), "an address stays")
        t.every_row(row.at(READ_A7) * (t.pointer - SHA256), "the number of the call")
        for j in range(PER_ROW):
            t.every_row(row.goes * (n.before_a[j] - _word(t.a[j])), "the next row has this row's a")
            t.every_row(row.goes * (n.before_e[j] - _word(t.e[j])), "the next row has this row's e")
        last = row.at(END)  # the next row is the last
        for i in range(8):
            bits = (n, t)[i % 4 // 2]["a" if i < 4 else "e"][1 - i % 2]
            t.every_row(following.at(1) * (n.h[i] - _word(bits)), "the state before")
            t.every_row((row.goes - row.at(0) - last) * (n.h[i] - t.h[i]), "the state before stays")
            t.every_row(last * (n.h[i] - t.h[i ^ 2]), "the state before stays, swapped")

    @staticmethod
    def _rounds(t: TableBuilder, row: "_Row") -> None:
        n, following = t.next, _Row(t.next)
        for family in (t.a, t.e, t.w):
            for bits in family:
                for bit in bits:
                    t.boolean(bit, "a bit")
        t.every_row(row.goes * (n.t1 - _t1(n.e[1], n.e[0], t.e[1])), "T1 of even rounds")
        t.every_row(row.goes * (n.t2 - _t2(n.a[1], n.a[0], t.a[1])), "T2 of even rounds")
        t1, t2 = (t.t1, _t1(n.e[0], t.e[1], t.e[0])), (t.t2, _t2(n.a[0], t.a[1], t.a[0]))
        end = following.at(END) + following.at(END + 1)
        for j in range(PER_ROW):
            a = _word(n.a[j]) + LIMB * n.carry_a[j]
            e = _word(n.e[j]) + LIMB * n.carry_e[j]
            d, h = t.before_a[j], t.before_e[j]
            e_round = following.rounds * (e - t1[j] - d - h - _word(n.w[j])) - following.constant(j)
            t.every_row(e_round, "e after a round")
            t.every_row(following.rounds * (a - (e - d) - t2[j]), "a after a round")
            t.every_row(end * (a - d - n.h[3 - j]), "a's half of the state after")
            t.every_row(end * (e - h - n.h[7 - j]), "e's half of the state after")

    @staticmethod
    def _schedule(t: TableBuilder, row: "_Row") -> None:
        n, following = t.next, _Row(t.next)
        second = t.w[1], n.w[0]  # behind w[0] and w[1] of this row
        for j in range(PER_ROW):
            total = _word(t.w[j]) + _rotated(second[j], SMALL_15, shift=True)
            t.every_row(row.goes * (n.y[0][j] - total), "message words 16 and 15 before")
            for m in range(1, DELAY):
                more = _word(second[j]) if m == JOINED else 0
                t.every_row(row.goes * (n.y[m][j] - t.y[m - 1][j] - more), "a sum passes on")
            carry = t.carry_w[j]
            t.every_row(carry * (carry - 1) * (carry - 2) * (carry - 3), "a carry is below 4")
            word = _word(n.w[j]) + LIMB * n.carry_w[j]
            made = _rotated(t.w[j], SMALL_2, shift=True) + t.y[-1][j]
            t.every_row(following.scheduled * (word - made), "a message word of the earlier ones")

    @staticmethod
    def _messages(row: CallBuilder, at: "_Row") -> None:
        t, step, turn = row.t, at.step, at.turn
        row.bytes([*t.carry_a, *t.carry_e])
        block = at.among(FIRST_ROUND, BLOCK_END)
        place = linear([(i, flag) for i, flag in enumerate(step)]) + STEPS * turn[1]  # of turns 0 and 1
        words = [_swapped(bits) for bits in t.w]
        slot = linear(zip(SLOT_OF, turn, strict=True))
        row.exchange(t.pointer + 8 * (place - FIRST_ROUND), t.time, SLOT_MEMORY, words, words, block)
        # At the places of registers, turn 2 has a1 and, with step 1, a7, and turn 3 has a0.
        number = A0 + (A1 - A0) * turn[2] + (A7 - A1) * step[1]
        registers = at.at(READ_A1) + at.at(READ_A7) + at.at(READ_A0)
        value = [t.pointer, 0]
        row.exchange(REGISTER_BASE + number, t.time, slot, value, value, registers)
        # a's half of the state is its words 0 and 1, e's half the words 2 and 3; the earlier row has the later word.
        last = at.at(END) + at.at(END + 1)
        for k, (before, bits) in enumerate(((t.time, t.a), (t.time_e, t.e))):
            old, new = t.h[4 * k + 2 : 4 * k + 4], [_word(bits[1]), _word(bits[0])]
            row.exchange(t.pointer + 8 * (2 * k + step[END % STEPS]), before, SLOT_D, old, new, last)
        row.recent(t.time, slot, t.on)
        row.recent(t.time_e, SLOT_D, t.on)
        row.instruction(t.t1, at.at(0))


class _Row:
    """A row's place in its call."""

    def __init__(self, row: Any) -> None:
        self.on: Expr = row.on
        self.step, self.turn = ([*flags, row.on - sum(flags[1:], flags[0])] for flags in (row.step, row.turn))
        self.goes = row.on - self.at(ROWS - 1)  # the next row is of the same call
        self.rounds = row.on - self.at(0) - self.at(1) - self.at(END) - self.at(END + 1)
        self.scheduled = self.among(BLOCK_END, END)  # message words follow from earlier ones

    def at(self, place: int) -> Expr:
        """Return 1 at a place, else 0."""
        return self.turn[place // STEPS] * self.step[place % STEPS]

    def among(self, first: int, end: int) -> Expr:
        """Return 1 at the places first..end, else 0."""
        found: Any = 0
        for turn in range(STEPS):
            steps = [i for i in range(STEPS) if first <= STEPS * turn + i < end]
            if len(steps) == STEPS:
                found = found + self.turn[turn]
            elif steps:
                found = found + self.turn[turn] * sum((self.step[i] for i in steps[1:]), self.step[steps[0]])
        return found

    def constant(self, j: int) -> Expr:
        """Return the constant of the row's first or second round, else 0."""
        found: Any = 0
        for turn in range(STEPS):
            places = [STEPS * turn + i for i in range(STEPS) if FIRST_ROUND <= STEPS * turn + i < END]
            terms = [(ROUND_CONSTANTS[PER_ROW * (p - FIRST_ROUND) + j], self.step[p % STEPS]) for p in places]
            found = found + self.turn[turn] * linear(terms)
        return found


def _word(bits: Sequence[Expr]) -> Expr:
    """Return the number of bits, the lowest first."""
    return linear([(1 << z, bit) for z, bit in enumerate(bits)])


def _swapped(bits: Sequence[Expr]) -> Expr:
    """Return the number of bits with its bytes in the opposite order, as memory has them."""
    return _word([bits[WORD - 8 - z // 8 * 8 + z % 8] for z in range(WORD)])


def _xor(x: Any, y: Any) -> Any:
    return x + y - 2 * (x * y)


def _rotated(bits: Sequence[Expr], by: tuple[int, int, int], *, shift: bool = False) -> Expr:
    """Return the number of the xor of three rotations of bits, of which the last may be a shift."""
    found = []
    for z in range(WORD):
        first, second = (bits[(z + count) % WORD] for count in by[:2])
        both = _xor(first, second)
        gone = shift and z + by[2] >= WORD
        found.append(both if gone else _xor(both, bits[(z + by[2]) % WORD]))
    return _word(found)


def _t1(x: Sequence[Expr], y: Sequence[Expr], z: Sequence[Expr]) -> Expr:
    """Return the functions of three words of e, the last one first: its rotations, and y where it is 1, else z."""
    choice = _word([a * (b - c) + c for a, b, c in zip(x, y, z, strict=True)])
    return _rotated(x, BIG_E) + choice


def _t2(x: Sequence[Expr], y: Sequence[Expr], z: Sequence[Expr]) -> Expr:
    """Return the functions of three words of a, the last one first: its rotations, and the bits that two have."""
    majority = _word([a * b + c * _xor(a, b) for a, b, c in zip(x, y, z, strict=True)])
    return _rotated(x, BIG_A) + majority


COMPRESS = Accelerator(
    (HOST_CALL,),
    Sha256,
    "sha256.cpu",
    rows=ROWS,
    cuda=Cuda(
        "sha256/sha256.cu",
        {
            "BLOCK_WORDS": BLOCK_WORDS,
            "SHA256_ROUNDS": ROUNDS,
            "SHA256_STEPS": STEPS,
            "SHA256_FIRST_ROUND": FIRST_ROUND,
            "SHA256_BLOCK_END": BLOCK_END,
            "SHA256_DELAY": DELAY,
            "SHA256_JOINED": JOINED,
            "SHA256_READ_A0": READ_A0,
            "SHA256_READ_A1": READ_A1,
            "SHA256_READ_A7": READ_A7,
            "LIST_SHA256_CONSTANTS": ROUND_CONSTANTS,
            "LIST_SHA256_SLOT_OF": SLOT_OF,
        },
        thread_by_row=True,
    ),
)
