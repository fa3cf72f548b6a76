"""Keccak-f[1600] on sums of bits, a round a row, with one lookup for theta, chi and iota of four bits.

Columns of a row are the chunks (`keccak_digits`) of two things: T, the state after a round's theta, and C, the column
parities before it. Theta flips D[x] = C[x - 1] ^ C[x + 1], the latter rotated by 1; D itself is nowhere. With a, b and
c of T after rho and pi, the bits of the next T are bits 1 of the digits of

    2 (a + C[x - 1] + C[x + 1]) + b + 3 c,

with the next row's C: b + 3 c has bit 1 exactly if b is 0 and c is 1, which is chi. Digits are at most 10. The lookup
gives each chunk of the next T twice: plainly for theta, and turned as the next rho does.

C is right because each digit of the sum of T over a column and of the two C of its D has C as its bit 0: T has D five
times, so D cancels. No other C has this property, as theta is invertible on parities.
"""

from typing import Any

from graphprover.air import Air, Expr, TableBuilder
from graphprover.air.columns import Columns
from graphprover.air.linear import linear
from graphprover.vm.accelerators.keccak.digits import CLASSES, DIGITS, PLACES, Lookup, chunk
from graphprover.vm.accelerators.keccak.permutation import ROTATIONS, ROUND_CONSTANTS, ROUNDS, SOURCES, WORDS
from graphprover.vm.accelerators.keccak.planes import MESSAGES, PERMUTATION, PLANES, PlaneTag, joined, message
from graphprover.vm.tables.step import shared

