"""Keccak-f[1600] in narrow rows: one class of a state a row, with the lookups of `keccak_rounds`.

Few permutations take these tables: a row here has an eighth of the cells of a round there, and there are 16 rows for
each round. A block of 400 rows is a permutation. Its 25 steps have 16 classes each. Step k is T, the state before
round k after its theta; step 24 has theta of the result. A row has chunks (`keccak_digits`) of its class: of T, as
``theta``; of the column parities C; and of T of the step before after rho and pi, as ``moved``. With a, b and c of
``moved``, the bits of T are bits 1 of the digits of

    2 (a + C[x - 1] + C[x + 1]) + b + 3 c,

C[x + 1] rotated by 1. For word 0, ``iota`` stands for C[4], with the constant of the round before. C is right because
bits 0 of the sum of T over a column and of the two C of its D are C.

Rho takes a chunk to another class. So each chunk of T, turned as rho does, leaves its row in a message and arrives in
a row of the next step. The sixteen rotations modulo 16 make sixteen messages a row.

Why the rows of a call prove one permutation:

- *Order.* Let a class flag be the difference of two neighbours in ``on``, ``reached[0]`` to ``reached[14]``. The flags
  of a row are those of the row before, one place on, except for the first. That one is a bit, so all are bits; their
  sum ``on`` is a bit, so a row has one class or none, and class 0 is followed by all others. Steps and turns are bits
  and at most one each. They stay in a row of another class than the last, and go on after it. So going on and back
  from any row of a block leads through all 400, and after the last comes a first row or an idle one.
- *Bits.* ``theta``, ``turned``, ``parity``, ``parity_turned`` and ``iota`` are results of lookups, so their digits are
  bits. ``shifted`` equals ``parity_turned`` of the row before, in class 0 of class 15 of the same step by a message.
  ``moved`` has, by messages, ``turned`` of the step before. In step 0 it is free: T is some bits whatever it is, and
  all bits can occur, as chi has an inverse. All sums that are looked up have digits of at most 10.
- *Messages.* Each has its call, its place in the block and its kind. A block sends and receives each message within
  the permutation once; and a call has one block, as each plane of it is asked for once.
"""

from collections.abc import Sequence
from typing import Any

from graphprover.air import Air, Bus, Expr, TableBuilder
from graphprover.air.columns import Columns
from graphprover.air.linear import linear
from graphprover.vm.accelerators.keccak.digits import CLASSES, DIGITS, PLACES, Lookup, chunk
from graphprover.vm.accelerators.keccak.permutation import ROTATIONS, ROUND_CONSTANTS, ROUNDS, SOURCES, WORDS
from graphprover.vm.accelerators.keccak.planes import PLANES
from graphprover.vm.accelerators.keccak.rounds import IOTA_CLASSES, chi, chi_words
from graphprover.vm.tables.step import shared

CHUNKS = Bus("keccak-chunks")  # a kind, a call, a place in its block, up to five chunks or sums of them

STEPS = ROUNDS + 1
ROWS = STEPS * CLASSES  # of a permutation
BASE = 5  # a step is a number of two digits of this base
MESSAGES = 4  # that share a fraction column, by constraints of degree 5
# The words that rho moves by as many classes, by this number.
MOVED_BY = tuple(tuple(word for word in range(WORDS) if ROTATIONS[word] % CLASSES == by) for by in range(CLASSES))
SHIFTED = CLASSES  # the kind of messages with `shifted`; kinds below it are the numbers of MOVED_BY
SUMS = SHIFTED + 1  # the first of five kinds of messages, by plane: sums with the bits before or after as bits 1
LAST = ROWS - CLASSES  # the place of class 0 in the last step
_WIDTH = 5  # chunks of a message


def message(kind: Any, call: Any, place: Any, chunks: Sequence[Any]) -> list[Any]:
    """Return the elements of a message."""
    return [kind, call, place, *chunks, *[0] * (_WIDTH - len(chunks))]


