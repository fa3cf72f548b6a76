"""The compression function of BLAKE3, sixteen rows a call, on bytes.

Specification: O'Connor, Aumasson, Neves, Wilcox-O'Hearn, "BLAKE3: one function, fast everywhere", 2021, section 2.2.

Row 0 of a call has the state before, rows 1 to 14 have four calls of G each, row 15 the digest. places.py says which
words a row has. The *halves* of G are its two additions to a and to c, each with two xors:

    half 0:  a = a + b + m[2 j]      d = (d ^ a) >>> 16    c = c + d    b = (b ^ c) >>> 12
    half 1:  a = a + b + m[2 j + 1]  d = (d ^ a) >>> 8     c = c + d    b = (b ^ c) >>> 7

For each half a row has the bytes of a, of c, and of both xors before their rotation. The xor of d turns by whole
bytes. The bytes of b's xor are cut in two, 4 and 4 bits in half 0, and 1 and 7 in half 1: a byte after the rotation is
one part each of two neighbours. So rotations are linear, and a G has 40 cells.

Why the rows of a call prove one compression:

- *Order.* `position` begins with 0. `final` can be 1 only at position 15, and makes the next position 0. If it were 0
  there, the position would grow beyond 15 for good, and the last row would not be final. So calls have sixteen rows
  each, the table ends with one, and `odd` is the parity of the position. A call also begins after the last row, in
  the first.
- *Bytes.* Each half of G looks up (d, a, d ^ a) and (b, c, b ^ c) byte by byte. So all cells of a and c are bytes, and
  all bytes of b and d that a later row reads, except for a and c of row 0: these are read as words only, and
  constraints give their values.
- *Sums.* If words are below 2^32, the only a' below 2^32 with a + b + m - a' = e 2^32 and e in 0..2 is the sum mod
  2^32, and the only c' with c + d - c' = e 2^32 and e in 0..1. The carry e needs no cell: it is the difference over
  2^32.
- *Message words* have no range here: w + 2^32 may pass for w. Messages have it as it is, so tables that state a block
  must show its words to be below 2^32. Digests that this table made are.
- *The digest* is a ^ c and b ^ d of the last state. Row 15 has the lookups of a G without its sums. With b in the place
  of `a[0]`, d's first xor is d ^ b. Its b after half 0 is a, by a choice of `c[0]`, and so b's second xor is a ^ c. The
  cells `a[1]` and `d[1]` mean nothing there.
- *The state before.* The chaining value is the IV, or the digest of the call before if that has `chain`. Then come the
  IV's first half, and the counter, the length and the flags.
- *Numbers.* `number` is the place of the call in the table. So no two calls of a statement have the same, as long as
  it has one table `blake3`, and a chained call has the next number.

Flags give the use of a call. A call without any is idle: it sends no message.

- `node`: the digest of 64 bytes that are a whole message, from the IV and with its parameters. One message has both
  children and the digest.
- `part`: a block of a message. Two messages have everything that it is compressed with: one with the first half of the
  block, and one with the other half and the same number. In the first one, `chained` is whether the call before has
  `chain`: users require 0 for the first block of a chunk, and 1 for the others.
- `chain`: a part whose digest is the next call's chaining value. A part without it sends its digest.

Rows that no call needs have idle calls: compressions of zeros, with the parameters 0.
"""

from collections.abc import Sequence
from enum import IntFlag
from typing import Any

from graphprover.air import Air, Expr, TableBuilder
from graphprover.air.columns import Columns
from graphprover.air.linear import linear
from graphprover.field import P
from graphprover.protocol.blake3 import BLOCK_BYTES, CHUNK_END, CHUNK_START, IV, ROOT
from graphprover.recursion.tables.buses import MACHINE, XOR, XOR_4, XOR_7, MessageTag, message
from graphprover.recursion.tables.places import BYTES, LANES, LAST, PLACES, ROWS, TO_COLUMNS, TO_DIAGONALS, reflected

HALVES = 2  # of G
NODE_PARAMETERS = (0, 0, BLOCK_BYTES, CHUNK_START | CHUNK_END | ROOT)  # counter (low, high), length, flags
_HALF = 8  # words of a half of a block
_CARRY = pow(1 << 32, -1, P)
_A, _B, _C, _D = range(4)  # words of a lane