ROWS = ROUNDS + 1  # of a permutation
STEPS = 5  # a row's place in a permutation is a number of two digits of base STEPS
IOTA_CLASSES = tuple(c for c in range(CLASSES) if any(chunk(constant, c) for constant in ROUND_CONSTANTS))
# By word and class, by how many places rho turns the chunk, and the number of its turned copy, if it turns.
TURNS = {(word, c): (c + ROTATIONS[word]) // CLASSES % PLACES for word in range(WORDS) for c in range(CLASSES)}
TURNED = {at: i for i, at in enumerate(at for at, by in TURNS.items() if by)}


class KeccakRounds(Air):
    """Blocks of 25 rows, a permutation each, in any places; other rows are idle.

    Rows 1 to 24 of a block are its rounds. Row 0 is a round before the first. Its chunks are free, and those of row 1,
    which follow from them, are any bits: the witness inverts rho, pi and chi.
    """

    name = "keccak_rounds"
    columns = (
        "call",
        f"step[{STEPS}]",  # 1 in the block's rows of this number mod 5
        f"turn[{STEPS}]",  # 1 in the block's rows of this number divided by 5
        f"iota[{len(IOTA_CLASSES)}]",  # C[4] xor the round constant before, in the classes of any constants' bits
        f"parity[5][{CLASSES}]",  # C
        "parity_turned[5]",  # the last class of C, turned as a rotation by 1 does
        f"theta[{WORDS}][{CLASSES}]",  # T
        f"turned[{len(TURNED)}]",  # chunks of T that rho turns, turned
    )

    def define(self, t: TableBuilder) -> None:
        n = t.next
        on = sum(t.step[1:], t.step[0])
        place = [t.turn[i // STEPS] * t.step[i % STEPS] for i in range(ROWS)]
        goes, works = on - place[-1], on - place[0]
        t.every_row(shared(on, MESSAGES), "a row is of one step or idle")
        self._order(t, on)
        t.every_row(goes * (n.call - t.call), "a block has one call")

        for i, c in enumerate(IOTA_CLASSES):
            constants = [(chunk(constant, c), place[2 + r]) for r, constant in enumerate(ROUND_CONSTANTS[:-1])]
            constant = linear(term for term in constants if term[0])
            number = 2 * (t.parity[4][c] + constant)
            t.lookup(DIGITS, [int(Lookup.SECOND), number, t.iota[i], t.iota[i]], works, weight=1)
        # Lookups of one form follow each other: kernels for GPUs are loops over columns of one form.
        for c in reversed(range(CLASSES)):
            for x in range(5):
                total = sum((t.theta[x + y][c] for y in range(5, WORDS, 5)), t.theta[x][c])
                number = total + t.parity[x - 1][c] + _shifted(t, x, c)
                last = c == CLASSES - 1
                tag, copy = (Lookup.FIRST_TURNED_1, t.parity_turned[x]) if last else (Lookup.FIRST, t.parity[x][c])
                t.lookup(DIGITS, [int(tag), number, t.parity[x][c], copy], works, weight=1)
        for w, c in sorted(TURNS, key=lambda at: not TURNS[at]):
            with_iota = w == 0 and c in IOTA_CLASSES
            parity = n.iota[IOTA_CLASSES.index(c)] if with_iota else n.parity[w % 5 - 1][c]
            number = chi(*(_moved(t, source, c) for source in chi_words(w))) + 2 * (parity + _shifted(n, w % 5, c))
            fields = [Lookup.SECOND + TURNS[w, c], number, n.theta[w][c], _turned(n, w, c)]
            t.lookup(DIGITS, fields, goes, weight=1)

        flips = [joined([t.parity[x - 1][c] + _shifted(t, x, c) for c in range(CLASSES)]) for x in range(5)]
        moved = [joined([_moved(t, w, c) for c in range(CLASSES)]) for w in range(WORDS)]
        iota = joined([2 * chunk(ROUND_CONSTANTS[-1], c) for c in range(CLASSES)])
        for plane in range(PLANES):
            before: list[Expr] = []
            after: list[Expr] = []
            for w in range(5 * plane, 5 * plane + 5):
                before += (2 * (a + b) for a, b in zip(joined(t.theta[w]), flips[w % 5], strict=True))
                of_chi = [chi(*numbers) for numbers in zip(*(moved[source] for source in chi_words(w)), strict=True)]
                after += of_chi if w else (a + b for a, b in zip(of_chi, iota, strict=True))
            t.receive(PERMUTATION, message(int(PlaneTag.BEFORE), t.call, plane, *before), place[1], weight=1)
            t.send(PERMUTATION, message(int(PlaneTag.AFTER), t.call, plane, *after), place[-1], weight=1)

    def _order(self, t: TableBuilder, on: Expr) -> None:
        """Constrain the order of rows: a block's follow each other, and after its last comes a first or an idle row.

        A step above 0 has the step before it in the row before. A turn above 0 has itself there or, after the last
        step, the turn before it. So going back from any row of a block leads to step 0 of turn 0; and as a row has one
        step and one turn or neither, going on from there leads through all steps of all turns. The row after the
        table's last is its first.
        """
        n = t.next
        t.boolean(t.step[0], "a step")
        t.boolean(t.turn[0], "a turn")
        t.every_row(sum(t.turn[1:], t.turn[0]) - on, "a row has a step and a turn, or neither")
        for i in range(1, STEPS):
            t.every_row(n.step[i] - t.step[i - 1], "the next step")
            stays = (on - t.step[-1]) * t.turn[i]
            t.every_row(n.turn[i] - stays - t.step[-1] * t.turn[i - 1], "the same turn, after the last step the next")


def _shifted(row: Any, x: int, c: int) -> Expr:
    """Return the chunk of C[x + 1], rotated by 1."""
    parity: Expr = row.parity[(x + 1) % 5][c - 1] if c else row.parity_turned[(x + 1) % 5]
    return parity


def _turned(row: Any, word: int, c: int) -> Expr:
    """Return a chunk of T as rho turns it."""
    copy: Expr = row.turned[TURNED[word, c]] if TURNS[word, c] else row.theta[word][c]
    return copy


def _moved(row: Any, word: int, c: int) -> Expr:
    """Return a chunk of T after rho and pi."""
    source = SOURCES[word]
    return _turned(row, source, (c - ROTATIONS[source]) % CLASSES)


def chi_words(word: int) -> list[int]:
    """Return the words that chi of a word reads."""
    return [word - word % 5 + (word + i) % 5 for i in range(3)]


def chi(a: Expr, b: Expr, c: Expr) -> Expr:
    """Return a sum of bits, or of numbers with bits as digits, whose bit 1 is chi of them."""
    return linear([(2, a), (1, b), (3, c)])


_COLUMNS = Columns(KeccakRounds.columns)
WIDTH = _COLUMNS.width
FIRST_COLUMNS = {name: family.offset for name, family in _COLUMNS.families.items()}