class KeccakClasses(Air):
    """Blocks of 400 rows, a permutation each, in any places; other rows are idle."""

    name = "keccak_classes"
    columns = (
        "on",
        f"step[{BASE - 1}]",  # 1 if the step is this number mod 5, from 1 on
        f"turn[{BASE - 1}]",  # 1 if the step divided by 5 is this number, from 1 on
        f"reached[{CLASSES - 1}]",  # 1 if the class is this number or above, from 1 on
        "call",
        "constant",  # the class of the constant of the round before
        "iota",  # C[4] xor the constant
        "parity[5]",  # C
        "parity_turned[5]",  # C, in class 15 turned as a rotation by 1 does
        "shifted[5]",  # C, rotated by 1
        f"theta[{WORDS}]",  # T
        f"turned[{WORDS - 1}]",  # T as rho turns it, from word 1 on
        f"moved[{WORDS}]",  # T of the step before, after rho and pi
    )

    def define(self, t: TableBuilder) -> None:
        row = _Row(t)
        self._order(t, row)
        self._parities(t, row)
        self._lookups(t, row)
        self._moves(t, row)
        ends = row.first + row.last
        for plane in range(PLANES):
            sums = [2 * (t.theta[w] + _flip(t, w % 5)) for w in range(5 * plane, 5 * plane + 5)]
            t.send(CHUNKS, message(SUMS + plane, t.call, row.place, sums), ends, weight=1)

    @staticmethod
    def _order(t: TableBuilder, row: "_Row") -> None:
        n = t.next
        t.every_row(shared(t.on, MESSAGES), "a row is of one class or idle")
        t.boolean(row.classes[0], "class 0 or not")
        reached = [t.on, *t.reached]
        for i in range(CLASSES - 1):
            t.every_row(n.reached[i] - reached[i] + reached[-1], "the next class, after the last none")
        for flags, name in ((row.steps, "step"), (row.turns, "turn")):
            for flag in flags:
                t.boolean(flag, f"a {name} or not")
        for i in range(1, BASE):
            step, turn = row.steps[i - 1] - row.steps[i], row.turns[i - 1] - row.turns[i]
            t.every_row(n.step[i - 1] - row.steps[i] - row.classes[-1] * step, "the next step, after the last class")
            goes = row.classes[-1] * row.steps[-1]
            t.every_row(n.turn[i - 1] - row.turns[i] - goes * turn, "the next turn, after the last step")
        stays = t.on - row.classes[-1] * row.last
        t.every_row(stays * (n.call - t.call), "a block has one call")

    @staticmethod
    def _parities(t: TableBuilder, row: "_Row") -> None:
        for x in range(5):
            kept = (t.on - row.classes[-1]) * (t.next.shifted[x] - t.parity_turned[x])
            t.every_row(kept, "the class before, rotated by 1")
        place = CLASSES * row.step
        t.send(CHUNKS, message(SHIFTED, t.call, place, t.parity_turned), row.classes[-1], weight=1)
        t.receive(CHUNKS, message(SHIFTED, t.call, place, t.shifted), row.classes[0], weight=1)

    @staticmethod
    def _lookups(t: TableBuilder, row: "_Row") -> None:
        constants = [
            (chunk(constant, c), row.at(1 + r) * row.classes[c])
            for r, constant in enumerate(ROUND_CONSTANTS)
            for c in IOTA_CLASSES
        ]
        t.every_row(t.constant - linear(term for term in constants if term[0]), "the constant of the round before")
        t.lookup(DIGITS, [int(Lookup.SECOND), 2 * (t.parity[4] + t.constant), t.iota, t.iota], t.on, weight=1)
        for x in range(5):
            total = sum(t.theta[x::5], _flip(t, x))
            tag = Lookup.FIRST + row.classes[-1]
            t.lookup(DIGITS, [tag, total, t.parity[x], t.parity_turned[x]], t.on, weight=1)
        for w in range(WORDS):
            flip = _flip(t, w % 5) if w else t.iota + t.shifted[1]
            number = chi(*(t.moved[word] for word in chi_words(w))) + 2 * flip
            quarters, by = divmod(ROTATIONS[w], CLASSES)
            late = row.late(by)
            turns = quarters + late if quarters < PLACES - 1 else quarters * (1 - late)
            t.lookup(DIGITS, [Lookup.SECOND + turns, number, t.theta[w], _turned(t, w)], t.on, weight=1)

    @staticmethod
    def _moves(t: TableBuilder, row: "_Row") -> None:
        for by, words in enumerate(MOVED_BY):
            to = row.place + CLASSES + by - CLASSES * row.late(by)
            t.send(CHUNKS, message(by, t.call, to, [_turned(t, w) for w in words]), t.on - row.last, weight=1)
            moved = [t.moved[SOURCES.index(w)] for w in words]
            t.receive(CHUNKS, message(by, t.call, row.place, moved), t.on - row.first, weight=1)


class _Row:
    """The place of a row in its block, by flags."""

    def __init__(self, t: TableBuilder) -> None:
        self.steps = [t.on - sum(t.step[1:], t.step[0]), *t.step]
        self.turns = [t.on - sum(t.turn[1:], t.turn[0]), *t.turn]
        self._reached = [t.on, *t.reached]
        self.classes = [*(one - two for one, two in zip(self._reached, t.reached, strict=False)), t.reached[-1]]
        digits = [*enumerate(self.steps), *((BASE * i, turn) for i, turn in enumerate(self.turns))]
        self.step = linear(term for term in digits if term[0])
        self.place = CLASSES * self.step + sum(t.reached[1:], t.reached[0])
        self.first, self.last = self.at(0), self.at(STEPS - 1)

    def at(self, step: int) -> Expr:
        """Return whether the row is of a step."""
        flag: Expr = self.turns[step // BASE] * self.steps[step % BASE]
        return flag

    def late(self, by: int) -> Any:
        """Return whether ``by`` classes on is class 16 or above."""
        return self._reached[CLASSES - by] if by else 0


def _flip(row: Any, x: int) -> Expr:
    """Return the sum of the two chunks of D[x]."""
    flip: Expr = row.parity[x - 1] + row.shifted[(x + 1) % 5]
    return flip


def _turned(row: Any, word: int) -> Expr:
    """Return a chunk of T as rho turns it, which leaves word 0 as it is."""
    turned: Expr = row.turned[word - 1] if word else row.theta[0]
    return turned


_COLUMNS = Columns(KeccakClasses.columns)
WIDTH = _COLUMNS.width
FIRST_COLUMNS = {name: family.offset for name, family in _COLUMNS.families.items()}