class CallUse(IntFlag):
    """The use of a call: the flags of its rows."""

    NODE = 1
    PART = 2
    CHAIN = 4  # together with PART


class Blake3(Air):
    """Calls of the compression function, from the IV or from the digest of the call before."""

    columns = (
        "position",  # of the row in its call
        "final",  # 1 in the last row of a call
        "odd",  # 1 if the position is odd: the row has columns
        "number",  # of the call
        "node",
        "part",
        "chain",
        "m[16]",  # the block
        "a[2][4][4]",  # by half of G, lane and byte
        "d[2][4][4]",  # d ^ a before its rotation
        "c[2][4][4]",
        "high[2][4][4]",  # the upper 4 bits of bytes of b ^ c before its rotation; in half 1 the upper 1
        "low[2][4][4]",  # the lower 4, and in half 1 the lower 7
    )

    def define(self, t: TableBuilder) -> None:
        self._order(t)
        self._kept(t)
        now, following = _words(t), _words(t.next)
        # Of each lane of the next row, the words before its G: this row's after G, reflected.
        before = [[now[1][w][reflected(w, lane)] for w in range(4)] for lane in range(LANES)]
        self._rounds(t, before, following)
        self._digest(t, before, following)
        self._lookups(t, before, following)
        digest = [_word(_whole(t, lane)) for lane in range(LANES)] + [_word(lane) for lane in t.d[0]]
        self._start(t, digest, following)
        self._messages(t, digest, following)

    @staticmethod
    def _order(t: TableBuilder) -> None:
        n = t.next
        t.first_row(t.position, "the table begins with a call")
        t.transition(n.position - t.position - 1 + ROWS * t.final, "positions follow each other")
        t.boolean(t.final, "a row ends a call or not")
        t.every_row(t.final * (t.position - LAST), "a call ends at the last position")
        t.last_row(t.final - 1, "the table ends with a call")
        t.first_row(t.odd, "position 0 is even")
        t.transition(n.odd + t.odd - 1, "even and odd positions alternate")
        t.first_row(t.number, "numbers begin with 0")
        t.transition(n.number - t.number - t.final, "numbers of calls follow each other")

    @staticmethod
    def _kept(t: TableBuilder) -> None:
        """Constrain the flags of a call to stay, and its message words to move as places.py says."""
        n, inside = t.next, 1 - t.final
        for name in ("node", "part", "chain"):
            t.boolean(t[name], "a call has a use or not")
            t.every_row(inside * (n[name] - t[name]), "the rows of a call have one use")
        t.every_row(t.chain * (1 - t.part), "only parts of a message are chained")
        for k in range(len(t.m)):
            moved = t.odd * t.m[TO_DIAGONALS[k]] + (1 - t.odd) * t.m[TO_COLUMNS[k]]
            t.every_row(inside * (n.m[k] - moved), "message words move")

    @staticmethod
    def _rounds(t: TableBuilder, before: "_Lanes", after: "_Halves") -> None:
        """Constrain the sums of G; they are off from the last row with a G on."""
        n = t.next
        on = 1 - t.final - n.final
        for lane, (a, b, c, _) in enumerate(before):
            for half, words in enumerate(after):
                following = [words[w][lane] for w in range(4)]
                carry_a = (_word(a) + _word(b) + n.m[2 * lane + half] - _word(following[_A])) * _CARRY
                carry_c = (_word(c) + _word(following[_D]) - _word(following[_C])) * _CARRY
                t.every_row(on * (carry_a * (carry_a - 1) * (carry_a - 2)), "a + b + m")
                t.every_row(on * (carry_c * (carry_c - 1)), "c + d")
                a, b, c = following[_A], following[_B], following[_C]

    @staticmethod
    def _digest(t: TableBuilder, before: "_Lanes", after: "_Halves") -> None:
        """Constrain the operands of the last row: it xors b with d, and a with c."""
        last = t.next.final
        for lane, (a, b, c, _) in enumerate(before):
            for q in range(BYTES):
                t.every_row(last * (after[0][_A][lane][q] - b[q]), "b in the place of a")
                t.every_row(last * (after[0][_B][lane][q] - a[q]), "a in the place of b")
                t.every_row(last * (after[1][_C][lane][q] - c[q]), "c stays")

    @staticmethod
    def _lookups(t: TableBuilder, before: "_Lanes", after: "_Halves") -> None:
        n, inside = t.next, 1 - t.final
        for lane, (_, b, _, d) in enumerate(before):
            for half, bus in enumerate((XOR_4, XOR_7)):
                for q in range(BYTES):
                    t.lookup(XOR, [d[q], n.a[half][lane][q], n.d[half][lane][q]], inside, weight=1)
                    parts = n.high[half][lane][q], n.low[half][lane][q]
                    t.lookup(bus, [b[q], n.c[half][lane][q], *parts], inside, weight=1)
                b, d = after[half][_B][lane], after[half][_D][lane]

    @staticmethod
    def _start(t: TableBuilder, digest: Sequence[Expr], following: "_Halves") -> None:
        """Constrain the state before the next call."""
        state = _state(following)
        for k, initial in enumerate(IV):
            value = initial + t.chain * (digest[k] - initial)
            t.every_row(t.final * (state[k] - value), "the chaining value is the IV or the digest before")
        for k in range(LANES):
            t.every_row(t.final * (state[8 + k] - IV[k]), "the IV in the third row of the state")
            t.every_row(t.final * t.next.node * (state[12 + k] - NODE_PARAMETERS[k]), "the parameters of a node")
        t.every_row(t.final * t.chain * t.next.node, "a node is not chained")

    @staticmethod
    def _messages(t: TableBuilder, digest: Sequence[Expr], following: "_Halves") -> None:
        n, parameters = t.next, _state(following)[12:]
        block = [t.m[place] for place in PLACES[LAST]]
        t.send(MACHINE, message(MessageTag.NODE, *block, *digest), t.final * t.node, weight=1)
        next_block = [n.m[place] for place in PLACES[0]]
        part = message(MessageTag.PART, n.number, t.chain, *parameters, *next_block[:_HALF])
        t.send(MACHINE, part, t.final * n.part, weight=1)
        t.send(MACHINE, message(MessageTag.REST, t.number, *block[_HALF:]), t.final * t.part, weight=1)
        t.send(MACHINE, message(MessageTag.DIGEST, t.number, *digest), t.final * (t.part - t.chain), weight=1)


_Bytes = Sequence[Expr]  # of a word, the lowest first
_Lanes = Sequence[Sequence[_Bytes]]  # by lane and word a to d
_Halves = Sequence[Sequence[Sequence[_Bytes]]]  # by half of G, word a to d and lane


def _word(parts: _Bytes) -> Expr:
    """Return the number of bytes."""
    return linear([(256**q, byte) for q, byte in enumerate(parts)])


def _words(row: Any) -> _Halves:
    """Return the bytes of a row's words after each half of G, its rotations included."""
    return [
        (
            row.a[half],
            [_turned(half, *parts) for parts in zip(row.high[half], row.low[half], strict=True)],
            row.c[half],
            [[xor[(q + (2, 1)[half]) % BYTES] for q in range(BYTES)] for xor in row.d[half]],
        )
        for half in range(HALVES)
    ]


def _turned(half: int, high: _Bytes, low: _Bytes) -> _Bytes:
    """Return the bytes of b's xor, rotated by 12 or by 7 bits."""
    if half == 0:
        return [high[(q + 1) % BYTES] + 16 * low[(q + 2) % BYTES] for q in range(BYTES)]
    return [high[q] + 2 * low[(q + 1) % BYTES] for q in range(BYTES)]


def _whole(t: TableBuilder, lane: int) -> _Bytes:
    """Return the bytes of b's second xor, not rotated."""
    return [128 * high + low for high, low in zip(t.high[1][lane], t.low[1][lane], strict=True)]


def _state(halves: _Halves) -> list[Expr]:
    """Return the sixteen words of the state before a call, from its first row: reflected, as if it had diagonals."""
    return [_word(halves[1][w][reflected(w, k)]) for w in range(4) for k in range(LANES)]


_COLUMNS = Columns(Blake3.columns)
WIDTH = _COLUMNS.width
FIRST_COLUMNS = {name: family.offset for name, family in _COLUMNS.families.items()}
